package payload

import "strings"

// Lang is a language whose programs the package reads.
type Lang string

// The languages.
const (
	Python      Lang = "python"
	JavaScript  Lang = "javascript"
	Ruby        Lang = "ruby"
	Perl        Lang = "perl"
	PHP         Lang = "php"
	PowerShell  Lang = "powershell"
	Lua         Lang = "lua"
	AppleScript Lang = "applescript"
	R           Lang = "r"
	Julia       Lang = "julia"
	Generic     Lang = "" // any other: only calls with literal arguments are known, by their names
)

// interpreters are the programs that run a language's text.
var interpreters = map[string]Lang{
	"python": Python, "python2": Python, "python3": Python, "pypy": Python, "pypy3": Python, "ipython": Python, "ipython3": Python, "micropython": Python,
	"node": JavaScript, "nodejs": JavaScript, "deno": JavaScript, "bun": JavaScript, "tsx": JavaScript, "ts-node": JavaScript, "qjs": JavaScript,
	"electron": JavaScript, "zx": JavaScript,
	"ruby": Ruby, "jruby": Ruby, "irb": Ruby, "truffleruby": Ruby, "perl": Perl, "php": PHP, "php-cli": PHP, "pwsh": PowerShell,
	"powershell": PowerShell, "lua": Lua, "luajit": Lua, "texlua": Lua,
	"osascript": AppleScript, "R": R, "Rscript": R, "r": R, "julia": Julia,
}

// LangOf tells which language the interpreter called program runs, Generic and false for one that has no reader. Its name is without
// version and extension.
func LangOf(program string) (Lang, bool) {
	l, ok := interpreters[program]
	return l, ok
}

// Unknown stands in a text for a part that only the run will show; a star, a question mark and an opening bracket of a file name
// pattern have marks of their own. They are the marks that folded words of the shell carry.
const (
	Unknown = "\x00u"
	anyName = "\x00*"
	anyChar = "\x00?"
	charSet = "\x00["
)

// Text is what an argument may be: one value, or one of several; each may hold marks. It is never empty.
type Text []string

// Known tells whether every value is literal, patterns of file names aside.
func (t Text) Known() bool {
	for _, v := range t {
		if !known(v) {
			return false
		}
	}
	return true
}

func known(v string) bool {
	for {
		i := strings.IndexByte(v, 0)
		if i < 0 {
			return true
		}
		if i+1 >= len(v) || strings.IndexByte("*?[", v[i+1]) < 0 {
			return false
		}
		v = v[i+2:]
	}
}

// Kind says what an act does.
type Kind uint8

// The kinds of acts, and what their arguments are.
const (
	Shell      Kind = iota // a shell reads Args[0]
	Exec                   // a program runs: Args is its argv
	Delete                 // single files go: Args are paths
	DeleteTree             // whole directories go: Args are paths
	Write                  // files are opened for writing: Args are paths
	Read                   // files are read: Args are paths
	Move                   // Args are source and destination
	Copy                   // Args are source and destination
	Link                   // Args are target and the new name
	Chmod                  // Args are the mode and paths
	Chown                  // Args are the owner and paths
	Truncate               // Args are paths
	Unpack                 // an archive is unpacked: Args are the archive and the directory
	Kill                   // Args are the signal and process ids
	Download               // Args are the address and the file
	Chdir                  // the working directory changes to Args[0]
	Fetch                  // a text that came from the network is run
	NetShell               // a socket is wired to a shell
	Bomb                   // the program multiplies itself
	Eval                   // a program text that isn't known is run
	Statement              // a database is given Args[0]
	Print                  // Args[0] goes to standard output
)

// Act is one thing that a program does to its surroundings.
type Act struct {
	Kind      Kind
	Call      string // as a person knows it: shutil.rmtree
	Args      []Text
	Dir       Text // the directory that a started program works in; nil: the program's own
	Stdin     Text // what a started program reads; nil: not said
	Recursive bool // Chmod and Chown: also what is below
	Start     int  // byte offsets in the scanned text; in a text inside it: of the call that carries it
	End       int
}

// Input is what may be known of the program's surroundings. The zero value knows nothing.
type Input struct {
	Home  string                         // home directory
	Args  []Text                         // the program's arguments
	Stdin Text                           // what the program reads; nil: not known
	Env   func(name string) (Text, bool) // environment variables; nil: none is known

	Program func(name string) bool // tells whether a name is that of a program that matters; nil: none is
}

// Limits of a scan. What is over one is taken as not known.
const (
	maxText    = 128 << 10 // bytes of program text
	maxFolded  = 512 << 10 // bytes that are put together
	maxTexts   = 64        // values of one text: as many as items of a loop are followed
	maxDepth   = 60        // expressions inside each other
	maxLevels  = 5         // program texts inside each other
	maxActs    = 2000
	maxTokens  = 64 << 10 // in all texts together
	maxDecoded = 64 << 10
)

// Scan lists what a program does, in the order of its text. Its time grows with the length of the text.
func Scan(lang Lang, text string, in Input) []Act {
	if len(text) > maxText {
		return []Act{{Kind: Eval, Call: "a program over 128 KiB", Args: []Text{{Unknown}}, End: len(text)}}
	}
	switch lang {
	case PowerShell:
		return scanPowerShell(text, in)
	case Generic:
		return scanGeneric(text, in)
	}
	l := languages()[lang]
	if l == nil {
		return nil
	}
	return l.scan(text, in)
}
