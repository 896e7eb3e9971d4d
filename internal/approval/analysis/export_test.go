package analysis

import "slices"

// Listed tells whether a program is known to the tables.
func Listed(program string) bool { _, ok := slices.BinarySearch(listed(), program); return ok }
