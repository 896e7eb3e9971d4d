// Package jobs keeps commands that go on by themselves: records, logs and ends on disk, and what they have to tell.
//
// A table stands over a directory with one directory per job: job.json is written before the command runs, log is what it prints as
// filtered text, receipt.json tells its end. Everything that is known of a job can be read back from there.
package jobs

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// The defaults of Options.
const (
	DefaultMaxRunning  = 1000
	DefaultMaxPerOwner = 64
	DefaultLogHead     = 8 << 20
	DefaultLogTail     = 64 << 20
	DefaultKeep        = 24 * time.Hour
	DefaultKeepBytes   = 1 << 30
)

// LabelOwner is the label that names whose a job is, for the bound on what one owner may have running.
const LabelOwner = "owner"

// names of a job's files.
const (
	recordFile  = "job.json"
	logName     = "log"
	gapFile     = "log.gap"
	receiptFile = "receipt.json"
	endingFile  = "ending.json" // who ends it, where that isn't its keeper
	reserveFile = "receipt.reserved"
	eventsFile  = "events"
)

// isID reports whether a text may be an id: it names a directory.
func isID(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '_' && c != '-') {
			return false
		}
	}
	return 1 <= len(s) && len(s) <= 64
}

// NewID makes an id that no job has.
func NewID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return "proc_" + hex.EncodeToString(b[:])
}
