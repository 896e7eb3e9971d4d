package registry

import "strings"

// Origin says where a registration came from. Whoever registers a tool states it; a tool can't claim one.
type Origin string

// The origins that are one of a kind; see PluginOrigin and ServerOrigin for the others.
const (
	Builtin  Origin = "builtin"
	Embedder Origin = "embedder"
)

const (
	pluginPrefix = "plugin:"
	serverPrefix = "mcp:"
)

// PluginOrigin is the origin of what a plugin registers.
func PluginOrigin(id string) Origin { return Origin(pluginPrefix + id) }

// ServerOrigin is the origin of the tools of an MCP server, by its name in the configuration.
func ServerOrigin(name string) Origin { return Origin(serverPrefix + name) }

// Plugin gives the id of the plugin, if it is one.
func (o Origin) Plugin() (string, bool) { return cut(o, pluginPrefix) }

// Server gives the name of the MCP server, if it is one.
func (o Origin) Server() (string, bool) { return cut(o, serverPrefix) }

func cut(o Origin, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(string(o), prefix)
	return rest, ok && rest != ""
}

// The stages in which tools arrive. Of two registrations of one name the one of the later stage is the later one, however long
// each took to get ready.
const (
	stageBuiltin = iota
	stageEmbedder
	stageServer
	stagePlugin
	stageUnknown
)

func (o Origin) stage() int {
	if o == Builtin {
		return stageBuiltin
	}
	if o == Embedder {
		return stageEmbedder
	}
	if _, ok := o.Server(); ok {
		return stageServer
	}
	if _, ok := o.Plugin(); ok {
		return stagePlugin
	}
	return stageUnknown
}

// foreign reports an origin outside the program, which needs leave to replace what the program brings.
func (o Origin) foreign() bool { return o.stage() >= stageServer }

// setOfServer is the set that the tools of an MCP server form.
func setOfServer(server string) string { return serverSetPrefix + server }
