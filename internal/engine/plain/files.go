package plain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
)

// maxContent bounds a file that is written: its content is held while it goes over.
const maxContent = 256 << 20

// files is the file system there, an operation at a time. A guard is asked with what was found just before the operation: between the
// two there is a moment that nothing closes.
type files struct {
	p      *Place
	guards []environment.Guard
}

var (
	_ environment.FS      = (*files)(nil)
	_ environment.Guarder = (*files)(nil)
)

// Files is the file system there.
func (p *Place) Files() environment.FS { return &files{p: p} }

// Guarded returns the same file system with g asked before every operation, after the guards that are there already.
func (f *files) Guarded(g environment.Guard) environment.FS {
	return &files{f.p, append(slices.Clone(f.guards), g)}
}

// outcomes are the exit codes by which our scripts say what stands in the way. Shells and programs use lower and higher ones.
var outcomes = []struct {
	exit int
	name string
	err  error
}{
	{80, "absent", fs.ErrNotExist}, {81, "exists", fs.ErrExist}, {82, "denied", fs.ErrPermission}, {83, "isdir", syscall.EISDIR},
	{84, "nodir", syscall.ENOTDIR}, {85, "special", errors.New("not a regular file")}, {86, "filled", syscall.ENOTEMPTY},
	{87, "changed", environment.ErrChanged}, {88, "short", io.ErrUnexpectedEOF}, {89, "full", syscall.ENOSPC}, {90, "locked", syscall.EROFS},
}

// words are the functions that our scripts use: one for each outcome, disk for what is known of the one that a directory lies on, and why
// for a path that an operation failed on. Where a directory lets everything be done in it and its disk has room, what the program said
// has to do.
var words = func() string {
	var s strings.Builder
	for _, o := range outcomes {
		fmt.Fprintf(&s, "%s() { exit %d; }; ", o.name, o.exit)
	}
	return s.String() + `disk() { __ro=; set -- $(df -P "$1" 2>/dev/null | tail -n 1); case ${5-} in *%) __room=$4;; *) __room=; return;; esac; ` +
		`[ ! -r /proc/self/mounts ] || while read -r __f __m __t __o __r; do [ "$__m" != "${6-}" ] || case ,$__o, in *,ro,*) __ro=1;; *) __ro=;; esac; done </proc/self/mounts; }; ` +
		`why() { __a=${1%/*}; [ -n "$__a" ] || __a=/; if [ ! -e "$__a" ]; then absent; fi; [ -d "$__a" ] || nodir; ` +
		`if [ ! -e "$1" ] && [ ! -L "$1" ]; then [ "$2" = new ] || absent; fi; disk "$__a"; [ -z "$__ro" ] || locked; ` +
		`if [ -w "$__a" ]; then [ "$__room" != 0 ] || full; [ -k "$__a" ] || exit 1; fi; denied; }; `
}()

// ask runs a script of ours. Its text goes over standard input, ahead of data.
func (f *files) ask(ctx context.Context, op, script string, data []byte) ([]byte, error) {
	ctx, end, err := f.p.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	var out, errs bytes.Buffer
	boot, stdin := bootAll, io.Reader(strings.NewReader(words+script))
	if data != nil {
		boot, stdin = bootLine, io.MultiReader(strings.NewReader(escape.Replace(words+script)+"\n"), bytes.NewReader(data))
	}
	exit, err := f.p.exec(ctx, "exec sh -c "+engine.Word(boot, false), stdin, &out, &errs)
	if err != nil {
		return nil, broken(ctx, op, err)
	}
	return out.Bytes(), failure(op, exit, errs.String())
}

// broken is the error of a script that could not be started or followed.
func broken(ctx context.Context, op string, err error) error {
	switch {
	case ctx.Err() != nil:
		return &environment.Error{Kind: environment.ErrLost, Op: op, Err: context.Cause(ctx)}
	case errors.Is(err, environment.ErrNotStarted):
		return fmt.Errorf("%s: %w", op, err)
	}
	return &environment.Error{Kind: environment.ErrLost, Op: op, Err: err}
}

// failure is the error that an exit code stands for.
func failure(op string, exit int, said string) error {
	if exit == 0 {
		return nil
	}
	for _, o := range outcomes {
		if o.exit == exit {
			return fmt.Errorf("%s: %w", op, o.err)
		}
	}
	if said = strings.TrimSpace(said); said == "" {
		said = "exit code " + strconv.Itoa(exit)
	}
	return fmt.Errorf("%s: %s", op, said)
}

func quote(p environment.Path) string { return engine.Word(string(p), false) }

// judge asks the guards.
func (f *files) judge(ctx context.Context, p environment.Path, op environment.Operation) error {
	if len(f.guards) == 0 {
		return nil
	}
	var info *environment.FileInfo
	i, err := f.Stat(ctx, p)
	switch {
	case err == nil:
		info = &i
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return err
	}
	real, err := f.Resolve(ctx, string(p), "/")
	if err != nil {
		return err
	}
	for _, g := range f.guards {
		if err := g(real, info, op); err != nil {
			if !errors.Is(err, environment.ErrGuarded) {
				err = fmt.Errorf("%s %s: %w: %w", op, p, environment.ErrGuarded, err)
			}
			return err
		}
	}
	return nil
}

// follow walks a path, component by component, as the kernel would.
const follow = `set -f; IFS=/; set -- $P; out=; n=0
while [ $# -gt 0 ]; do c=$1; shift
case $c in ''|.) ;; ..) out=${out%/*};; *)
if [ -L "$out/$c" ] && [ $n -lt 40 ]; then n=$((n+1)); t=$(readlink "$out/$c"; echo .); t=${t%??}; case $t in /*) out=;; esac; set -- $t "$@"
else out=$out/$c; fi;; esac; done; printf %s "${out:-/}"`

// Resolve gives the absolute path that a name means there.
func (f *files) Resolve(ctx context.Context, name string, dir environment.Path) (environment.Path, error) {
	assign := ""
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		name = path.Join(string(f.p.info.Home), name[1:])
	case isTilde(name):
		user, rest, _ := strings.Cut(name, "/")
		assign = "P=" + user + "; case $P in /*) P=$P/" + engine.Word(rest, false) + ";; *) P=" + engine.Word(path.Join("/", string(dir), name), false) + ";; esac; "
	case !strings.HasPrefix(name, "/"):
		name = string(dir) + "/" + name
	}
	if assign == "" {
		assign = "P=" + engine.Word(name, false) + "; "
	}
	out, err := f.ask(ctx, "resolve "+name, assign+follow, nil)
	return environment.Path(out), err
}

// Read gives n bytes from off. They are read as the reader takes them.
func (f *files) Read(ctx context.Context, p environment.Path, off, n int64) (io.ReadCloser, error) {
	if err := f.judge(ctx, p, environment.OpRead); err != nil {
		return nil, err
	}
	op := "read " + string(p)
	script := "P=" + quote(p) + `; [ -e "$P" ] || why "$P"; [ ! -d "$P" ] || isdir; [ -f "$P" ] || special; [ -r "$P" ] || denied; exec 4<"$P" || denied; echo ok; `
	from := fmt.Sprintf("tail -c +%d <&4", off+1)
	if off == 0 {
		from = "cat <&4"
	}
	switch {
	case n == 0:
		from = ":"
	case n > 0:
		from += fmt.Sprintf(" | head -c %d", n)
	}
	ctx, end, err := f.p.begin(ctx)
	if err != nil {
		return nil, err
	}
	ctx, hang := context.WithCancel(ctx)
	r, w := io.Pipe()
	s := &reading{r: r, hang: hang, done: make(chan struct{})}
	go func() {
		defer end()
		defer close(s.done)
		var errs bytes.Buffer
		exit, err := f.p.exec(ctx, "exec sh -c "+engine.Word(bootAll, false), strings.NewReader(words+script+from), w, &errs)
		if err != nil {
			err = broken(ctx, op, err)
		} else {
			err = failure(op, exit, errs.String())
		}
		_ = w.CloseWithError(err) // nil is the end
	}()
	head := make([]byte, len("ok\n"))
	if _, err := io.ReadFull(r, head); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// reading is a file that is being read.
type reading struct {
	r    *io.PipeReader
	hang context.CancelFunc
	done chan struct{}
}

func (s *reading) Read(b []byte) (int, error) { return s.r.Read(b) }

// Close ends reading; again it does nothing.
func (s *reading) Close() error {
	s.hang()
	_ = s.r.Close()
	<-s.done
	return nil
}

// put writes $P: to a file beside it that takes its place, or in place where a rename would break a link or can't be done. The content is
// what standard input has, N bytes. It prints how. What is written in place has to have room there: half of it would be left otherwise.
const put = `D=${P%/*}; [ -n "$D" ] || D=/
if [ ! -d "$D" ]; then [ ! -e "$D" ] || nodir; [ -n "$PARENTS" ] || absent; mkdir -p "$D" || why "$D"; echo dirs; fi
[ ! -d "$P" ] || isdir
if [ -e "$P" ]; then [ -f "$P" ] || special; [ -z "$EXCLUSIVE" ] || exists
if [ -n "$WAS" ]; then [ "$(stat -L -c '%s %d %i %Y %y' "$P")" = "$WAS" ] || changed; fi
else [ -z "$WAS" ] || changed; echo created; fi
T=$D/.hermes-$M
trap 'rm -f "$T" "$T.new"' EXIT
inplace=
if [ -e "$P" ]; then [ -w "$P" ] || { disk "$D"; [ -z "$__ro" ] || locked; denied; }
if [ "$(stat -L -c %h "$P")" != 1 ] || ! cp -p "$P" "$T" 2>/dev/null; then disk "$D"; rm -f "$T"
[ -z "$__room" ] || [ "$__room" -gt $(((N - $(wc -c <"$P")) / 1024)) ] || full
inplace=1; T=${TMPDIR:-/tmp}/.hermes-$M; fi; fi
(umask 077; cat >"$T.new") || why "$T" new
[ "$(wc -c <"$T.new" | tr -d ' ')" = "$N" ] || short
if [ -n "$inplace" ]; then cat "$T.new" >"$P" || why "$P"; echo inplace
elif [ -e "$P" ]; then cat "$T.new" >"$T" && mv -f "$T" "$P" || why "$P"
else
if [ -n "$MODE" ]; then chmod "$MODE" "$T.new"; else chmod "$(printf %o $((0666 & ~0$(umask))))" "$T.new"; fi
if [ -n "$EXCLUSIVE" ]; then ln "$T.new" "$P" 2>/dev/null || exists; else mv -f "$T.new" "$P" || why "$P" new; fi; fi
rm -f "$T" "$T.new"`

// Replace puts content in place of a file, whole or not at all.
func (f *files) Replace(ctx context.Context, p environment.Path, content io.Reader, o environment.ReplaceOptions) (environment.FileInfo, error) {
	var none environment.FileInfo
	if err := f.judge(ctx, p, environment.OpWrite); err != nil {
		return none, err
	}
	data, err := io.ReadAll(io.LimitReader(content, maxContent+1))
	if err != nil {
		return none, fmt.Errorf("the new content: %w", err)
	}
	if len(data) > maxContent {
		return none, fmt.Errorf("write %s: more than %d MiB can't be written through a plain shell", p, maxContent>>20)
	}
	real, err := f.Resolve(ctx, string(p), "/")
	if err != nil {
		return none, err
	}
	vars := fmt.Sprintf("export LC_ALL=C TZ=UTC0; P=%s; M=%s; N=%d; PARENTS=; EXCLUSIVE=; MODE=; WAS=; ", quote(real), newMark(), len(data))
	if o.Parents {
		vars += "PARENTS=1; "
	}
	if o.Exclusive {
		vars += "EXCLUSIVE=1; "
	}
	if o.Mode != 0 {
		vars += fmt.Sprintf("MODE=%o; ", o.Mode.Perm())
	}
	if o.Unchanged != nil {
		now, err := f.Stat(ctx, real)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return none, err
		}
		was := o.Unchanged
		if err != nil || !now.Same(*was) || now.Size != was.Size || !now.ModTime.Equal(was.ModTime) {
			return none, fmt.Errorf("write %s: %w", p, environment.ErrChanged)
		}
		vars += fmt.Sprintf(`WAS=$(stat -L -c '%%s %%d %%i %%Y %%y' "$P"); case $WAS in "%d %d %d "*) ;; *) changed;; esac; `, was.Size, was.Device, was.Inode)
	}
	out, err := f.ask(ctx, "write "+string(p), vars+put, data)
	if err != nil {
		return none, err
	}
	if o.Result != nil {
		for word := range strings.FieldsSeq(string(out)) {
			o.Result.Created = o.Result.Created || word == "created"
			o.Result.DirsCreated = o.Result.DirsCreated || word == "dirs"
			o.Result.InPlace = o.Result.InPlace || word == "inplace"
		}
	}
	i, err := f.Stat(ctx, real)
	i.Path = p
	return i, err
}

// Rename gives a file another name.
func (f *files) Rename(ctx context.Context, from, to environment.Path) error {
	if err := errors.Join(f.judge(ctx, from, environment.OpWrite), f.judge(ctx, to, environment.OpWrite)); err != nil {
		return err
	}
	_, err := f.ask(ctx, "rename "+string(from), "P="+quote(from)+"; Q="+quote(to)+`; [ -e "$P" ] || [ -L "$P" ] || why "$P"; [ ! -d "$Q" ] || [ -L "$Q" ] || exists; mv -f "$P" "$Q" || why "$Q" new`, nil)
	return err
}

// Remove removes a file or an empty directory.
func (f *files) Remove(ctx context.Context, p environment.Path) error {
	if err := f.judge(ctx, p, environment.OpWrite); err != nil {
		return err
	}
	_, err := f.ask(ctx, "remove "+string(p), "P="+quote(p)+`; [ -e "$P" ] || [ -L "$P" ] || why "$P"; if [ -d "$P" ] && [ ! -L "$P" ]; then rmdir "$P" 2>/dev/null || { [ -z "$(ls -A "$P")" ] || filled; why "$P"; }; else rm -f "$P" || why "$P"; fi`, nil)
	return err
}

// MkdirAll makes a directory and what is missing above it.
func (f *files) MkdirAll(ctx context.Context, p environment.Path, m fs.FileMode) error {
	if err := f.judge(ctx, p, environment.OpWrite); err != nil {
		return err
	}
	_, err := f.ask(ctx, "make the directory "+string(p), "P="+quote(p)+fmt.Sprintf(`; [ -d "$P" ] && exit 0; [ ! -e "$P" ] || nodir; mkdir -p "$P" || why "$P" new; chmod "$(printf %%o $((0%o & ~0$(umask))))" "$P"`, m.Perm()), nil)
	return err
}

// list prints the names of a directory with their types.
const list = `[ -d "$P" ] || { [ ! -e "$P" ] || nodir; why "$P"; }; [ -r "$P" ] || denied; cd "$P/" || denied
for e in * .*; do case $e in .|..) continue;; esac
if [ -L "$e" ]; then t=l; elif [ -d "$e" ]; then t=d; elif [ -f "$e" ]; then t=f; elif [ -p "$e" ]; then t=p; elif [ -S "$e" ]; then t=s; elif [ -c "$e" ]; then t=c; elif [ -b "$e" ]; then t=b; else continue; fi
printf '%s%s\0' "$t" "$e"; done`

// ReadDir lists a directory.
func (f *files) ReadDir(ctx context.Context, p environment.Path) ([]environment.DirEntry, error) {
	out, err := f.ask(ctx, "list "+string(p), "P="+quote(p)+"; "+list, nil)
	if err != nil {
		return nil, err
	}
	types := map[byte]fs.FileMode{'l': fs.ModeSymlink, 'd': fs.ModeDir, 'p': fs.ModeNamedPipe, 's': fs.ModeSocket, 'c': fs.ModeDevice | fs.ModeCharDevice, 'b': fs.ModeDevice}
	entries := []environment.DirEntry{}
	for e := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if len(e) > 1 {
			entries = append(entries, environment.DirEntry{Name: string(e[1:]), Type: types[e[0]]})
		}
	}
	slices.SortFunc(entries, func(a, b environment.DirEntry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}
