package search_test

import (
	"testing"

	"github.com/hermes-runtime/hermes/internal/leaktest"
)

// TestMain holds every search to ending what it started.
func TestMain(m *testing.M) { leaktest.Main(m) }
