package stub

import "slices"

// Function is one function of the module: a tool as a script calls it.
type Function struct {
	Name   string
	Params []Param
	Result string // name of the TypedDict that types it
	Doc    string // what a script gets
	Keys   string // keys of a successful result, for hints
}

// Param is one parameter. Default is Python source; "" means that it must be given.
type Param struct {
	Name    string
	Default string
	Type    string // Python annotation
}

// Functions are the tools that scripts may call, in the order in which they are named to a model. The set is closed: whatever
// else a session offers can't be reached from a script.
var Functions = []Function{
	{
		Name: "web_search", Result: "WebSearchResult", Keys: "data",
		Params: []Param{{"query", "", "str"}, {"limit", "5", "Optional[int]"}},
		Doc:    `data["web"]: list of {title, url, description, position}`,
	},
	{
		Name: "web_extract", Result: "WebExtractResult", Keys: "results",
		Params: []Param{{"urls", "", "Sequence[str]"}},
		Doc:    `results: list of {url, title, content}; one that failed has its own error`,
	},
	{
		Name: "read_file", Result: "ReadFileResult", Keys: "content, total_lines, file_size, truncated",
		Params: []Param{{"path", "", "StrPath"}, {"offset", "1", "Optional[int]"}, {"limit", "None", "Optional[int]"}},
		Doc:    `content: the text itself, without line numbers, whole unless limit is given; total_lines, file_size, truncated`,
	},
	{
		Name: "write_file", Result: "WriteFileResult", Keys: "bytes_written, resolved_path, files_modified",
		Params: []Param{{"path", "", "StrPath"}, {"content", "", "str"}, {"cross_profile", "False", "bool"}},
		Doc:    `bytes_written, resolved_path, files_modified`,
	},
	{
		Name: "search_files", Result: "SearchFilesResult", Keys: "matches, total_count, truncated",
		Params: []Param{
			{"pattern", "", "str"}, {"target", `"content"`, "str"}, {"path", `"."`, "StrPath"}, {"file_glob", "None", "Optional[str]"},
			{"limit", "50", "Optional[int]"}, {"offset", "0", "Optional[int]"}, {"output_mode", `"content"`, "str"}, {"context", "0", "Optional[int]"},
		},
		Doc: `matches: list of {path, line, content}; target="files": matches of {path}, and files; total_count, truncated; limit=None: all`,
	},
	{
		Name: "patch", Result: "PatchResult", Keys: "success, diff, files_modified",
		Params: []Param{
			{"path", "None", "Optional[StrPath]"}, {"old_string", "None", "Optional[str]"}, {"new_string", "None", "Optional[str]"},
			{"replace_all", "False", "bool"}, {"mode", `"replace"`, "str"}, {"patch", "None", "Optional[str]"}, {"cross_profile", "False", "bool"},
		},
		Doc: `success, diff, files_modified`,
	},
	{
		Name: "terminal", Result: "TerminalResult", Keys: "output, exit_code",
		Params: []Param{{"command", "", "str"}, {"timeout", "None", "Optional[int]"}, {"workdir", "None", "Optional[StrPath]"}},
		Doc:    `output, exit_code; foreground only`,
	},
}

// TerminalOnly are the parameters of terminal that have no meaning in a script: each starts or serves something that outlives
// the call. They are refused by name, whatever their value.
var TerminalOnly = []string{"background", "pty", "notify_on_complete", "watch_patterns", "keep_stdin", "persist"}

// Never are tools that a model may have and a script never gets; the reason stands in the error of an import.
var Never = []string{"execute_code", "delegate_task"}

// Helpers are the names beside the tools, with their signatures as a model is told them.
var Helpers = []string{
	"json_parse(text)", "shell_quote(s)", "retry(fn, max_attempts=3, delay=2)", "check(result)", "raise_errors()",
}

// Lookup finds the function of a tool.
func Lookup(name string) (Function, bool) {
	for _, f := range Functions {
		if f.Name == name {
			return f, true
		}
	}
	return Function{}, false
}

// Signature is the call as Python writes it.
func (f Function) Signature() string {
	s := f.Name + "("
	for i, p := range f.Params {
		if i > 0 {
			s += ", "
		}
		s += p.Name
		if p.Default != "" {
			s += "=" + p.Default
		}
	}
	return s + ")"
}

// Compare tells how a tool's declared parameters (a JSON Schema object) differ from those of its function, a line for each: what
// is declared must be in the function, but for TerminalOnly, and the other way round.
func Compare(name string, schema map[string]any) []string {
	f, ok := Lookup(name)
	if !ok {
		return []string{name + " is no function of a script"}
	}
	declared, _ := schema["properties"].(map[string]any)
	var out []string
	for _, p := range f.Params {
		if _, ok := declared[p.Name]; !ok {
			out = append(out, name+": "+p.Name+" is in the function and not declared")
		}
	}
	for p := range declared {
		known := slices.ContainsFunc(f.Params, func(q Param) bool { return q.Name == p }) || slices.Contains(TerminalOnly, p)
		if !known {
			out = append(out, name+": "+p+" is declared and not in the function")
		}
	}
	slices.Sort(out)
	return out
}
