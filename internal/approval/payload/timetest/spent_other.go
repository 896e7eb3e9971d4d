//go:build !linux

package timetest

import "time"

var began = time.Now()

func spent() time.Duration { return time.Since(began) }
