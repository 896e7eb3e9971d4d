//go:build !unix

package bench

import "os"

func maxResident(*os.ProcessState) (float64, bool) { return 0, false }
