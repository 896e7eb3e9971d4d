//go:build !linux && !darwin

// Package group finds and ends everything that one command started. Commands don't run on this system, so there is nothing to find.
package group
