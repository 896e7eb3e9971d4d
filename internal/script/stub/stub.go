// Package stub makes hermes_tools, the Python module through which a script calls tools, and its type stubs.
package stub

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed runtime.py
var runtime string

//go:embed results.pyi
var results string

// Options says what the module offers. The zero value is the module for an editor: every function, and no run behind it.
type Options struct {
	// Available are the tools that may be called; nil = all. Names that are no function of a script are left out.
	Available []string
	// Reasons says of a tool that is not available why; "" and missing get a general text.
	Reasons map[string]string
	// MaxMessage is the longest message in bytes; 0 = 67 108 864.
	MaxMessage int
}

const (
	defaultMaxMessage = 64 << 20
	whyDefault        = "it is not enabled in this session"
	whyNever          = "it can never be called from a script"
	outside           = "hermes_tools works inside a script that Hermes runs: hermes exec FILE.py"
)

// Offered returns the functions of the module in their order.
func (o Options) Offered() []Function {
	if o.Available == nil {
		return Functions
	}
	var out []Function
	for _, f := range Functions {
		if slices.Contains(o.Available, f.Name) {
			out = append(out, f)
		}
	}
	return out
}

// Source returns hermes_tools.py. Equal options give equal bytes.
func Source(o Options) []byte {
	var b strings.Builder
	b.WriteString(`"""The tools of Hermes, for the script that runs beside this file."""` + "\n")
	fmt.Fprintf(&b, "_MAX_MESSAGE = %d\n_OUTSIDE = %s\n_REASONS = {\n", cmp.Or(o.MaxMessage, defaultMaxMessage), quote(outside))
	offered := o.Offered()
	for _, f := range Functions {
		if !slices.ContainsFunc(offered, func(g Function) bool { return g.Name == f.Name }) {
			why := o.Reasons[f.Name]
			if why == "" {
				why = whyDefault
			}
			fmt.Fprintf(&b, "    %s: %s,\n", quote(f.Name), quote(why))
		}
	}
	for _, name := range Never {
		fmt.Fprintf(&b, "    %s: %s,\n", quote(name), quote(whyNever))
	}
	b.WriteString("}\n")
	b.WriteString(runtime)
	writeFunctions(&b, offered)
	return []byte(b.String())
}

func writeFunctions(b *strings.Builder, offered []Function) {
	names := make([]string, 0, len(offered))
	for _, f := range offered {
		names = append(names, quote(f.Name))
		params := strings.TrimSuffix(strings.TrimPrefix(f.Signature(), f.Name+"("), ")")
		var args []string
		for _, p := range f.Params {
			args = append(args, quote(p.Name)+": "+p.Name)
		}
		body := fmt.Sprintf("(%s, {%s})", quote(f.Name), strings.Join(args, ", "))
		fmt.Fprintf(b, "\n\ndef %s(%s):\n    %s\n    return _call%s\n", f.Name, params, quote(f.Doc), body)
		fmt.Fprintf(b, "\n\nasync def _a_%s(%s):\n    %s\n    return await _acall%s\n", f.Name, params, quote(f.Doc), body)
	}
	fmt.Fprintf(b, "\n\n_TOOLS = (%s)\n", tuple(names))
	b.WriteString(tail)
}

// tail makes the second module, hermes_tools.aio, out of this one file: an import finds it among the loaded modules.
const tail = `__all__ = _TOOLS + _HELPERS + ("aio",)
aio = type(_sys)("hermes_tools.aio", "The tools as coroutines.")
for _n in _TOOLS:
    _f = globals()["_a_" + _n]
    _f.__name__ = _f.__qualname__ = _n
    setattr(aio, _n, _f)
for _n in _HELPERS:
    setattr(aio, _n, globals()[_n])
aio.retry = _aretry
aio.__all__ = _TOOLS + _HELPERS
aio.__getattr__ = lambda name: _missing(name, "hermes_tools.aio")
_sys.modules["hermes_tools.aio"] = aio
del _n
`

func tuple(items []string) string {
	if len(items) == 1 {
		return items[0] + ","
	}
	return strings.Join(items, ", ")
}

// quote writes s as a Python string; Go's escapes are all known there.
func quote(s string) string { return strconv.QuoteToASCII(s) }

// Types returns the type stubs: hermes_tools/__init__.pyi and hermes_tools/aio.pyi, by path.
func Types(o Options) map[string][]byte {
	var sync, async strings.Builder
	sync.WriteString(results)
	sync.WriteString("\nfrom . import aio as aio\n")
	async.WriteString("from typing import Any, Awaitable, Callable, Optional, Sequence, TypeVar\n\nfrom . import (\n")
	for _, f := range Functions {
		fmt.Fprintf(&async, "    %s,\n", f.Result)
	}
	async.WriteString("    StrPath,\n)\nfrom . import HermesToolError as HermesToolError, check as check, json_parse as json_parse\n" +
		"from . import raise_errors as raise_errors, shell_quote as shell_quote\n\n_T = TypeVar(\"_T\")\n\n" +
		"async def retry(fn: Callable[[], Awaitable[_T]], max_attempts: int = ..., delay: float = ...) -> _T: ...\n")
	for _, f := range o.Offered() {
		params := make([]string, len(f.Params))
		for i, p := range f.Params {
			params[i] = p.Name + ": " + p.Type
			if p.Default != "" {
				params[i] += " = ..."
			}
		}
		sig := fmt.Sprintf("def %s(%s) -> %s: ...\n", f.Name, strings.Join(params, ", "), f.Result)
		sync.WriteString(sig)
		async.WriteString("async " + sig)
	}
	return map[string][]byte{"hermes_tools/__init__.pyi": []byte(sync.String()), "hermes_tools/aio.pyi": []byte(async.String())}
}

// WriteTo writes the module and its type stubs for an editor into dir, and returns the paths written.
func WriteTo(dir string) ([]string, error) {
	files := Types(Options{})
	files[ModuleFile] = Source(Options{})
	var written []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return written, fmt.Errorf("write the stubs of scripts: %w", err)
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil { //nolint:gosec // source text for an editor
			return written, fmt.Errorf("write the stubs of scripts: %w", err)
		}
		written = append(written, path)
	}
	return written, nil
}

// ModuleFile is the name of the module's file.
const ModuleFile = "hermes_tools.py"
