//go:build modal && linux

package modal_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hermes-runtime/hermes/backend/modal/modaltest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
)

type next = func(context.Context) (any, error)

// says answers with an error.
func says(code codes.Code, message string) modaltest.Unary {
	return func(context.Context, any, next) (any, error) { return nil, status.Error(code, message) }
}

// puts asks for patience, for some seconds.
func puts(code codes.Code, seconds float32) modaltest.Unary {
	return func(context.Context, any, next) (any, error) {
		st, err := status.New(code, "slow down").WithDetails(pb.RPCRetryPolicy_builder{RetryAfterSecs: seconds}.Build())
		if err != nil {
			return nil, err
		}
		return nil, st.Err()
	}
}

// heard does what was asked for, and answers something else.
func heard(answer modaltest.Unary) modaltest.Unary {
	return func(ctx context.Context, req any, do next) (any, error) {
		if _, err := do(ctx); err != nil {
			return nil, err
		}
		return answer(ctx, req, do)
	}
}

// gives answers with what is given.
func gives(answer any) modaltest.Unary {
	return func(context.Context, any, next) (any, error) { return answer, nil }
}

// hangs says nothing until it is hung up on.
func hangs(ctx context.Context, _ any, _ next) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

type trial = cloudtest.Trial[*lab]

// residentPath is the binary that the engine's rows bring.
var residentPath string

func TestAccess_NoServerIsAskedButTheOneThatWasLookedAt(t *testing.T) { // CLD-5
	l := newLab(t)
	t.Setenv("MODAL_SERVER_URL", "https://elsewhere.example") // the client would obey it
	if _, err := l.Try(t.Context()); !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), "two servers") {
		t.Errorf("%v", err)
	}
}

func TestFaults_EachGivesTheErrorThatItShould(t *testing.T) { // CON-2, CON-3, CLD-1, CLD-4, CLD-5, MGR-4
	residentPath = residenttest.Binary(t)
	for _, f := range slices.Concat(reaching(), starting(), working()) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			f.Run(t, newLab(t))
		})
	}
}

func TestFaults_LackNothing(t *testing.T) { // what HTTP calls 429 and 500, gRPC calls RESOURCE_EXHAUSTED and INTERNAL
	cloudtest.Complete(t, slices.Concat(reaching(), starting(), working()), map[string][]string{
		"expired token":                 {"expired token", "tokens for programs are revoked", "tokens of the account are revoked, and the next start ends what is left"},
		"429 with Retry-After":          {"RESOURCE_EXHAUSTED with a time to wait", "RESOURCE_EXHAUSTED for an hour", "patience without end"},
		"429 without Retry-After":       {"RESOURCE_EXHAUSTED without", "RESOURCE_EXHAUSTED for a command"},
		"500 in the middle of a stream": {"INTERNAL in the middle of a stream"},
		"sandbox gone":                  {"gone while it starts", "the sandbox is terminated under a command", "the sandbox is terminated under the engine"},
		"quota reached":                 {"quota reached"},
		"slow start":                    {"slow start", "a start without an end"},
		"clock skew":                    {"a clock that is wrong: the token is over before its time"},
		"half-open connection":          {"half-open", "half-open while it starts", "half-open under the engine"},
		"duplicate create":              {"INTERNAL although it was made", "it is said to be there already, and is ours", "the name is somebody else's"},
		"unknown state":                 {"the sandbox ends in a way that nobody knows"},
	})
}

var unavailable = environment.ErrUnavailable

const expired = "as-old-and-expired"

// at has requests of a method go wrong.
func at(method string, times int, with modaltest.Unary) func(*lab) {
	return func(l *lab) { l.s.Fault(method, times, with) }
}

// asked shows how often a sandbox was asked for.
func asked(n int) func(*testing.T, *lab) {
	return func(t *testing.T, l *lab) {
		if got := l.s.Heard("SandboxCreateV2"); got != n {
			t.Errorf("a sandbox was asked for %d times, want %d", got, n)
		}
	}
}

// profile writes a file of profiles, and takes the variables away.
func profile(text string) func(*lab) {
	return func(l *lab) {
		for _, n := range []string{"MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"} {
			delete(l.vars, n)
		}
		_ = os.WriteFile(filepath.Join(l.vars["HOME"], ".modal.toml"), []byte(text), 0o600)
	}
}

// reaching are the faults before there is an answer that says yes.
func reaching() []trial {
	good := "token_id = \"" + modaltest.ID + "\"\ntoken_secret = \"" + modaltest.Secret + "\"\n"
	return []trial{
		{Name: "no credentials", Set: profile(""), Opens: unavailable, Says: "MODAL_TOKEN_ID and MODAL_TOKEN_SECRET", Check: asked(0)},
		{Name: "half of the credentials", Set: func(l *lab) { delete(l.vars, "MODAL_TOKEN_ID") }, Opens: unavailable, Says: "MODAL_TOKEN_ID", Check: asked(0)},
		{Name: "a profile does", Set: profile("[a]\nactive = true\n" + good), Made: 1, Ran: 1},
		{Name: "a profile that isn't there", Set: func(l *lab) { profile("[a]\n" + good)(l); l.vars["MODAL_PROFILE"] = "b" }, Opens: environment.ErrConfig, Says: `no profile "b"`},
		{Name: "half of the credentials beside a profile", Set: func(l *lab) {
			profile("[a]\nactive = true\n" + good)(l)
			l.vars["MODAL_TOKEN_ID"] = modaltest.ID
		}, Opens: unavailable, Says: "MODAL_TOKEN_ID is set without MODAL_TOKEN_SECRET", Check: asked(0)},
		{Name: "two active profiles", Set: profile("[b]\nactive = true\n[a]\nactive = true\n" + good), Opens: environment.ErrConfig, Says: "the profiles a, b are all active"},
		{Name: "a credential with a line break", Set: func(l *lab) { l.vars["MODAL_TOKEN_ID"] += "\n" }, Opens: environment.ErrConfig, Says: "MODAL_TOKEN_ID"},
		{Name: "no bound for processors", Set: func(l *lab) { l.config.CPU = 0 }, Opens: environment.ErrConfig, Says: "container_cpu"},
		{Name: "no bound for memory", Set: func(l *lab) { l.config.MemoryMB = 0 }, Opens: environment.ErrConfig, Says: "container_memory"},
		{Name: "a profile that can't be read", Set: profile("[a]\ntoken_secret = \"" + modaltest.Secret), Opens: environment.ErrConfig, Says: ".modal.toml"},
		{Name: "not https", Set: func(l *lab) { l.vars["MODAL_SERVER_URL"] = "http://modal.example" }, Opens: environment.ErrConfig, Says: "MODAL_SERVER_URL"},
		{Name: "a profile without https", Set: func(l *lab) {
			profile("[a]\nactive = true\nserver_url = \"http://modal.example\"\n" + good)(l)
			delete(l.vars, "MODAL_SERVER_URL")
		}, Opens: environment.ErrConfig, Says: "server_url"},
		{Name: "expired token", Set: func(l *lab) { l.vars["MODAL_TOKEN_SECRET"] = expired; l.secret = expired }, Opens: unavailable, Says: "refused", Check: asked(0)},
		{Name: "no auth token", Set: at("AuthTokenGet", -1, says(codes.PermissionDenied, "not for you")), Opens: unavailable, Says: "isn't allowed that", Check: asked(0)},
		{Name: "RESOURCE_EXHAUSTED with a time to wait", Set: at("SandboxCreateV2", 1, puts(codes.ResourceExhausted, 0.1)), Made: 1, Ran: 1, Check: asked(2)},
		{Name: "RESOURCE_EXHAUSTED without", Set: at("SandboxCreateV2", -1, says(codes.ResourceExhausted, "rate limit")), Opens: unavailable, Says: "no more at the moment", Check: asked(1)},
		{Name: "RESOURCE_EXHAUSTED for an hour", Set: at("SandboxCreateV2", -1, puts(codes.ResourceExhausted, 3600)), Opens: unavailable, Says: "slow down", Check: asked(1)},
		{Name: "patience without end", Set: at("SandboxCreateV2", -1, puts(codes.Unavailable, 1)), Short: true, Opens: unavailable, Says: "slow down"},
		{Name: "UNAVAILABLE and no end", Set: at("SandboxCreateV2", -1, says(codes.Unavailable, "down")), Opens: unavailable, Says: "down", Check: asked(4)},
		{Name: "half-open", Set: at("AppGetOrCreate", -1, hangs), Short: true, Opens: unavailable, Check: asked(0)},
		{Name: "quota reached", Otherwise: true, Set: func(l *lab) { l.s.Quota = 1; l.s.Add("other", nil) }, Opens: unavailable, Says: "limit of the workspace", Made: 1, Check: func(t *testing.T, l *lab) {
			if len(cloudtest.Ledger(t, l)) > 0 {
				t.Error("one that wasn't made is in the ledger")
			}
		}},
		{Name: "the image fails", Set: at("ImageGetOrCreate", 1, gives(pb.ImageGetOrCreateResponse_builder{ImageId: "im-1", Result: pb.GenericResult_builder{
			Status: pb.GenericResult_GENERIC_STATUS_FAILURE, Exception: "manifest unknown"}.Build()}.Build())), Opens: unavailable, Says: "manifest unknown", Check: asked(0)},
		{Name: "the image takes its time, and Modal falls ill meanwhile", Set: func(l *lab) {
			l.s.Fault("ImageGetOrCreate", 1, gives(pb.ImageGetOrCreateResponse_builder{ImageId: "im-1"}.Build()))
			l.s.Break("ImageJoinStreaming", 1, 1, status.Error(codes.Internal, "oops"))
		}, Opens: unavailable, Says: "oops", Check: asked(0)},
		{Name: "an image that isn't there", Set: func(l *lab) { l.config.Image = "im-none" }, Opens: unavailable, Says: "im-none", Check: asked(0)},
	}
}

// starting are the faults of a sandbox that is made.
func starting() []trial {
	return []trial{
		{Name: "INTERNAL although it was made", Set: at("SandboxCreateV2", 1, heard(says(codes.Internal, "oops"))), Made: 1, Ran: 1, Check: asked(2)},
		{Name: "INTERNAL without end although it was made", Set: at("SandboxCreateV2", -1, heard(says(codes.Internal, "oops"))), Made: 1, Ran: 1, Check: asked(4)},
		{Name: "it is said to be there already, and is ours", Set: at("SandboxCreateV2", 1, heard(says(codes.AlreadyExists, "exists"))), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "an answer without an id", Set: at("SandboxCreateV2", 1, heard(gives(&pb.SandboxCreateV2Response{}))), Made: 1, Ran: 1, Check: asked(1)},
		{Name: "the name is somebody else's", Set: func(l *lab) {
			l.kept()
			l.s.Fault("SandboxGetFromNameV2", 1, gives(pb.SandboxGetFromNameResponse_builder{SandboxId: "sb-somebody-elses"}.Build()))
			l.s.Fault("SandboxWaitV2", 1, gives(&pb.SandboxWaitResponse{}))
			l.s.Fault("SandboxTagsGetV2", 1, gives(&pb.SandboxTagsGetResponse{}))
		}, Opens: unavailable, Says: "is taken", Check: asked(0)},
		{Name: "the image takes its time", Set: func(l *lab) { l.s.Building = 2 }, Made: 1, Ran: 1},
		{Name: "an answer that says where programs run", Set: func(l *lab) { l.s.Direct = true }, Made: 1, Ran: 1},
		{Name: "slow start", Set: func(l *lab) { l.s.Slow = 3 }, Made: 1, Ran: 1},
		{Name: "a start without an end", Set: func(l *lab) { l.s.Slow, l.config.StartTimeout = 1<<30, 2*time.Second }, Opens: unavailable, Says: "within", Made: 1},
		{Name: "half-open while it starts", Set: at("SandboxGetTaskIdV2", -1, hangs), Short: true, Opens: unavailable, Says: "time is up", Made: 1},
		{Name: "gone while it starts", Set: func(l *lab) {
			l.s.Fault("SandboxGetCommandRouterAccess", 1, func(ctx context.Context, _ any, do next) (any, error) {
				l.s.End(l.s.Sandboxes()[0].ID, pb.GenericResult_GENERIC_STATUS_FAILURE)
				return do(ctx)
			})
		}, Opens: environment.ErrGone, Says: "exit code 1", Made: 1},
		{Name: "sent to another machine without TLS", Set: at("SandboxGetCommandRouterAccess", -1, func(ctx context.Context, _ any, do next) (any, error) {
			a, err := do(ctx)
			if r, ok := a.(*pb.SandboxGetCommandRouterAccessResponse); ok {
				r.SetUrl("https://router.example")
			}
			return a, err
		}), Opens: environment.ErrConfig, Says: "without TLS", Made: 1},
		{Name: "it can't be ended at first", Set: func(l *lab) {
			l.s.Fault("TaskExecStart", -1, says(codes.PermissionDenied, "not now"))
			l.s.Fault("SandboxTerminateV2", 2, says(codes.Unavailable, "not now"))
		}, Opens: unavailable, Says: "not now", Made: 1},
		{Name: "it can't be ended, and the next start does it", Otherwise: true, Set: func(l *lab) {
			l.s.Fault("TaskExecStart", 1, says(codes.PermissionDenied, "not now"))
			l.s.Fault("SandboxTerminateV2", 1, says(codes.PermissionDenied, "not now"))
		}, Opens: unavailable, Made: 1, Check: func(t *testing.T, l *lab) {
			l.agree(t, 1)
			envtest.Shut(t, cloudtest.Open(t, l))
			l.agree(t, 0)
		}},
		{Name: "the engine can't be begun", Set: func(l *lab) {
			l.config.Resident, l.config.ResidentPath = "require", residentPath
			var n atomic.Int32
			l.s.Fault("TaskExecStart", -1, func(ctx context.Context, _ any, do next) (any, error) {
				if n.Add(1) == 1 { // whether it is up
					return do(ctx)
				}
				return nil, status.Error(codes.FailedPrecondition, "no process for you")
			})
		}, Opens: unavailable, Says: "no process", Made: 1},
	}
}

// working are the faults of a place.
func working() []trial {
	engine := func(set func(*lab)) func(*lab) {
		return func(l *lab) {
			l.config.Resident, l.config.ResidentPath = "require", residentPath
			if set != nil {
				set(l)
			}
		}
	}
	// then has requests of a method go wrong once the place is open.
	then := func(method string, times int, with modaltest.Unary) func(*lab, string) {
		return func(l *lab, _ string) { l.s.Fault(method, times, with) }
	}
	ends := func(how pb.GenericResult_GenericStatus) func(*lab, string) {
		return func(l *lab, id string) { l.s.End(id, how) }
	}
	cut := func(l *lab, _ string) { l.s.Cut(modaltest.Control); l.s.Cut(modaltest.Tasks) }
	outOfTime := func(l *lab, _ string) { l.s.Later(2 * time.Hour) }
	oops := status.Error(codes.Internal, "oops")
	lost := environment.ErrLost
	return []trial{
		{Name: "INTERNAL in the middle of a stream", Set: func(l *lab) { l.s.Break("TaskExecStdioRead", 4, 1, oops) }, Made: 1, Ran: 1},
		{Name: "streams that can't be had", Late: func(l *lab, _ string) { l.s.Break("TaskExecStdioRead", -1, 0, oops) }, Runs: lost, Made: 1, Ran: 1},
		{Name: "UNAVAILABLE before a command is heard of", Late: then("TaskExecStart", 3, says(codes.Unavailable, "down")), Made: 1, Ran: 1},
		{Name: "UNAVAILABLE after a command was heard of", Late: then("TaskExecStart", 3, heard(says(codes.Unavailable, "down"))), Made: 1, Ran: 1},
		{Name: "no answer to a command, ever", Late: then("TaskExecStart", -1, heard(says(codes.Unavailable, "down"))), Runs: environment.ErrNotStarted, Made: 1},
		{Name: "RESOURCE_EXHAUSTED for a command", Late: then("TaskExecStart", 1, says(codes.ResourceExhausted, "slow down")), Made: 1, Ran: 1},
		{Name: "a command is refused, ever", Late: then("TaskExecStart", -1, says(codes.PermissionDenied, "not for you")), Runs: environment.ErrNotStarted, Says: "not for you", Made: 1},
		{Name: "what a command reads is heard, and not answered", Late: then("TaskExecStdinWrite", 1, heard(says(codes.Unavailable, "down"))), Made: 1, Ran: 1},
		{Name: "the end of a command isn't told at first", Late: then("TaskExecWait", 1, says(codes.Unavailable, "down")), Made: 1, Ran: 1},
		{Name: "a clock that is wrong: the token is over before its time", Set: func(l *lab) {
			l.config.Lifetime, l.config.Timeout = 4*time.Hour, 4*time.Hour
			l.s.Skew(time.Hour)
		}, Late: func(l *lab, _ string) { l.s.Later(30 * time.Minute) }, Made: 1, Ran: 1},
		{Name: "the sandbox is terminated under a command", In: ends(pb.GenericResult_GENERIC_STATUS_TERMINATED), Runs: lost, Says: "terminated", Made: 1, Ran: 1},
		{Name: "the sandbox ends in a way that nobody knows", In: ends(99), Runs: lost, Says: "exit code 1", Made: 1, Ran: 1},
		{Name: "time is over under a command", In: outOfTime, Runs: lost, Says: "modal_timeout", Made: 1, Ran: 1},
		{Name: "the sandbox is terminated under the engine", Set: engine(nil), In: ends(pb.GenericResult_GENERIC_STATUS_TERMINATED), Runs: lost, Made: 1, Ran: 1},
		{Name: "time is over under the engine", Set: engine(nil), In: outOfTime, Runs: lost, Made: 1, Ran: 1},
		{Name: "the engine's stream breaks, and goes on", Set: engine(func(l *lab) { l.s.Break("TaskExecStdioRead", 6, 1, oops) }), Made: 1, Ran: 1},
		{Name: "what the engine reads is heard, and not answered", Set: engine(nil), Late: then("TaskExecStdinWrite", 2, heard(says(codes.Unavailable, "down"))), Made: 1, Ran: 1},
		{Name: "Modal ends a sandbox that nobody uses", Late: ends(pb.GenericResult_GENERIC_STATUS_IDLE_TIMEOUT), Runs: environment.ErrGone, Says: "nobody used it", Made: 1},
		{Name: "connections are cut under a command", In: cut, Made: 1, Ran: 1},
		{Name: "connections are cut under the engine", Set: engine(nil), In: cut, Made: 1, Ran: 1},
		{Name: "half-open under the engine", Set: engine(nil), In: func(l *lab, _ string) { l.s.Freeze(modaltest.Tasks) }, Runs: lost, Says: "doesn't answer", Made: 1, Ran: 1},
		{Name: "tokens for programs are revoked", Late: func(l *lab, _ string) { l.s.Expire(modaltest.Tasks) }, Made: 1, Ran: 1},
		{Name: "tokens of the account are revoked, and the next start ends what is left", Otherwise: true, Late: func(l *lab, _ string) { l.s.Expire(modaltest.Control) }, Made: 1, Ran: 1, Check: func(t *testing.T, l *lab) {
			l.agree(t, 1)
			envtest.Shut(t, cloudtest.Open(t, l))
			l.agree(t, 0)
		}},
		{Name: "a snapshot that fails", Set: func(l *lab) {
			l.kept()
			l.s.Fault("TaskSnapshotFilesystem", -1, says(codes.FailedPrecondition, "no room"))
		}, Made: 1, Ran: 1, Check: func(t *testing.T, l *lab) {
			l.agree(t, 0)
			if ref := l.left(t, "direct:test"); ref != "" {
				t.Errorf("%q is recorded", ref)
			}
		}},
	}
}
