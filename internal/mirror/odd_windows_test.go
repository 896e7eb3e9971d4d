package mirror_test

import "testing"

func odd(testing.TB, string) {}
