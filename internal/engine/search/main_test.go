package search_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain holds every search to ending what it started.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
