package script

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/script/stub"
	"sync"
)

// failure is what a hint is found by.
type failure struct {
	ctx       context.Context // of the explanation: what is asked of the place for it is given up together
	x         *run
	res       environment.Result
	stderr    string
	exception string // its line, "" = none
}

// reason says in one line why a script failed: its exception, what it said when it left, its exit code, a signal, a limit.
func (x *run) reason(res environment.Result, errs text) string {
	switch {
	case res.Reason == environment.LimitHit:
		return "a limit was hit: " + res.Limit
	case res.Reason == environment.Signaled:
		return "the script was ended by " + res.Signal
	}
	stderr := errs.head + "\n" + errs.tail
	if e := exceptionLine(stderr); e != "" {
		return clip(e, 1000)
	}
	if last := lastLine(stderr); res.ExitCode == 1 && last != "" { // sys.exit("text")
		return clip(last, 1000)
	}
	return fmt.Sprintf("the script ended with exit code %d", res.ExitCode)
}

var exceptionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][\w.]*(: .*)?$`) })

// exceptionLine finds the line of the exception that ended a script: the first one not indented after the last frames.
func exceptionLine(stderr string) string {
	lines := strings.Split(stderr, "\n")
	from := -1
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimLeft(l, " |+"), `File "`) {
			from = i
		}
	}
	if from < 0 {
		return ""
	}
	for _, l := range lines[from+1:] {
		l = strings.TrimPrefix(strings.TrimPrefix(l, "  | "), "  + ")
		if l != "" && l[0] != ' ' && exceptionForm().MatchString(l) {
			return l
		}
	}
	return ""
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n \t\r"), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// hints are tried in this order; the first that has something to say is told.
var hints = []func(f failure) string{
	hintImport, hintShadow, hintModule, hintResult, hintVariable, hintTerminalOnly, hintStdin, hintAwait, hintRelative, hintMemory, hintCrash,
}

func (x *run) hint(ctx context.Context, res environment.Result, errs text) string {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	f := failure{ctx: ctx, x: x, res: res, stderr: errs.head + "\n" + errs.tail}
	f.exception = exceptionLine(f.stderr)
	for _, h := range hints {
		if text := h(f); text != "" {
			return text
		}
	}
	return ""
}

func (f failure) is(names ...string) bool {
	name, _, _ := strings.Cut(f.exception, ":")
	for _, n := range names {
		if name == n || strings.HasSuffix(name, "."+n) {
			return true
		}
	}
	return false
}

func (f failure) importable() string {
	names := available(f.x.reasons)
	if len(names) == 0 {
		return "This session offers no tool to scripts; from hermes_tools the helpers can be imported."
	}
	return "Import them by name: from hermes_tools import " + strings.Join(names, ", ") + " (helpers: json_parse, shell_quote, retry, check)."
}

var undefined = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`name '(\w+)' is not defined`) })

func hintImport(f failure) string {
	if f.is("ImportError", "ModuleNotFoundError") && strings.Contains(f.exception, "hermes_tools") {
		return f.importable()
	}
	if m := undefined().FindStringSubmatch(f.exception); f.is("NameError") && m != nil && isOurs(m[1]) {
		return m[1] + " was used without an import. " + f.importable()
	}
	return ""
}

func isOurs(name string) bool {
	if _, ok := stub.Lookup(name); ok {
		return true
	}
	for _, h := range stub.Helpers {
		if strings.HasPrefix(h, name+"(") {
			return true
		}
	}
	return name == "aio" || name == "hermes_tools" || name == "HermesToolError"
}

var noModule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`No module named '([\w.]+)'`) })

func hintModule(f failure) string {
	m := noModule().FindStringSubmatch(f.exception)
	if m == nil {
		return ""
	}
	p := f.x.python
	top, _, _ := strings.Cut(m[1], ".")
	text := fmt.Sprintf("The script runs in Python %s, %s (%s).", p.Version, p.Path, p.Why)
	if venv := f.projectVenv(top); venv != "" && f.x.mode == ModeProject {
		return text + fmt.Sprintf(" %s has %s: activate it in terminal first (source %s), or set %s.python.", venv, top,
			path.Join(venv, "bin", "activate"), Section)
	}
	if p.Root == "" {
		return text + fmt.Sprintf(" It has no %s and nothing should be installed into it: make a virtual environment, activate it in terminal, install there.", top)
	}
	return text + fmt.Sprintf(" To install: terminal(\"%s -m pip install %s\").", p.Path, top)
}

// projectVenv finds an environment in the session's directory that holds the module. It is only named, never taken unasked (XM-7).
func (f failure) projectVenv(module string) string {
	root := path.Join(f.x.session, ".venv")
	for _, e := range f.x.list(f.ctx, path.Join(root, "lib")) {
		for _, form := range []string{module, module + ".py"} {
			if strings.HasPrefix(e.Name, "python") && f.x.exists(f.ctx, path.Join(root, "lib", e.Name, "site-packages", form)) {
				return root
			}
		}
	}
	return ""
}

var calledTool = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(\w+)\(`) })

func hintResult(f failure) string {
	dictError := strings.Contains(f.exception, "'dict' object") || strings.Contains(f.exception, "string indices") || strings.Contains(f.exception, "_Failure")
	if strings.Contains(f.stderr, "os.environ[") { // that is no result of a tool
		return ""
	}
	if !f.is("KeyError") && !(f.is("TypeError", "AttributeError") && dictError) {
		return ""
	}
	for _, m := range calledTool().FindAllStringSubmatch(f.x.code, -1) {
		if fn, ok := stub.Lookup(m[1]); ok && f.mentions(fn) {
			return fmt.Sprintf("Results of tools are dicts. %s gives %s; a failed call has error instead, so look for that first.", fn.Name, fn.Keys)
		}
	}
	for _, m := range calledTool().FindAllStringSubmatch(f.x.code, -1) {
		if fn, ok := stub.Lookup(m[1]); ok {
			return fmt.Sprintf("Results of tools are dicts. %s gives %s; a failed call has error instead, so look for that first.", fn.Name, fn.Keys)
		}
	}
	return ""
}

// mentions reports whether the traceback shows a line that calls the tool.
func (f failure) mentions(fn stub.Function) bool { return strings.Contains(f.stderr, fn.Name+"(") }

var quotedName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`'([A-Za-z_]\w*)'`) })

func hintVariable(f failure) string {
	if f.exception == "" {
		return ""
	}
	var names []string
	for _, m := range quotedName().FindAllStringSubmatch(f.exception, -1) {
		names = append(names, m[1])
	}
	for _, w := range f.x.withheld {
		for _, n := range names {
			if n == w.Name {
				return fmt.Sprintf("The variable %s is set in this session and withheld from scripts. The user can pass it with %s.", n, PassSetting)
			}
		}
	}
	return ""
}

func hintTerminalOnly(f failure) string {
	if !f.is("TypeError") {
		return ""
	}
	for _, p := range stub.TerminalOnly {
		if strings.Contains(f.exception, "'"+p+"'") {
			return "terminal is foreground only in scripts: " + p + " exists for the terminal tool outside of them."
		}
	}
	return ""
}

func hintStdin(f failure) string {
	if f.is("EOFError") {
		return "A script has no stdin: input() finds its end at once. Put the value into the script."
	}
	return ""
}

func hintAwait(f failure) string {
	for _, sign := range []string{"'await' outside", "asyncio.run() cannot be called from a running event loop", "event loop is already running"} {
		if strings.Contains(f.exception, sign) {
			return "Put the awaits into async def main() and call asyncio.run(main()) once; the tools as coroutines are in hermes_tools.aio."
		}
	}
	return ""
}

var missingFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`No such file or directory: '([^/~'][^']*)'`) })

func hintRelative(f failure) string {
	if f.x.mode == ModeStrict && f.is("FileNotFoundError") && missingFile().MatchString(f.exception) {
		return fmt.Sprintf("In mode strict a script starts in a temporary directory, so relative paths don't reach the project. Use absolute ones, read_file, or %s.mode: project.", Section)
	}
	return ""
}

func hintMemory(f failure) string {
	l := f.x.limits()
	switch {
	case f.res.Reason == environment.LimitHit:
		name, value, _ := strings.Cut(f.res.Limit, ":")
		return fmt.Sprintf("The limit is%s; it is set by %s.limits.%s in the configuration.", value, Section, name)
	case f.is("MemoryError"), f.res.Reason == environment.Signaled && f.res.Signal == "SIGKILL":
		return fmt.Sprintf("Memory may have run out: the limit is %d MB (%s.limits.memory_mb). Work on less at a time.", l.MemoryMB, Section)
	case f.res.Reason == environment.Signaled && f.res.Signal == "SIGXFSZ", strings.Contains(f.exception, "File too large"): // Python ignores the signal
		return fmt.Sprintf("A file grew beyond %d MB (%s.limits.file_size_mb).", l.FileSizeMB, Section)
	case strings.Contains(f.exception, "Too many open files"):
		return fmt.Sprintf("At most %d files may be open (%s.limits.open_files).", l.OpenFiles, Section)
	case f.is("BlockingIOError") && strings.Contains(f.exception, "Resource temporarily unavailable"), strings.Contains(f.exception, "can't start new thread"):
		return fmt.Sprintf("At most %d processes and threads may run (%s.limits.processes).", l.Processes, Section)
	}
	return ""
}

func hintCrash(f failure) string {
	if f.res.Reason == environment.Signaled && (f.res.Signal == "SIGSEGV" || f.res.Signal == "SIGABRT" || f.res.Signal == "SIGBUS") {
		return "A native extension module crashed the interpreter; the logic of the script is not the cause."
	}
	return ""
}
