//go:build linux

package apptainertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Version is what the command says it is.
const Version = "1.3.6"

// Names that the program has when it isn't the command.
const (
	roleInstance = "Apptainer instance: "
	roleProbe    = "apptainertest-probe"
)

// Act is all that the program of the stand-in does.
func Act() {
	switch me := os.Args[0]; {
	case me == roleProbe:
	case strings.HasPrefix(me, roleInstance):
		os.Exit(beInstance())
	default:
		os.Exit(beCommand(os.Args[1:]))
	}
}

// fatalError ends the command with 255, usageError with 1, as those of Apptainer do.
type (
	fatalError string
	usageError string
)

func (e fatalError) Error() string { return "FATAL:   " + string(e) }
func (e usageError) Error() string { return "Error for command: " + string(e) }

func fatal(format string, args ...any) error { return fatalError(fmt.Sprintf(format, args...)) }

// at is an installation as the command sees it.
type at struct {
	dir string
	Behaviour
}

func beCommand(args []string) int {
	a := at{dir: os.Getenv("APPTAINER_CONFIGDIR")}
	if a.dir == "" {
		fmt.Fprintln(os.Stderr, "the stand-in needs APPTAINER_CONFIGDIR")
		return 1
	}
	a.log(args)
	if b, err := os.ReadFile(filepath.Join(a.dir, "behaviour")); err == nil {
		_ = json.Unmarshal(b, &a.Behaviour)
	}
	code, err := a.run(args)
	var usage usageError
	switch {
	case errors.As(err, &usage):
		code = 1
	case err != nil:
		code = 255
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

func (a at) log(args []string) {
	line, _ := json.Marshal(Call{args, os.Environ()})
	f, err := os.OpenFile(filepath.Join(a.dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = f.Write(append(line, '\n'))
		_ = f.Close()
	}
}

func (a at) run(args []string) (int, error) {
	word := func(n int) string {
		if n < len(args) {
			return args[n]
		}
		return ""
	}
	switch {
	case word(0) == "version" && len(args) == 1:
		fmt.Println(Version)
		return 0, nil
	case word(0) == "build":
		return 0, a.build(args[1:])
	case word(0) == "exec":
		return a.exec(args[1:])
	case word(0) == "instance" && word(1) == "start":
		return 0, a.start(args[2:])
	case word(0) == "instance" && word(1) == "list":
		return 0, a.list(args[2:])
	case word(0) == "instance" && word(1) == "stop":
		return 0, a.stop(args[2:])
	}
	return 0, usageError(fmt.Sprintf("unknown command %q", strings.Join(args, " ")))
}

// valued are the flags of actions that take a value; the others that are known take none.
var (
	valued = []string{
		"--add-caps", "--app", "--apply-cgroups", "--bind", "--cpus", "--cpu-shares", "--cwd", "--dns", "--drop-caps", "--env", "--env-file", "--fusemount", "--home",
		"--hostname", "--memory", "--memory-reservation", "--memory-swap", "--mount", "--network", "--network-args", "--no-mount", "--overlay", "--pid-file", "--pids-limit",
		"--pwd", "--scratch", "--security", "--workdir",
	}
	plainFlags = []string{
		"--allow-setuid", "--cleanenv", "--compat", "--contain", "--containall", "--disable-cache", "--fakeroot", "--ipc", "--keep-privs", "--net", "--no-eval", "--no-home",
		"--no-https", "--no-init", "--no-privs", "--no-umask", "--nv", "--pid", "--rocm", "--userns", "--uts", "--writable", "--writable-tmpfs",
	}
)

// parsed are flags and what follows them.
type parsed struct {
	flags map[string][]string
	rest  []string
}

func (p parsed) has(flag string) bool { return len(p.flags[flag]) > 0 }

func (p parsed) last(flag string) string {
	if v := p.flags[flag]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// parse reads flags up to the first word that is none.
func parse(args, valued, plain []string) (parsed, error) {
	p := parsed{flags: map[string][]string{}}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag, value, given := strings.Cut(args[0], "=")
		args = args[1:]
		switch {
		case slices.Contains(plain, flag) && !given:
			value = "true"
		case !slices.Contains(valued, flag):
			return p, usageError("unknown flag: " + flag)
		case !given && len(args) == 0:
			return p, usageError("flag needs an argument: " + flag)
		case !given:
			value, args = args[0], args[1:]
		}
		p.flags[flag] = append(p.flags[flag], value)
	}
	p.rest = args
	return p, nil
}

// record is what is kept of an instance while it runs.
type record struct {
	Name  string `json:"name"`
	PID   int    `json:"pid"`
	Began string `json:"began"`
	Image string `json:"image"`
	dir   string
}

func instances(dir string) string { return filepath.Join(dir, "instances") }

// listed gives the instances that run. What is left of others is removed.
func listed(dir, pattern string) []record {
	files, _ := filepath.Glob(filepath.Join(instances(dir), pattern, "instance.json"))
	var all []record
	for _, f := range files {
		b, err := os.ReadFile(f)
		r := record{dir: filepath.Dir(f)}
		if err != nil || json.Unmarshal(b, &r) != nil {
			continue
		}
		if began(r.PID) != r.Began {
			_ = os.RemoveAll(r.dir)
			continue
		}
		all = append(all, r)
	}
	return all
}

// wait waits for the end of the instance's first process, with which all others end.
func (r record) wait() {
	for end := time.Now().Add(30 * time.Second); began(r.PID) == r.Began && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// began tells a process from a later one of the same number; "" if there is none.
func began(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return ""
	}
	return f[19]
}

func (a at) list(args []string) error {
	p, err := parse(args, []string{"--user"}, []string{"--json", "--all", "--logs"})
	switch {
	case err != nil:
		return err
	case len(p.rest) > 1:
		return usageError("accepts at most 1 arg(s)")
	case a.Deaf:
		return fatal("could not retrieve instance list: permission denied")
	}
	pattern := "*"
	if len(p.rest) == 1 {
		pattern = p.rest[0]
	}
	all := listed(a.dir, pattern)
	if !p.has("--json") {
		fmt.Println("INSTANCE NAME    PID    IP    IMAGE")
		for _, r := range all {
			fmt.Printf("%s    %d    %s    %s\n", r.Name, r.PID, "", r.Image)
		}
		return nil
	}
	type row struct {
		Instance   string `json:"instance"`
		PID        int    `json:"pid"`
		Image      string `json:"img"`
		IP         string `json:"ip"`
		LogErrPath string `json:"logErrPath"`
		LogOutPath string `json:"logOutPath"`
	}
	rows := []row{}
	for _, r := range all {
		rows = append(rows, row{Instance: r.Name, PID: r.PID, Image: r.Image, LogErrPath: filepath.Join(r.dir, "err"), LogOutPath: filepath.Join(r.dir, "out")})
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "\t")
	return e.Encode(map[string][]row{"instances": rows})
}

func (a at) stop(args []string) error {
	p, err := parse(args, []string{"--user", "--signal", "--timeout"}, []string{"--all", "--force"})
	if err != nil {
		return err
	}
	grace := 10
	if t := p.last("--timeout"); t != "" {
		if grace, err = strconv.Atoi(t); err != nil {
			return usageError("invalid argument for --timeout: " + t)
		}
	}
	pattern := "*"
	if len(p.rest) == 1 {
		pattern = p.rest[0]
	} else if len(p.rest) > 1 || !p.has("--all") {
		return usageError("invalid command")
	}
	all := listed(a.dir, pattern)
	if len(all) == 0 {
		return fatal("no instance found")
	}
	for _, r := range all {
		fmt.Fprintf(os.Stderr, "INFO:    Stopping %s instance of %s (PID=%d)\n", r.Name, r.Image, r.PID)
		_ = syscall.Kill(r.PID, syscall.SIGINT)
		for end := time.Now().Add(time.Duration(grace) * time.Second); began(r.PID) == r.Began; time.Sleep(2 * time.Millisecond) {
			if time.Now().After(end) {
				fmt.Fprintf(os.Stderr, "INFO:    Killing %s instance of %s (PID=%d) (Timeout)\n", r.Name, r.Image, r.PID)
				_ = syscall.Kill(r.PID, syscall.SIGKILL)
				return nil
			}
		}
		_ = os.RemoveAll(r.dir)
	}
	return nil
}
