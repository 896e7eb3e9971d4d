//go:build modal && linux

package modaltest_test

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	modal "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hermes-runtime/hermes/backend/modal/modaltest"
)

var broken = status.Error(codes.Unavailable, "the stream broke")

func TestFault_WhatIsSentAgainIsDoneOnce(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	u.s.Fault("SandboxCreateV2", 2, modaltest.Lost(codes.Unavailable))
	sb := u.make(t, nil)
	if n := u.s.Heard("SandboxCreateV2"); n != 3 || u.s.Made() != 1 {
		t.Errorf("heard %d times, %d made", n, u.s.Made())
	}
	for _, code := range []codes.Code{codes.Unavailable, codes.Internal, codes.Unknown, codes.DeadlineExceeded, codes.Canceled} {
		u.s.Fault("TaskExecStart", 1, modaltest.Lost(code))
	}
	u.s.Fault("TaskExecStdinWrite", 2, modaltest.Lost(codes.Unavailable))
	p := start(t, sb, "cat; echo end >>~/ran")
	if _, err := io.WriteString(p.Stdin, "text"); err != nil {
		t.Fatal(err)
	}
	if err := p.Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if out := follow(t, p); out != "text" {
		t.Errorf("%q", out)
	}
	all := u.s.Execs(sb.SandboxID)
	if len(all) != 1 || all[0].Asked != 6 || all[0].Started != 1 {
		t.Errorf("%+v", all)
	}
	if b, err := os.ReadFile(filepath.Join(u.s.Home(sb.SandboxID), "ran")); string(b) != "end\n" {
		t.Errorf("%q, %v", b, err)
	}
	u.s.Fault("TaskSnapshotFilesystem", 2, modaltest.Lost(codes.Unavailable))
	if _, err := sb.SnapshotFilesystem(t.Context(), nil); err != nil || len(u.s.Snapshots()) != 1 {
		t.Errorf("%v, %v", err, u.s.Snapshots())
	}
}

func TestFault_ErrorsAreAnsweredAsOrdered(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	sb := u.make(t, nil)
	u.s.Fault("SandboxTagsGetV2", 1, modaltest.Refuse(codes.PermissionDenied, "not you"))
	if _, err := sb.GetTags(t.Context(), nil); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "not you") {
		t.Errorf("%v", err)
	}
	u.s.Fault("SandboxTagsGetV2", 1, modaltest.Throttle(time.Second)) // which this client doesn't wait for
	if _, err := sb.GetTags(t.Context(), nil); status.Code(err) != codes.ResourceExhausted || len(status.Convert(err).Details()) != 1 {
		t.Errorf("%v", err)
	}
	if _, err := sb.GetTags(t.Context(), nil); err != nil {
		t.Errorf("%v", err)
	}
	u.s.Fault("SandboxWaitV2", -1, modaltest.Change(func(m *pb.SandboxWaitResponse) {
		m.SetResult(pb.GenericResult_builder{Status: 99, Exitcode: 3}.Build())
	}))
	for range 2 {
		if code, err := sb.Poll(t.Context(), nil); err != nil || code == nil || *code != 3 {
			t.Errorf("%v, %v", code, err)
		}
	}
	u.s.Mend()
	if code, err := sb.Poll(t.Context(), nil); err != nil || code != nil {
		t.Errorf("%v, %v", code, err)
	}
	u.s.End(sb.SandboxID, 98)
	if code, err := sb.Poll(t.Context(), nil); err != nil || code == nil || *code != 1 {
		t.Errorf("%v, %v", code, err)
	}
}

func TestFault_AStreamThatBreaksGoesOnWhereItWas(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	sb := u.make(t, nil)
	u.s.Break("TaskExecStdioRead", 3, 1, broken)
	if out := run(t, sb, "head -c 300000 /dev/zero | tr '\\0' x"); out != strings.Repeat("x", 300000) || u.s.Heard("TaskExecStdioRead") != 4 {
		t.Errorf("%d bytes in %d streams", len(out), u.s.Heard("TaskExecStdioRead"))
	}
	u.s.Break("TaskExecStdinWriteStream", 2, 2, broken) // after the start and a piece
	from := filepath.Join(t.TempDir(), "from")
	want := strings.Repeat("0123456789abcdef", 1<<17)
	if err := os.WriteFile(from, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sb.Filesystem.CopyFromLocal(t.Context(), from, "/root/f", nil); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(u.s.Home(sb.SandboxID), "f")); err != nil || string(got) != want || u.s.Heard("TaskExecStdinStatus") != 2 {
		t.Errorf("%d bytes, %v, %d questions", len(got), err, u.s.Heard("TaskExecStdinStatus"))
	}
}

func TestFault_ARequestIsHeldUntilTheTestLetsItGo(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	sb := u.make(t, nil)
	before, after := modaltest.NewGate(), modaltest.NewGate()
	u.s.Fault("TaskExecStart", 1, before.Before)
	u.s.Fault("SandboxTerminateV2", 1, after.After)
	done := make(chan string)
	go func() { done <- run(t, sb, "echo on") }()
	<-before.Came()
	if n := u.s.Starts(sb.SandboxID); n != 0 {
		t.Errorf("%d programs were started", n)
	}
	before.Open()
	if out := <-done; out != "on\n" {
		t.Errorf("%q", out)
	}
	ended := make(chan error)
	go func() {
		_, err := sb.Terminate(t.Context(), nil)
		ended <- err
	}()
	<-after.Came()
	if u.s.Sandboxes()[0].Running {
		t.Error("it runs")
	}
	after.Open()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestFault_ConnectionsAreCutAndFreeze(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	sb := u.make(t, nil)
	p := start(t, sb, "echo one; read line; echo $line")
	buf := make([]byte, 100)
	if n, err := p.Stdout.Read(buf); string(buf[:n]) != "one\n" {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	u.s.Cut(modaltest.Tasks)
	u.s.Cut(modaltest.Control)
	if _, err := io.WriteString(p.Stdin, "two\n"); err != nil {
		t.Fatal(err)
	}
	if out := follow(t, p); out != "two\n" {
		t.Errorf("%q", out)
	}
	if code, err := sb.Poll(t.Context(), nil); code != nil || err != nil {
		t.Errorf("%v, %v", code, err)
	}
	u.s.Freeze(modaltest.Control)
	polled := make(chan error)
	go func() {
		_, err := sb.Poll(bound(t), nil)
		polled <- err
	}()
	if out := run(t, sb, "echo on"); out != "on\n" { // by the other service
		t.Errorf("%q", out)
	}
	select {
	case err := <-polled:
		t.Errorf("something came through: %v", err)
	default:
	}
	u.s.Thaw(modaltest.Control)
	if err := <-polled; err != nil {
		t.Error(err)
	}
}

func TestFault_AConnectionThatIsCutUnderARequestDoesntDoItTwice(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	g := modaltest.NewGate()
	u.s.Fault("SandboxCreateV2", 1, g.After)
	made := make(chan error)
	go func() {
		_, err := u.c.Sandboxes.ExperimentalCreate(bound(t), u.app, u.image, nil)
		made <- err
	}()
	<-g.Came()
	u.s.Cut(modaltest.Control)
	if err := <-made; err != nil || u.s.Made() != 1 || u.s.Heard("SandboxCreateV2") != 2 {
		t.Errorf("%v, %d made", err, u.s.Made())
	}
}

func TestFault_AnImageFails(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	u.s.Fault("ImageGetOrCreate", 1, modaltest.Change(func(m *pb.ImageGetOrCreateResponse) {
		m.SetResult(pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_FAILURE, Exception: "manifest unknown"}.Build())
	}))
	var failed modal.RemoteError
	if _, err := u.image.Build(t.Context(), u.app, nil); !errors.As(err, &failed) || !strings.Contains(err.Error(), "manifest unknown") {
		t.Errorf("%v", err)
	}
	u.s.Lose("im-FROM-debian-12")
	u.make(t, nil)
}

func TestTokens_AreAskedForAnewOnlyWhenTheClientSeesThemEnd(t *testing.T) {
	for name, c := range map[string]struct {
		life time.Duration
		want codes.Code
	}{
		"soon":  {20 * time.Second, codes.OK}, // within the 30 seconds in which the client takes a refusal for the end of its token
		"later": {10 * time.Minute, codes.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			s := modaltest.New(t)
			s.TokenLife = c.life
			u := newUser(t, s)
			sb := u.make(t, nil)
			run(t, sb, "true")
			s.Expire(modaltest.Tasks)
			if _, err := sb.Exec(t.Context(), []string{"true"}, nil); status.Code(err) != c.want {
				t.Errorf("%v", err)
			}
			s.Expire(modaltest.Control)
			if _, err := sb.Poll(t.Context(), nil); status.Code(err) != codes.Unauthenticated {
				t.Errorf("an old token counts: %v", err)
			}
		})
	}
}

func TestTokens_EndByTheClockOfTheServer(t *testing.T) {
	s := modaltest.New(t)
	s.TokenLife = time.Minute
	u := newUser(t, s)
	sb := u.make(t, nil)
	run(t, sb, "true")
	s.Skew(2 * time.Minute)
	if _, err := sb.Exec(t.Context(), []string{"true"}, nil); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a token counts whose time is over: %v", err)
	}
	other, err := u.c.Sandboxes.FromID(t.Context(), sb.SandboxID, nil) // asks for a token of its own
	if err != nil {
		t.Fatal(err)
	}
	defer other.Detach() //nolint:errcheck // it has no error
	run(t, other, "true")
}

func TestTokens_WrongCredentialsAreRefused(t *testing.T) {
	s := modaltest.New(t)
	newUser(t, s)
	c, err := modal.NewClientWithOptions(&modal.ClientParams{TokenID: modaltest.ID, TokenSecret: "as-wrong", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Apps.FromName(t.Context(), "test", nil); err == nil || !strings.Contains(err.Error(), "Unauthenticated") {
		t.Errorf("%v", err)
	}
}
