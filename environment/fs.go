package environment

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"
)

// FS is the file system of one environment. Errors match fs.ErrNotExist, fs.ErrExist and fs.ErrPermission where that is what
// happened, ErrChanged and ErrGuarded below, and otherwise say what failed on which path.
type FS interface {
	// Resolve gives the absolute path that name means from dir: ~ and ~user expanded, dot segments removed, symlinks of the
	// longest existing prefix followed. Nothing else is expanded. A dangling link resolves to its target.
	Resolve(ctx context.Context, name string, dir Path) (Path, error)
	// Stat follows links.
	Stat(ctx context.Context, p Path) (FileInfo, error)
	// Read gives n bytes from off; n < 0 means to the end. Only regular files can be read.
	Read(ctx context.Context, p Path, off, n int64) (io.ReadCloser, error)
	// Replace puts content in place of the file, whole or not at all. Missing parents are an error unless o.Parents.
	Replace(ctx context.Context, p Path, content io.Reader, o ReplaceOptions) (FileInfo, error)
	Rename(ctx context.Context, from, to Path) error
	Remove(ctx context.Context, p Path) error
	MkdirAll(ctx context.Context, p Path, mode fs.FileMode) error
	ReadDir(ctx context.Context, p Path) ([]DirEntry, error)
}

// FileInfo is what is known of a file.
type FileInfo struct {
	Path    Path
	Size    int64
	Mode    fs.FileMode
	UID     int
	GID     int
	ModTime time.Time // to the nanosecond where the place tells it
	Links   int       // hard link count
	Device  uint64    // with Inode the identity of the file
	Inode   uint64
}

// Same reports whether i and j are one file.
func (i FileInfo) Same(j FileInfo) bool { return i.Device == j.Device && i.Inode == j.Inode }

// DirEntry is one name in a directory.
type DirEntry struct {
	Name string
	Type fs.FileMode // type bits only
}

// ReplaceOptions says how a file is replaced.
type ReplaceOptions struct {
	Mode    fs.FileMode // of a new file; 0 = 0666 less umask. An existing file keeps its own
	Parents bool        // make missing directories
	// Unchanged, if not nil, is the file as it was read: if the present one differs in identity, size or time, nothing is
	// written and the error is ErrChanged.
	Unchanged *FileInfo
	Exclusive bool            // fail with fs.ErrExist if there is a file
	Result    *ReplaceOutcome `json:"-"` // if not nil, filled in
}

// ReplaceOutcome says how it was done.
type ReplaceOutcome struct {
	Created     bool
	DirsCreated bool
	InPlace     bool // written in place because a rename would have broken a link, a mount or an owner
}

// Errors of an FS beside those of package io/fs.
var (
	ErrChanged = errors.New("the file has changed")
	ErrGuarded = errors.New("the path is guarded")
)

// Searcher is the ability to search a tree where it lies.
type Searcher interface {
	Search(ctx context.Context, q Query) (Matches, error)
}

// Query is one search. Pattern is ripgrep's default syntax for contents, a glob for names.
type Query struct {
	Pattern    string
	Names      bool // search file names, not contents
	Root       Path
	Glob       string // "" = all files
	Limit      int    // 0 = all
	Offset     int
	Mode       SearchMode
	Context    int // lines before and after, at most 20
	MaxLine    int // characters of a line that are returned, around the match; 0 = 500
	CountLimit int // matches counted beyond the page; 0 = 20 000
	Timeout    time.Duration
	Skip       func(p Path) bool `json:"-"` // guarded files: neither matched nor named
}

// SearchMode says what is returned of a content search.
type SearchMode string

// The modes.
const (
	SearchContent SearchMode = "content"
	SearchFiles   SearchMode = "files_only"
	SearchCount   SearchMode = "count"
)

// Matches is the answer to a Query, in order of path, then line; names: newest first, then path.
type Matches struct {
	Matches    []Match
	Files      []Path
	Counts     []FileCount
	Total      int  // matches (content), files (files_only, count, names)
	TotalIsMin bool // counting stopped at CountLimit or at the time limit
	More       bool // there is more beyond this page
	TimedOut   bool
	Engine     string // ripgrep or builtin
	Unreadable int    // files that couldn't be read
	Ignored    int    // files that ignore rules kept out; counted only when nothing matched
}

// Match is one matching line.
type Match struct {
	Path      Path
	Line      int // 1-based
	Column    int // 1-based, in characters, of the first match in the line
	Text      string
	Truncated bool // Text is a window around the match
	Context   []ContextLine
}

// ContextLine is a line beside a match.
type ContextLine struct {
	Line int
	Text string
}

// FileCount is the number of matching lines in one file.
type FileCount struct {
	Path  Path
	Count int
}

// Guard decides whether an operation may touch a file. It is given the resolved path and, if the file exists, its identity as
// opened: check and use are one. A non-nil error refuses the operation, which has changed nothing by then.
type Guard func(p Path, i *FileInfo, o Operation) error

// Operation is what is about to be done to a file.
type Operation string

// The operations.
const (
	OpRead  Operation = "read"
	OpWrite Operation = "write" // replace, rename (both ends), remove, make a directory
)

// Guarder is the ability of an FS to have every operation judged at the moment of use.
type Guarder interface {
	Guarded(g Guard) FS
}
