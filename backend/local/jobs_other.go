//go:build !linux && !darwin

package local

import (
	"context"

	"github.com/hermes-runtime/hermes/environment"
)

// keeping is empty: there are no commands on this system, and so no jobs.
type keeping struct{ o environment.OpenOptions }

const endWithUs = ""

func keepsJobs(environment.OpenOptions) bool { return true }

func (*keeping) close(context.Context) error { return nil }
