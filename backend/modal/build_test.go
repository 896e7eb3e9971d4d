package modal_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/modal"
	"github.com/hermes-runtime/hermes/environment"
)

// heavy are what Modal's client brings along.
var heavy = []string{"github.com/modal-labs/", "google.golang.org/grpc", "google.golang.org/protobuf"}

func TestBuild_OnlyTheTagTakesModalsClientIn(t *testing.T) {
	for tags, want := range map[string]bool{"": false, "modal": true} {
		out, err := exec.Command("go", "list", "-deps", "-tags", tags, "github.com/hermes-runtime/hermes/cmd/hermes").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if !strings.Contains(string(out), "hermes/backend/modal\n") {
			t.Errorf("with tags %q the backend is not in the binary", tags)
		}
		for _, h := range heavy {
			if got := strings.Contains("\n"+string(out), "\n"+h); got != want {
				t.Errorf("with tags %q, %s is in the binary: %v", tags, h, got)
			}
		}
	}
}

func TestSettings_WhatIsWrongIsSaidBeforeAnybodyIsAsked(t *testing.T) { // MDL-1
	b, _ := environment.Lookup("modal")
	for key, change := range map[string]func(c *modal.Config){
		"modal_mode": func(c *modal.Config) { c.Mode = "managed" }, "modal_image": func(c *modal.Config) { c.Image = "a\nRUN evil" },
		"modal_timeout": func(c *modal.Config) { c.Timeout = 25 * time.Hour }, "resident": func(c *modal.Config) { c.Resident = "maybe" },
	} {
		c := b.Config().(*modal.Config)
		change(c)
		err := b.Check(t.Context(), environment.OpenOptions{Config: c})
		if !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
		if _, oerr := b.Open(t.Context(), environment.OpenOptions{Config: c}); !errors.Is(oerr, environment.ErrConfig) {
			t.Errorf("%s: opened: %v", key, oerr)
		}
	}
	for _, image := range []string{"a\nRUN evil", "--platform=x", "a b", "a\x00"} {
		o := environment.OpenOptions{Config: b.Config(), Overrides: map[string]string{"modal_image": image}}
		if err := b.Check(t.Context(), o); !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), "modal_image") {
			t.Errorf("image %q of a task: %v", image, err)
		}
	}
}
