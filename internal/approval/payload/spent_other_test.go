//go:build !linux

package payload_test

import "time"

var began = time.Now()

func spent() time.Duration { return time.Since(began) }
