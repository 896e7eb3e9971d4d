// Package brought finds the hermes binary that is brought to other places, where the engine is to stand.
package brought

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/hermes-runtime/hermes/environment"
)

// Values of terminal.resident.
const (
	Auto    = "auto"    // bring it; where it can't run, plain shell commands do
	Require = "require" // bring it, or fail
	Off     = "off"     // never bring it
)

// CheckMode refuses what is none of these. "" is Auto.
func CheckMode(mode string) error {
	switch mode {
	case "", Auto, Require, Off:
		return nil
	}
	return &environment.Error{Kind: environment.ErrConfig, Op: "terminal.resident", Err: fmt.Errorf("%q is none of auto, require, off", mode)}
}

// Machine is what a program has to be made for, in the words of Go.
type Machine struct{ OS, Arch string }

func (m Machine) String() string { return m.OS + "/" + m.Arch }

// Here is this machine.
func Here() Machine { return Machine{runtime.GOOS, runtime.GOARCH} }

// NoneError says why there is nothing to bring.
type NoneError struct{ Why string }

func (e *NoneError) Error() string { return e.Why }

// Finder looks for the binary.
type Finder struct {
	Mode string   // terminal.resident
	Path string   // terminal.resident_path, ~ expanded; "" = not configured
	Self []string // starts this program; nil = hermes is part of another one
}

// Find gives the path of the binary for a machine, which is asked about only if that matters: the one that is configured, one that was
// built for the machine beside this program, this program itself. The error is a *NoneError where there is none to bring, and
// environment.ErrConfig where the configured one isn't there.
func (f Finder) Find(machine func() (Machine, error)) (string, error) {
	if f.Mode == Off {
		return "", &NoneError{"terminal.resident is off"}
	}
	if f.Path != "" {
		path, err := filepath.Abs(f.Path)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return "", &environment.Error{Kind: environment.ErrConfig, Op: "terminal.resident_path", Err: err}
		}
		return path, nil
	}
	m, err := machine()
	if err != nil {
		return "", err
	}
	if len(f.Self) == 0 {
		return "", &NoneError{"hermes is part of another program here; set terminal.resident_path to a hermes binary for " + m.String()}
	}
	beside := filepath.Join(filepath.Dir(f.Self[0]), "hermes-resident-"+m.OS+"-"+m.Arch)
	if _, err := os.Stat(beside); err == nil {
		return filepath.Abs(beside)
	}
	if m == Here() {
		return filepath.Abs(f.Self[0])
	}
	return "", &NoneError{fmt.Sprintf("this hermes is for %s and there it would run on %s: put a build for that beside it as %s", Here(), m, filepath.Base(beside))}
}

// None gives why there is nothing to bring, where err says that.
func None(err error) (why string, ok bool) {
	var none *NoneError
	if errors.As(err, &none) {
		return none.Why, true
	}
	return "", false
}
