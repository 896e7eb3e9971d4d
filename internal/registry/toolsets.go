package registry

import (
	"slices"
	"sync"
)

// This file is the table of what ships: which sets there are, what is in them, and the names they had before. Names of tools
// and sets stand here as literals because users write them into their configuration; the table may be ahead of the tools that
// are built, and a set resolves to those that are.

const (
	// presetPrefix and a platform's name make the name of the set that the platform gets unless it is configured.
	presetPrefix = "hermes-"
	// serverSetPrefix and an MCP server's name make the name of the set of its tools.
	serverSetPrefix = "mcp-"
	// noServers stands in a platform's list for: none of the MCP servers.
	noServers = "no_mcp"
	// everything is the name of all sets, beside the wildcard.
	everything = "all"
	// literalPlatform gets exactly what is listed for it: what strangers send must not reach what a server or plugin adds.
	literalPlatform = "webhook"
	// messagingSet is the union of the presets of platforms on which people write to the agent.
	messagingSet = "hermes-gateway"
	// coreSet is the preset that the preset of a plugin's platform starts from.
	coreSet = "hermes-cli"
)

// shippedSet is one row of the table. A leaf owns its tools; a composite only names tools and sets.
type shippedSet struct {
	name, description string
	leaf              bool
	tools, includes   []string
}

var browserTools = []string{
	"browser_navigate", "browser_snapshot", "browser_click", "browser_type", "browser_scroll",
	"browser_back", "browser_press", "browser_get_images", "browser_console", "browser_vision",
}

var fileTools = []string{"read_file", "write_file", "patch", "search_files"}

// codingLeaves are all shipped leaves but the two that some presets leave out: making images and asking the user.
var codingLeaves = []string{
	"terminal", "file", "code_execution", "web", "browser", "vision", "todo", "memory", "session_search", "delegation", "skills",
}

var shipped = []shippedSet{
	{name: "terminal", description: "Run commands and manage background processes", leaf: true, tools: []string{"terminal", "process"}},
	{name: "file", description: "Read, write, patch and search files", leaf: true, tools: fileTools},
	{name: "code_execution", description: "Run Python scripts that call tools", leaf: true, tools: []string{"execute_code"}},
	{name: "web", description: "Search the web and extract pages", leaf: true, tools: []string{"web_search", "web_extract"}},
	{name: "browser", description: "Drive a web browser", leaf: true, tools: browserTools},
	{name: "image_gen", description: "Make images", leaf: true, tools: []string{"image_generate"}},
	{name: "vision", description: "Look at images", leaf: true, tools: []string{"vision_analyze"}},
	{name: "todo", description: "Plan work and track it", leaf: true, tools: []string{"todo"}},
	{name: "memory", description: "Keep notes across sessions", leaf: true, tools: []string{"memory"}},
	{name: "session_search", description: "Recall earlier sessions", leaf: true, tools: []string{"session_search"}},
	{name: "delegation", description: "Hand work to child agents", leaf: true, tools: []string{"delegate_task"}},
	{name: "clarify", description: "Ask the user a question", leaf: true, tools: []string{"clarify"}},
	{name: "skills", description: "List and read skills", leaf: true, tools: []string{"skills_list", "skill_view"}},

	{name: "search", description: "Web search alone", tools: []string{"web_search"}},
	{name: "debugging", description: "Terminal, web and files", includes: []string{"terminal", "web", "file"}},
	{name: "safe", description: "Nothing that runs commands or touches files", includes: []string{"web", "vision", "image_gen"}},
	{name: "coding", description: "All that helps with code", includes: with(codingLeaves, "clarify")},

	{name: coreSet, description: "The command line's tools", includes: with(codingLeaves, "image_gen", "clarify")},
	{name: "hermes-telegram", description: "Telegram's tools", includes: with(codingLeaves, "image_gen", "clarify")},
	{name: "hermes-cron", description: "Tools of scheduled runs", includes: with(codingLeaves, "image_gen", "clarify")},
	{name: "hermes-acp", description: "Tools inside an editor", includes: codingLeaves},
	{name: "hermes-api-server", description: "Tools behind the HTTP API", includes: with(codingLeaves, "image_gen")},
	{name: "hermes-webhook", description: "Tools for text from strangers: none runs a command",
		tools: []string{"web_search", "web_extract", "vision_analyze", "clarify"}},
	{name: messagingSet, description: "What any messaging platform has", includes: []string{"hermes-telegram"}},
	{name: "hermes-mcp", description: "Tools served to MCP hosts",
		includes: []string{"terminal", "file", "code_execution", "web", "browser", "vision", "image_gen", "skills"}},
}

func with(base []string, more ...string) []string {
	return append(append([]string(nil), base...), more...)
}

// legacy maps the names that sets once had to the tools they stood for.
var legacy = map[string][]string{
	"web_tools":      {"web_search", "web_extract"},
	"terminal_tools": {"terminal"},
	"vision_tools":   {"vision_analyze"},
	"image_tools":    {"image_generate"},
	"skills_tools":   {"skills_list", "skill_view"},
	"browser_tools":  browserTools,
	"file_tools":     fileTools,
}

// reserved are the tools that the agent itself answers. Nobody but the embedder may put another in their place.
var reserved = []string{"todo", "memory", "session_search", "delegate_task", "clarify"}

// parental are the tools that child agents don't get, but that orchestrators may have children themselves.
var parental = []string{"clarify", "memory", "execute_code", delegating}

// delegating is the tool by which an agent has children.
const delegating = "delegate_task"

// Child are those of a session's tools that a child agent of it may have.
func Child(names []string, kind ChildKind) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return slices.Contains(parental, n) && (n != delegating || kind != Orchestrating)
	})
}

// ChildKind says what a child agent may do itself.
type ChildKind int

// The kinds of child.
const (
	Working ChildKind = iota
	Orchestrating
)

// shippedByName are the rows of the table.
var shippedByName = sync.OnceValue(func() map[string]*shippedSet {
	m := make(map[string]*shippedSet, len(shipped))
	for i := range shipped {
		m[shipped[i].name] = &shipped[i]
	}
	return m
})

// shippedTools are the names of all tools of the table, built or not.
var shippedTools = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, s := range shipped {
		for _, t := range s.tools {
			m[t] = true
		}
	}
	return m
})
