// Package engine runs commands on the machine it stands on: a shell of their own for each, directory and variables carried from one
// to the next, everything ended that they started.
package engine

import (
	"log/slog"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// The numbers of the life of a command.
const (
	// DefaultGrace is the time between TERM and KILL.
	DefaultGrace = time.Second
	// interruptGrace bounds the grace of a command that a person interrupted: they wait for it.
	interruptGrace = time.Second
	// After the shell has ended its output is read until end-of-file, drainSilence without a byte, or drainTotal in all: what it
	// left running may hold the pipe for ever.
	drainSilence = 300 * time.Millisecond
	drainTotal   = 2 * time.Second
	// MaxScript bounds the text of a command, in bytes.
	MaxScript = 1 << 20
	// argScript is the length from which a script goes through a descriptor: Linux takes at most 128 KiB in one argument.
	argScript = 96 << 10
)

// Options says how an engine runs commands. The zero value works.
type Options struct {
	Shell     string // the shell of scripts; "" = bash from PATH, /bin, /usr/bin, else sh
	Grace     time.Duration
	Limits    environment.Limits
	Home      string   // HERMES_HOME: groups are known by it after a crash; "" = none
	Subreaper bool     // this process is the hermes binary and may become the parent of orphans
	NoCgroup  bool     // form groups without cgroups
	Guard     []string // starts the guard; nil = none
	Log       *slog.Logger
}

// Base is what a place gives every command.
type Base struct {
	Environ []string // the environment's own variables, "name=value"; what is carried is the difference to them
	Home    string   // where ~ points; "" = HOME of Environ
	Temp    string   // "" = /tmp
	Login   *Login   // functions and aliases of the login shell; nil = none
}
