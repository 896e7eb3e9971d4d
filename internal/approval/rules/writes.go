package rules

import (
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// writer says which words of a program's call name what it writes. Lists are separated by spaces.
type writer struct {
	names  string // programs
	short  string // option letters that take a value
	long   string // long options that take a value
	values string // letters and long options whose value is written
	to     operand
	safe   string // option letters with which nothing is written
	spare  string // options, with their dashes, with which nothing is written
	only   string // options, with their dashes, without one of which nothing is written
	verb   string // the first operand, without which nothing is written; it is taken off
	more   func(*Act, *analysis.Args) []analysis.Word

	grammar                 analysis.Grammar // the lists, split
	named, spares, required []string
}

// operand says which operands are written.
type operand uint8

const (
	none   operand = iota
	every          // all
	last           // the last of two or more
	second         // those from the second on
	first          // the first
	here           // what the value names; without one, the working directory
)

// Directions of programs that write, from their manuals. A source is never one.
var writerTable = []writer{
	{names: "tee gtee", to: every},
	{names: "sponge", to: every},
	{names: "truncate gtruncate", short: "sr", long: "size reference", to: every},
	{names: "touch gtouch", short: "drt", long: "date reference", to: every},
	{names: "cp mv ln gcp gmv gln", short: "St", long: "suffix target-directory", more: copied},
	{names: "link", to: last},
	{names: "rsync", short: "efBTM", long: "rsh filter exclude include files-from rsync-path out-format exclude-from include-from port bwlimit " +
		"max-size min-size chmod chown suffix backup-dir temp-dir partial-dir link-dest compare-dest copy-dest log-file timeout password-file",
		safe: "n", spare: "--dry-run --list-only", more: sent},
	{names: "scp", short: "cDFiJloPSX", more: sent},
	{names: "ditto", to: last},
	{names: "install ginstall", short: "gmotS", long: "group mode owner suffix target-directory", more: installed},
	{names: "sed gsed", short: "efl", long: "expression file line-length", more: sedInPlace},
	{names: "perl ruby", short: "eEiImMFxrlC0", more: codeInPlace},
	{names: "gawk awk", short: "fFvi", long: "file field-separator assign include", more: awkInPlace},
	{names: "ed red ex", short: "pcStTuw", to: every},
	{names: "vi vim nvim nano pico micro emacs emacsclient joe jed mcedit kak hx helix code gedit kate sudoedit", short: "cSTuUwsiVT",
		long: "cmd eval load wait", to: every,
		safe: "RvM", spare: "--readonly --view --diff --list-extensions"},
	{names: "sd", short: "n", to: second, safe: "p", spare: "--preview"},
	{names: "yq", short: "o", only: "-i --inplace --in-place", to: second},
	{names: "crudini", only: "--set --del --merge", to: first},
	{names: "patch gpatch", short: "pidoBDFrVYzg", long: "strip input directory output reject-file fuzz prefix suffix", spare: "--dry-run --check -C",
		more: patched},
	{names: "sort gsort", short: "kStTo", long: "output key field-separator buffer-size temporary-directory", values: "o output"},
	{names: "shuf", short: "ino", long: "output input-range head-count", values: "o output"},
	{names: "uniq", short: "fsw", to: second},
	{names: "split gsplit", short: "abClntd", to: second},
	{names: "xxd", short: "cglos", to: second},
	{names: "tar gtar bsdtar star", more: extracted},
	{names: "unzip", short: "dxP", values: "d", to: here, safe: "lptvzZ"},
	{names: "7z 7za 7zr 7zz", more: sevenZip},
	{names: "unrar rar", verb: "x", to: last},
	{names: "cpio", short: "CDEFHIMORV", long: "directory format", values: "D directory",
		only: "-i -id -idm -idmv -idv -idu -idmu -iv -idum --extract", to: here, spare: "-t --list -it -itv"},
	{names: "unsquashfs", short: "dpf", long: "dest", values: "d dest", safe: "ls"},
	{names: "dpkg dpkg-deb", only: "-x -X --extract --vextract -R", to: last},
	{names: "gzip gunzip bzip2 bunzip2 xz unxz lzma", short: "S", to: every, safe: "ckltVd0", spare: "--stdout --keep --list --test --to-stdout"},
	{names: "dd dcfldd dc3dd", more: ddOutput},
	{names: "ddrescue dd_rescue", short: "bBcisorTQ", long: "size input-position", more: secondOnly},
	{names: "curl", short: "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
		long: "output output-dir dump-header data header cookie cookie-jar form user user-agent request url " +
			"referer upload-file max-time retry connect-timeout proxy cacert cert key data-binary data-raw trace trace-ascii stderr write-out config",
		values: "o output D dump-header c cookie-jar output-dir trace trace-ascii", more: savedHere},
	{names: "wget wget2", short: "oaetOTwQPUlADRXIBi",
		long: "output-document output-file directory-prefix append-output user-agent header post-data post-file " +
			"input-file tries timeout accept reject", values: "O output-document P directory-prefix o output-file a append-output", spare: "--spider",
		more: savedHere},
	{names: "aria2c", short: "doxsjikU", long: "dir out", values: "d dir o out"},
	{names: "axel", short: "nosHU", long: "output", values: "o output"},
	{names: "http https xh xhs", short: "osap", long: "output", values: "o output"},
	{names: "git", short: "Cc", long: "git-dir work-tree depth branch origin", more: cloned},
	{names: "docker podman kubectl oc", verb: "cp", to: last},
	{names: "gcc cc clang g++ c++ clang++ ld as rustc ghc gfortran tcc", short: "oIDLlxWfOmU", values: "o"},
	{names: "go", short: "o", values: "o"},
	{names: "openssl", more: opensslOutput},
	{names: "gpg gpg2", short: "oru", long: "output recipient local-user homedir", values: "o output"},
	{names: "age", short: "oriR", long: "output recipient identity", values: "o output"},
	{names: "ssh-keygen", short: "bCcDEFfIiJjKkLlMmNnOPpQRrSsTtVwWxYyZz", values: "f", safe: "lFBHLQYy"},
	{names: "find gfind", more: printed},
	{names: "zstd pzstd unzstd lz4 unlz4 lzop brotli pigz", short: "MTDo", long: "output", values: "o output", more: lz4Output},
	{names: "mbuffer", short: "ioIOsmbPpTRrHlD", values: "o"},
	{names: "nbdcopy xfs_copy partimage virt-sparsify virt-resize e2image xfs_mdrestore", short: "CbASTo", long: "connections flush allocation-extents", to: last},
	{names: "sg_dd ddpt sgp_dd sgm_dd", more: ddOutput},
	{names: "nandwrite", to: first},
	{names: "flashcp", to: last},
	{names: "asr", more: restoredTo},
	{names: "mtd", verb: "write", to: last},
	{names: "fsarchiver", verb: "restfs", more: restoredTo},
	{names: "rpi-imager", long: "sha256", only: "--cli", to: last},
	{names: "woeusb WoeUSB", only: "--device -d", to: last, more: afterDevice},
	{names: "livecd-iso-to-disk unetbootin isoimagewrite", to: last},
	{names: "Ventoy2Disk.sh", only: "-i -I -u", to: every},
	{names: "wodim cdrecord", more: ddDevice},
	{names: "mkisofs genisoimage xorrisofs", short: "oVApPmxM", values: "o"},
	{names: "qemu-img", verb: "convert", short: "fOoSTtlmB", to: last, more: ddOutput},
	{names: "pv", short: "o", long: "output", values: "o output"},
	{names: "strace ltrace tcpdump", short: "oweipPsEaSunrC", values: "o w"},
	{names: "script", short: "cBEIOTm", to: first},
	{names: "grub-mkconfig grub2-mkconfig", short: "o", long: "output", values: "o output"},
	{names: "socat", more: socatFiles},
	{names: "iconv", short: "fto", long: "output from-code to-code", values: "o output"},
	{names: "objcopy strip patchelf upx", short: "FIOjKNRo", long: "set-rpath set-interpreter replace-needed", to: last, more: soleOperand},
	{names: "setfattr", short: "nvx", to: every},
	{names: "pg_dump pg_dumpall mysqldump", short: "frhpUudFnt", long: "file result-file", values: "f r file result-file", more: nowhere},
	{names: "badblocks", short: "bcoptis", only: "-w -wsv -wv -ws -svw -vw -wvs -swv -wsvf", to: first},
	{names: "partclone.restore partclone.ext4 partclone.dd partclone.ntfs", short: "sooOL", long: "source output overwrite",
		values: "o O output overwrite"},
	{names: "ntfsclone", short: "oO", long: "output overwrite", values: "O overwrite"},
	{names: "bmaptool", verb: "copy", long: "bmap", to: last},
	{names: "shred gshred wipe scrub nwipe srm bcwipe", short: "nspQklX", long: "iterations size pattern random-source method rounds", to: every},
	{names: "Out-File out-file Set-Content set-content Add-Content add-content", to: first},
}

var writers = sync.OnceValue(func() map[string]*writer {
	byName := map[string]*writer{}
	for i := range writerTable {
		w := &writerTable[i]
		w.grammar = analysis.Grammar{Short: w.short, Long: strings.Fields(w.long), Brief: true}
		w.named, w.spares, w.required = strings.Fields(w.values), strings.Fields(w.spare), strings.Fields(w.only)
		for name := range strings.FieldsSeq(writerTable[i].names) {
			byName[name] = w
		}
	}
	return byName
})

// writing lists the programs that a row about written places looks at.
func writing() []string {
	var names []string
	for _, w := range writerTable {
		names = append(names, strings.Fields(w.names)...)
	}
	return names
}

// writes lists the operands, options and redirects of a command that it writes to.
func (a *Act) writes() []analysis.Word {
	out := slices.Grow([]analysis.Word(nil), len(a.Redirects))
	for _, r := range a.Redirects {
		if r.Write {
			out = append(out, r.Target)
		}
	}
	return append(out, a.written()...)
}

// written tells, by program, which words name what is written.
func (a *Act) written() []analysis.Word {
	w := writers()[a.Program]
	if w == nil || len(a.Words) == 0 {
		return nil
	}
	args := a.Args(w.grammar)
	if w.safe != "" && args.Has(w.safe) || w.spare != "" && a.option(w.spares, false) || w.only != "" && !a.option(w.required, false) {
		return nil
	}
	if w.verb != "" {
		if len(args.Operands) == 0 {
			return nil
		}
		if !args.Operands[0].Is(w.verb) {
			if w.more == nil {
				return nil
			}
			return w.more(a, args)
		}
		args.Operands = args.Operands[1:]
	}
	var out []analysis.Word
	for _, name := range w.named {
		out = append(out, args.Values[name]...)
	}
	if w.more != nil {
		out = append(out, w.more(a, args)...)
	}
	return append(out, w.to.of(args.Operands, len(out) > 0)...)
}

// of picks the operands that are written.
func (o operand) of(words []analysis.Word, named bool) []analysis.Word {
	switch n := len(words); {
	case o == here && !named:
		return []analysis.Word{{Text: "."}}
	case n == 0:
		return nil
	case o == every:
		return words
	case o == first:
		return words[:1]
	case o == last && n > 1:
		return words[n-1:]
	case o == second:
		return words[1:]
	}
	return nil
}

// places resolves what the command writes, once for all rows.
func (a *Act) places() []analysis.Target {
	return a.wrote.get(func() []analysis.Target {
		all := a.resolved(a.writes())
		switch a.Program {
		case "ln", "gln", "link", "mv", "gmv": // they take the place of a link, and write nothing where it leads
			all = slices.DeleteFunc(slices.Clone(all), func(t analysis.Target) bool { return t.Link })
		}
		return all
	})
}

// wroteTo keeps the written places that are wanted.
func (a *Act) wroteTo(want func(analysis.Target) bool) []analysis.Target {
	var out []analysis.Target
	for _, t := range a.places() {
		if want(t) {
			out = append(out, t)
		}
	}
	return out
}
