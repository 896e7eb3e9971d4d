package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/atomicfile"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/dispatch"
	"github.com/hermes-runtime/hermes/internal/hook"
)

type approvalSettings struct {
	Mode        string        `yaml:"mode" default:"manual" help:"manual asks about each finding, off asks about none (what nobody may approve is refused all the same)"`
	Unattended  string        `yaml:"unattended_mode" default:"deny" help:"where nobody can be asked: deny or approve"`
	SingleQuery string        `yaml:"single_query_mode" help:"the same for one-shot queries"`
	Cron        string        `yaml:"cron_mode" help:"the same for scheduled jobs"`
	Timeout     time.Duration `yaml:"timeout" default:"300" min:"1" help:"seconds that a person has to answer"`
	Permanent   bool          `yaml:"permanent" default:"true" help:"offer to approve for ever"`
}

func (*approvalSettings) Section() string { return "approvals" }

func init() { config.Register(func() config.Sectioned { return &approvalSettings{} }) }

// newGate builds the gate in front of every risky act.
func (r *Runtime) newGate() *approval.Gate {
	var c approvalSettings
	if err := r.doc.Decode(c.Section(), &c); err != nil {
		for _, e := range unjoin(err) {
			r.problem(e)
		}
	}
	mode, ok := approval.ParseMode(c.Mode)
	if !ok {
		r.problem(&config.Problem{File: r.doc.Path, Key: "approvals.mode", Text: fmt.Sprintf("%q is not manual, smart or off; manual holds", c.Mode)})
	}
	if r.environ["HERMES_YOLO_MODE"] != "" && r.environ["HERMES_YOLO_MODE"] != "0" {
		mode = approval.Off
	}
	conf := approval.Config{
		Mode: mode, UnattendedMode: c.Unattended, SingleQueryMode: c.SingleQuery, CronMode: c.Cron, Timeout: c.Timeout,
		Allowlist: approval.ParseAllowlist(allowed(r.settings.root.CommandAllowlist)), Asker: r.options.Asker,
		Audit: auditor{r.decided}, Observer: observer{r.hooks}, Redact: r.redactor.All, Log: r.log,
	}
	if c.Permanent {
		conf.Remember = rememberer{r}
	}
	return approval.New(conf)
}

// allowed picks the plain entries of the permanent list. Maps and other shapes open nothing.
func allowed(list []any) []string {
	var out []string
	for _, entry := range list {
		if s, ok := entry.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// permit applies what the caller approved in advance.
func (r *Runtime) permit(o SessionOptions) {
	if o.Yolo {
		r.gate.Yolo(o.ID)
	}
	if len(o.YesTo) > 0 {
		if err := r.gate.Preapprove(o.ID, o.YesTo...); err != nil {
			r.problem(err)
		}
	}
}

// rememberer writes answers of "always" to the configuration.
type rememberer struct{ r *Runtime }

func (m rememberer) Remember(ctx context.Context, keys []string) error {
	var errs []error
	for _, k := range keys {
		errs = append(errs, config.Add(ctx, m.r.doc.Path, "command_allowlist", k))
	}
	return errors.Join(errs...)
}

// auditor writes one line for each decision.
type auditor struct{ log *atomicfile.Rotating }

func (a auditor) Record(_ context.Context, e approval.Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode the audit entry of request %s: %w", e.RequestID, err)
	}
	_, err = a.log.Write(line)
	return err
}

// observer tells the hooks of each question and its answer.
type observer struct{ hooks *hook.Set }

func (o observer) Requested(q channel.Question) {
	o.hooks.Approval(describe(q))
}

func (o observer) Responded(id string, d approval.Decision) {
	a := hook.Approval{RequestID: id, PatternKeys: d.Keys, Choice: "deny"}
	switch {
	case d.Runs() && d.Scope != "":
		a.Choice = string(d.Scope)
	case d.Runs():
		a.Choice = string(channel.Once)
	case d.Outcome == approval.TimedOut:
		a.Choice = "timeout"
	}
	if len(d.Keys) > 0 {
		a.PatternKey = d.Keys[0]
	}
	if len(d.Findings) > 0 {
		a.Description = d.Findings[0].Reason
	}
	o.hooks.Approval(a)
}

func describe(q channel.Question) hook.Approval {
	a := hook.Approval{Command: q.Command, SessionKey: q.Session, ToolCallID: q.Call, RequestID: q.ID}
	for _, f := range q.Findings {
		a.PatternKeys = append(a.PatternKeys, f.Key)
	}
	if len(q.Findings) > 0 {
		a.PatternKey, a.Description = q.Findings[0].Key, q.Findings[0].Reason
	}
	return a
}

// facts is what approval has to know of the place of a task. Nothing is started for it: a place that isn't there yet is judged as
// one that reaches the host.
func (r *Runtime) facts(task string, workspace func() string) dispatch.Facts {
	f := dispatch.Facts{
		Dir: r.places.Dir(task), Home: r.environ["HOME"], User: r.environ["USER"], Environment: r.places.Key(task),
		Workspace: workspace(), HostLike: true,
	}
	if f.Home == "" {
		if u, err := user.Current(); err == nil {
			f.Home, f.User = u.HomeDir, u.Username
		}
	}
	if info, ok := r.places.Open()[f.Environment]; ok {
		f.Home, f.HostLike = string(info.Home), info.Traits.HostLike
	}
	return f
}

// workspace finds the repository around the directory that a task starts in, once.
func (r *Runtime) workspace(task string) func() string {
	return sync.OnceValue(func() string {
		dir := r.places.Dir(task)
		if dir == "" {
			return ""
		}
		for at := dir; ; at = filepath.Dir(at) {
			if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
				return at
			}
			if at == filepath.Dir(at) {
				return dir
			}
		}
	})
}
