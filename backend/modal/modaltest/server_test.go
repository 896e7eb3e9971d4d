//go:build modal && linux

package modaltest_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	modal "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hermes-runtime/hermes/backend/modal/modaltest"
	"github.com/hermes-runtime/hermes/internal/leaktest"
)

func TestMain(m *testing.M) {
	modaltest.Main()
	leaktest.Main(m)
}

// user is somebody who uses the server through Modal's own client.
type user struct {
	s     *modaltest.Server
	c     *modal.Client
	app   *modal.App
	image *modal.Image
}

func newUser(t *testing.T, s *modaltest.Server) *user {
	t.Helper()
	t.Setenv("MODAL_SERVER_URL", s.URL)
	t.Setenv("MODAL_CONFIG_PATH", filepath.Join(t.TempDir(), "none"))
	none := time.Duration(0)
	c, err := modal.NewClientWithOptions(&modal.ClientParams{TokenID: modaltest.ID, TokenSecret: modaltest.Secret, MaxThrottleWait: &none, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	u := &user{s: s, c: c, image: c.Images.FromRegistry("debian:12", nil)}
	if u.app, err = c.Apps.FromName(t.Context(), "test", &modal.AppFromNameParams{CreateIfMissing: true}); err != nil {
		t.Fatal(err)
	}
	return u
}

// make makes a sandbox of the second version.
func (u *user) make(t *testing.T, p *modal.SandboxCreateParams) *modal.Sandbox {
	t.Helper()
	sb, err := u.c.Sandboxes.ExperimentalCreate(t.Context(), u.app, u.image, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Detach() })
	return sb
}

// start starts a shell.
func start(t *testing.T, sb *modal.Sandbox, script string) *modal.ContainerProcess {
	t.Helper()
	p, err := sb.Exec(t.Context(), []string{"sh", "-c", script}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs a shell to its end, and gives what it prints.
func run(t *testing.T, sb *modal.Sandbox, script string) string {
	t.Helper()
	return follow(t, start(t, sb, script))
}

func follow(t *testing.T, p *modal.ContainerProcess) string {
	t.Helper()
	out, err := io.ReadAll(p.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(t.Context(), nil); err != nil || code != 0 {
		t.Errorf("exit code %d, %v, after %q", code, err, out)
	}
	return string(out)
}

func list(t *testing.T, u *user, tags map[string]string) (ids []string) {
	t.Helper()
	all, err := u.c.Sandboxes.ExperimentalList(t.Context(), &modal.SandboxExperimentalListParams{AppID: u.app.AppID, Tags: tags})
	if err != nil {
		t.Fatal(err)
	}
	for sb, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, sb.SandboxID)
	}
	return ids
}

func TestServer_ASandboxRunsProgramsAndASnapshotKeepsItsFiles(t *testing.T) {
	for name, direct := range map[string]bool{"asked for its task": false, "told its task": true} {
		t.Run(name, func(t *testing.T) {
			s := modaltest.New(t)
			s.Direct, s.Building = direct, 2
			u := newUser(t, s)
			sb := u.make(t, &modal.SandboxCreateParams{Env: map[string]string{"COLOR": "red"}})
			if out := run(t, sb, "echo $COLOR >~/f; echo out; echo err >&2"); out != "out\n" {
				t.Errorf("%q", out)
			}
			if asked := s.Heard("SandboxGetTaskIdV2") > 0; asked == direct || s.Heard("ImageJoinStreaming") != 3 {
				t.Errorf("asked %v, %d streams", asked, s.Heard("ImageJoinStreaming"))
			}
			image, err := sb.SnapshotFilesystem(t.Context(), &modal.SandboxSnapshotFilesystemParams{TTL: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := sb.Terminate(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if code, err := sb.Wait(t.Context(), nil); code != 137 || err != nil {
				t.Errorf("%d, %v", code, err)
			}
			if u.image, err = u.c.Images.FromID(t.Context(), image.ImageID, nil); err != nil {
				t.Fatal(err)
			}
			again := u.make(t, nil)
			if out := run(t, again, "cat ~/f"); out != "red\n" {
				t.Errorf("%q", out)
			}
			if ids := list(t, u, nil); !slices.Equal(ids, []string{again.SandboxID}) {
				t.Errorf("%v", ids)
			}
			s.Later(time.Hour)
			var missing modal.NotFoundError
			if _, err := u.c.Images.FromID(t.Context(), image.ImageID, nil); !errors.As(err, &missing) || len(s.Snapshots()) != 0 {
				t.Errorf("%v: its time is over", err)
			}
		})
	}
}

func TestServer_TheFirstVersionHasMethodsOfItsOwn(t *testing.T) {
	t.Setenv("MODAL_SANDBOX_V2", "false")
	s := modaltest.New(t)
	s.Slow = 1
	u := newUser(t, s)
	sb, err := u.c.Sandboxes.Create(t.Context(), u.app, u.image, &modal.SandboxCreateParams{Name: "one", Env: map[string]string{"COLOR": "red"}})
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Detach() //nolint:errcheck // it has no error
	if out := run(t, sb, "echo $COLOR"); out != "red\n" || u.s.Heard("SandboxGetTaskId") != 2 {
		t.Errorf("%q, %d looks", out, u.s.Heard("SandboxGetTaskId"))
	}
	found, err := u.c.Sandboxes.FromName(t.Context(), "test", "one", nil)
	if err != nil || found.SandboxID != sb.SandboxID {
		t.Errorf("%v, %v", found, err)
	}
	u.make(t, nil)
	all, err := u.c.Sandboxes.List(t.Context(), &modal.SandboxListParams{AppID: u.app.AppID})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for one, err := range all {
		if n++; err != nil || one.SandboxID != sb.SandboxID {
			t.Errorf("%v, %v", one, err)
		}
	}
	if ids := list(t, u, nil); n != 1 || len(ids) != 2 {
		t.Errorf("%d, %v", n, ids)
	}
}

func TestServer_NamesAreUniqueAmongWhatRuns(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	sb := u.make(t, &modal.SandboxCreateParams{Name: "one"})
	var exists modal.AlreadyExistsError
	if _, err := u.c.Sandboxes.ExperimentalCreate(t.Context(), u.app, u.image, &modal.SandboxCreateParams{Name: "one"}); !errors.As(err, &exists) {
		t.Errorf("%v", err)
	}
	if _, err := sb.Terminate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var missing modal.NotFoundError
	if _, err := u.c.Sandboxes.ExperimentalFromName(t.Context(), "test", "one", nil); !errors.As(err, &missing) {
		t.Errorf("%v", err)
	}
	p := &modal.SandboxExperimentalFromNameParams{IncludeTerminated: true}
	if old, err := u.c.Sandboxes.ExperimentalFromName(t.Context(), "test", "one", p); err != nil || old.SandboxID != sb.SandboxID {
		t.Errorf("%v", err)
	}
	if other := u.make(t, &modal.SandboxCreateParams{Name: "one"}); other.SandboxID == sb.SandboxID {
		t.Errorf("it is the old one")
	}
}

func TestServer_NoMoreRunThanTheQuotaAllows(t *testing.T) {
	s := modaltest.New(t)
	s.Quota = 1
	u := newUser(t, s)
	sb := u.make(t, nil)
	if _, err := u.c.Sandboxes.ExperimentalCreate(t.Context(), u.app, u.image, nil); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v", err)
	}
	if _, err := sb.Terminate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	u.make(t, nil)
}

func TestServer_ListsByTagsPageByPage(t *testing.T) {
	s := modaltest.New(t)
	s.Pieces = 2
	u := newUser(t, s)
	var want []string
	for range 3 {
		want = append([]string{u.make(t, &modal.SandboxCreateParams{Tags: map[string]string{"of": "me"}}).SandboxID}, want...)
	}
	other := u.make(t, &modal.SandboxCreateParams{Tags: map[string]string{"of": "you"}})
	if ids := list(t, u, map[string]string{"of": "me"}); !slices.Equal(ids, want) || u.s.Heard("SandboxListV2") != 3 {
		t.Errorf("%v, want %v, in %d pages", ids, want, u.s.Heard("SandboxListV2"))
	}
	if err := other.SetTags(t.Context(), map[string]string{"of": "me", "no": "4"}, nil); err != nil {
		t.Fatal(err)
	}
	if tags, err := other.GetTags(t.Context(), nil); err != nil || len(tags) != 2 || tags["no"] != "4" {
		t.Errorf("%v, %v", tags, err)
	}
	if ids := list(t, u, map[string]string{"of": "me", "no": "4"}); !slices.Equal(ids, []string{other.SandboxID}) {
		t.Errorf("%v", ids)
	}
}

func TestServer_SandboxesEndWithTheirTime(t *testing.T) {
	for name, c := range map[string]struct {
		p     modal.SandboxCreateParams
		later time.Duration
		want  pb.GenericResult_GenericStatus
		code  int
	}{
		"their life is over":    {modal.SandboxCreateParams{Timeout: time.Hour}, time.Hour, pb.GenericResult_GENERIC_STATUS_TIMEOUT, 124},
		"nothing is said":       {modal.SandboxCreateParams{}, 5 * time.Minute, pb.GenericResult_GENERIC_STATUS_TIMEOUT, 124},
		"nobody uses them":      {modal.SandboxCreateParams{Timeout: time.Hour, IdleTimeout: time.Minute}, time.Minute, pb.GenericResult_GENERIC_STATUS_IDLE_TIMEOUT, 0},
		"their program ends":    {modal.SandboxCreateParams{Command: []string{"sh", "-c", "exit 7"}}, 0, pb.GenericResult_GENERIC_STATUS_FAILURE, 7},
		"their time really is":  {modal.SandboxCreateParams{Timeout: time.Second}, 0, pb.GenericResult_GENERIC_STATUS_TIMEOUT, 124},
		"a program that sleeps": {modal.SandboxCreateParams{Timeout: time.Hour, Command: []string{"sleep", "7200"}}, time.Hour, pb.GenericResult_GENERIC_STATUS_TIMEOUT, 124},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t, modaltest.New(t))
			sb := u.make(t, &c.p)
			u.s.Later(c.later)
			if code, err := sb.Wait(t.Context(), nil); err != nil || code != c.code {
				t.Errorf("%d, %v", code, err)
			}
			if b := u.s.Sandboxes()[0]; b.Running || b.Result.GetStatus() != c.want {
				t.Errorf("%v", b.Result)
			}
		})
	}
}

func TestServer_NoneLivesForMoreThanADay(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	_, err := u.c.Sandboxes.ExperimentalCreate(t.Context(), u.app, u.image, &modal.SandboxCreateParams{Timeout: 25 * time.Hour})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("%v", err)
	}
	u.make(t, &modal.SandboxCreateParams{Timeout: 24 * time.Hour})
}

func TestServer_AProgramThatRunsIsUse(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	sb := u.make(t, &modal.SandboxCreateParams{Timeout: time.Hour, IdleTimeout: time.Minute})
	p := start(t, sb, "read line")
	for range 3 {
		u.s.Later(time.Minute)
	}
	if code, err := sb.Poll(t.Context(), nil); code != nil || err != nil {
		t.Errorf("%v, %v", code, err)
	}
	if err := p.Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(t.Context(), nil); code != 1 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
}

func TestServer_ProgramsReadWhatTheyAreGiven(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	sb := u.make(t, nil)
	p := start(t, sb, "cat")
	for _, text := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(p.Stdin, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if out := follow(t, p); out != "one\ntwo\n" {
		t.Errorf("%q", out)
	}
	p, err := sb.Exec(t.Context(), []string{"sh", "-c", "pwd; echo $X; kill -9 $$"}, &modal.SandboxExecParams{Workdir: "/tmp", Env: map[string]string{"X": "y"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(p.Stdout)
	if code, werr := p.Wait(t.Context(), nil); string(out) != "/tmp\ny\n" || code != 137 || err != nil || werr != nil {
		t.Errorf("%q, %d, %v, %v", out, code, err, werr)
	}
}

func TestServer_ProgramsAreKilledWhenTheirTimeIsOver(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	sb := u.make(t, nil)
	p, err := sb.Exec(t.Context(), []string{"sleep", "7200"}, &modal.SandboxExecParams{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	u.s.Later(time.Minute)
	if code, err := p.Wait(t.Context(), nil); code != 137 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
}

func TestServer_ModalsOwnToolWritesAndReadsFiles(t *testing.T) {
	u := newUser(t, modaltest.New(t))
	sb := u.make(t, nil)
	from, back := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "back")
	want := strings.Repeat("0123456789abcdef", 1<<16) // more than one piece of 256 KiB
	if err := os.WriteFile(from, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sb.Filesystem.CopyFromLocal(t.Context(), from, "/root/a/b", nil); err != nil {
		t.Fatal(err)
	}
	if err := sb.Filesystem.CopyToLocal(t.Context(), "/root/a/b", back, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{back, filepath.Join(u.s.Home(sb.SandboxID), "a", "b")} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
}

func bound(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
