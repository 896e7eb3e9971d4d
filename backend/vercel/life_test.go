//go:build linux

package vercel_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/backend/vercel"
	"github.com/hermes-runtime/hermes/backend/vercel/verceltest"
	"github.com/hermes-runtime/hermes/environment"
)

// token is one of a login.
func token(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sig"
}

func TestCredentials_WhatIsWrongIsSaid(t *testing.T) { // CLD-5
	b, _ := environment.Lookup("vercel_sandbox")
	for want, vars := range map[string]map[string]string{
		"set VERCEL_OIDC_TOKEN":                {},
		"VERCEL_TEAM_ID and VERCEL_PROJECT_ID": {"VERCEL_TOKEN": "vca_secret"},
		"expired at 2001-09-09":                {"VERCEL_OIDC_TOKEN": token(`{"owner_id":"t","project_id":"p","exp":1000000000}`)},
		"names no team":                        {"VERCEL_OIDC_TOKEN": token(`{"exp":99999999999}`)},
		"no token of the form":                 {"VERCEL_OIDC_TOKEN": "vca_secret"},
	} {
		err := b.Check(t.Context(), environment.OpenOptions{HermesHome: t.TempDir(), Getenv: func(n string) string { return vars[n] }})
		if !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	good := map[string]string{"VERCEL_OIDC_TOKEN": token(`{"owner_id":"t","project_id":"p","exp":99999999999}`)}
	if err := b.Check(t.Context(), environment.OpenOptions{HermesHome: t.TempDir(), Getenv: func(n string) string { return good[n] }}); err != nil {
		t.Error(err)
	}
}

func TestSettings_WhatCannotBeHadIsRefused(t *testing.T) { // VRC-1
	l := newLab(t)
	b, _ := environment.Lookup("vercel_sandbox")
	for key, change := range map[string]func(c *vercel.Config){
		"container_disk": func(c *vercel.Config) { c.DiskMB = 1 }, "vercel_runtime": func(c *vercel.Config) { c.Runtime = "node8" },
		"resident": func(c *vercel.Config) { c.Resident = "maybe" }, "vercel_api_url": func(c *vercel.Config) { c.URL = "http://example.com" },
	} {
		c := l.config
		change(&c)
		o := l.o
		o.Config = &c
		if err := b.Check(t.Context(), o); !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
	l.config.CPU, l.config.Network = 3.9, false
	e := l.anew(t)
	if s := l.s.Sandboxes()[0]; s.CPUs != 2 || !strings.Contains(string(s.Network), "deny-all") {
		t.Errorf("%+v", s)
	}
	shut(t, e)
}

func TestProbe_TellsOfAllSandboxesPageByPage(t *testing.T) { // CLD-3: doctor
	l := newLab(t)
	e := l.anew(t)
	defer shut(t, e)
	tags := l.s.Sandboxes()[0].Tags
	l.s.Page = 4
	for i := range 10 {
		l.s.Add(verceltest.Sandbox{Name: fmt.Sprint("hermes-lost-", i), Status: "stopped", Tags: tags})
	}
	l.s.Add(verceltest.Sandbox{Name: "hermes-of-another", Status: "running"})
	b, _ := environment.Lookup("vercel_sandbox")
	o, c := l.o, l.config
	o.Config = &c
	lines := strings.Join(b.Probe(t.Context(), o), "\n")
	for _, want := range []string{"sandboxes of this HERMES_HOME there: 11", e.Info().ID, "in use", "hermes-lost-9", "not in the ledger"} {
		if !strings.Contains(lines, want) {
			t.Errorf("it doesn't say %q:\n%s", want, lines)
		}
	}
	if strings.Contains(lines, "hermes-of-another") {
		t.Error(lines)
	}
}
