package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/preview"
	"github.com/hermes-runtime/hermes/internal/approval/review"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
	"github.com/hermes-runtime/hermes/internal/config"
)

// reviewerSettings is `auxiliary.approval:`, the model that judges where approvals.mode or a mode for unattended sessions is smart.
type reviewerSettings struct {
	BaseURL string `yaml:"base_url" help:"address of an API of chat completions; /chat/completions is appended"`
	Model   string `yaml:"model" help:"name of the model that judges commands"`
	KeyEnv  string `yaml:"key_env" help:"variable that holds its key; none is sent without"`
}

func (*reviewerSettings) Section() string { return "auxiliary.approval" }

func init() { config.Register(func() config.Sectioned { return &reviewerSettings{} }) }

// reviewers adds who judges in a person's place. One that is set up wrongly is told and judges nothing: people are asked.
func (r *Runtime) reviewers(conf *approval.Config, a approverSettings) {
	if len(a.Command) > 0 || a.URL != "" {
		p, err := review.NewProgram(review.Approver{Command: a.Command, URL: a.URL, Timeout: a.Timeout, Redact: r.redactor.All, Log: r.log})
		if err != nil {
			r.misread("approvals.approver", err.Error())
		} else {
			conf.Approver = p
		}
	}
	var c reviewerSettings
	if err := r.doc.Decode(c.Section(), &c); err != nil {
		for _, e := range unjoin(err) {
			r.problem(e)
		}
	}
	smart := conf.Mode == approval.Smart || slices.ContainsFunc([]string{conf.UnattendedMode, conf.SingleQueryMode, conf.CronMode},
		func(m string) bool { return strings.EqualFold(strings.TrimSpace(m), string(approval.Smart)) })
	if !smart {
		return
	}
	if c.BaseURL == "" && c.Model == "" {
		r.misread("auxiliary.approval", "a mode is smart, and there is no base_url and model to review commands: a person is asked, or it is refused where there is none")
		return
	}
	m, err := review.NewSmart(review.Model{BaseURL: c.BaseURL, Model: c.Model, Key: r.reviewerKey(c), Redact: r.redactor.All, Log: r.log})
	if err != nil {
		r.misread("auxiliary.approval", err.Error())
		return
	}
	conf.Reviewer = m
}

func (r *Runtime) reviewerKey(c reviewerSettings) string {
	if c.KeyEnv == "" {
		return ""
	}
	key := r.Getenv(c.KeyEnv)
	if key == "" {
		r.misread("auxiliary.approval.key_env", fmt.Sprintf("the variable %s is empty or not set", c.KeyEnv))
	}
	r.secrets.Add(c.KeyEnv, key)
	return key
}

// losses tells what deletions on this machine would destroy.
func losses(ctx context.Context, req *approval.Request, findings []rules.Finding) <-chan string {
	if _, here := req.Disk.(hostDisk); !here {
		return nil
	}
	var targets []preview.Target
	for _, f := range findings {
		if !strings.HasPrefix(f.Row.ID, "delete.") && f.Row.ID != "code.delete" {
			continue
		}
		for _, t := range f.Targets {
			p := preview.Target{Path: t.Path, Class: string(t.Class), All: t.All, Some: f.Row.ID == "delete.bulk" || f.Row.ID == "delete.sync"}
			known := slices.ContainsFunc(targets, func(o preview.Target) bool { return o.Path == p.Path })
			if analysis.Literal(t.Path) && strings.HasPrefix(t.Path, "/") && !known {
				targets = append(targets, p)
			}
		}
	}
	if len(targets) == 0 {
		return nil
	}
	return preview.Start(ctx, targets)
}
