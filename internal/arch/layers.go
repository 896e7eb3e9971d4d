// Package arch keeps the house in order: which package may import which, what third-party code is used where, and which names
// may stand as text. The tables here are the rules; the test holds the tree to them.
package arch

import "strings"

// Layer is how far up a package stands. A package imports from below.
type Layer int

// The layers.
const (
	Leaf     Layer = iota // no idea of tools
	Contract              // what modules implement
	Service               // one job each; they don't know each other
	Module                // tools, backends, channels: one folder each
	Engine                // the door and the loop
	Edge                  // what builds and serves everything
	Main                  // programs, generators, lists of what is linked in
)

// layers says where a package stands: the longest prefix of its path (relative to the module) counts.
var layers = map[string]Layer{
	"internal/config": Leaf, "internal/redact": Leaf, "internal/ansi": Leaf, "internal/keys": Leaf, "internal/textcap": Leaf, "internal/secret": Leaf, "internal/leaktest": Leaf,
	"internal/atomicfile": Leaf, "internal/event": Leaf, "internal/approval/analysis": Leaf, "internal/approval/payload": Leaf,
	"tool": Contract, "environment": Contract, "channel": Contract, "provider": Contract,
	"internal/registry": Service, "internal/approval": Service, "internal/engine": Service, "internal/session": Service,
	"internal/envs": Service, "internal/cloud": Service, "internal/process": Service, "internal/script": Service, "internal/store": Service, "internal/hook": Service,
	"internal/plugin": Service, "internal/mcp/client": Service, "internal/model": Service, "internal/skill": Service, "internal/delegation": Service, "internal/mirror": Service, "internal/memory": Service,
	"environment/envtest": Service, "tool/tooltest": Service, "provider/providertest": Service, // suites: they drive what implements the contract
	"toolset": Module, "backend": Module, "channel/terminal": Module,
	"provider/openai": Module, "provider/anthropic": Module, "provider/recorded": Module,
	"internal/dispatch": Engine, "internal/agent": Engine,
	"": Edge, "internal/runtime": Edge, "internal/cli": Edge, "internal/chat": Edge, "internal/observe": Edge, "internal/bench": Edge,
	"cmd": Main, "backend/all": Main, "toolset/all": Main, "channel/all": Main, "provider/all": Main, "internal/gen": Main, "internal/arch": Main,
	"internal/recipes": Main,
	"examples":         Main,
}

// mayImport says which layers a layer imports from.
var mayImport = map[Layer][]Layer{
	Leaf:     {Leaf},
	Contract: {Leaf, Contract},
	Service:  {Leaf, Contract}, // and its own sub-packages
	Module:   {Leaf, Contract, Service},
	Engine:   {Leaf, Contract, Service},
	Edge:     {Leaf, Contract, Service, Engine, Edge},
	Main:     {Leaf, Contract, Service, Module, Engine, Edge, Main},
}

// exceptions are single imports that the layers forbid and a reason allows.
var exceptions = map[[2]string]string{
	{"backend", "internal/engine"}:                    "the engine runs commands where it stands; backends bring it there",
	{"internal/cloud/sandbox", "internal/engine"}:     "all clouds' sandboxes get the engine in the same way",
	{"internal/script/scripttest", "internal/engine"}: "a suite needs a real place to run in",
}

// onlyBackends may be imported by no module but backends.
var onlyBackends = []string{"internal/engine"}

// thirdParty says which module may be imported below which paths. Test files may use test libraries everywhere.
var thirdParty = map[string][]string{
	"github.com/goccy/go-yaml":          {"internal/config", "toolset/file"},
	"mvdan.cc/sh/v3":                    {"internal/approval/analysis", "toolset/file"},
	"github.com/gofrs/flock":            {"internal/atomicfile", "internal/engine/files", "internal/engine/hold"},
	"github.com/google/jsonschema-go":   {"internal/registry", "tool"},
	"github.com/spf13/cobra":            {"internal/cli"},
	"github.com/spf13/pflag":            {"internal/cli"},
	"golang.org/x":                      {"internal", "backend", "channel", "toolset", "environment"},
	"github.com/bmatcuk/doublestar/v4":  {"internal/engine", "toolset/file"},
	"github.com/go-git/go-git/v5":       {"internal/engine/search"},
	"github.com/aymanbagabas/go-udiff":  {"toolset/file"},
	"github.com/BurntSushi/toml":        {"toolset/file", "backend/modal"},
	"github.com/kluctl/go-embed-python": {"internal/script/python"},
	"github.com/moby/moby":              {"backend/docker"},
	"github.com/containerd/errdefs":     {"backend/docker"},
	"github.com/docker/go-connections":  {"backend/docker"},
	"github.com/pkg/sftp":               {"backend/ssh"},
	"github.com/coder/websocket":        {"backend/daytona"},
	"github.com/modal-labs":             {"backend/modal"},
	"google.golang.org/grpc":            {"backend/modal"},
	"google.golang.org/protobuf":        {"backend/modal"},
	"github.com/creack/pty":             {"internal/engine"},
	"github.com/charmbracelet/x/vt":     {"internal/engine", "internal/chat"}, // of chat, the tests
	"modernc.org/sqlite":                {"internal/store"},
	"go.opentelemetry.io/otel":          {"internal/observe"},
	"go.opentelemetry.io/proto/otlp":    {"internal/observe"},
}

// testLibraries may be imported by test files and suites only.
var testLibraries = []string{
	"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "pgregory.net/rapid", "go.uber.org/goleak",
	"github.com/santhosh-tekuri/jsonschema/v6",
}

// suites are packages that are not test files and yet test.
var suites = []string{"environment/envtest", "tool/tooltest", "provider/providertest", "internal/script/scripttest", "internal/store/storetest", "internal/keys/keystest", "internal/leaktest", "internal/cloud/cloudtest"}

// names may stand as whole string literals in their own folder only.
var names = map[string][]string{
	"docker": {"backend/docker"}, "ssh": {"backend/ssh"}, "singularity": {"backend/singularity"}, "modal": {"backend/modal"},
	"daytona": {"backend/daytona"}, "vercel_sandbox": {"backend/vercel"}, "telegram": {"channel/telegram"},
	"execute_code": {"toolset/code"}, "read_file": {"toolset/file"}, "write_file": {"toolset/file"},
	"patch": {"toolset/file"}, "search_files": {"toolset/file"}, "web_search": {"toolset/web"}, "web_extract": {"toolset/web"},
	"openrouter": {"provider/openai"}, "delegate_task": {"toolset/delegate"}, "session_search": {"toolset/recall"},
}

// tables are the files in which the seeds fix names.
var tables = map[string]string{
	"internal/registry/toolsets.go":        "presets and legacy names",
	"internal/script/services.go":          "the name that hermes exec calls",
	"toolset/terminal/foreground.go":       "programs of these names in a shell",
	"internal/bench/files.go":              "the tools whose whole path is measured",
	"internal/approval/names.go":           "keys of lists that were written by older versions",
	"environment/bare.go":                  "what is measured of places, as people read it",
	"internal/approval/payload/clients.go": "programs of these names in a shell",
	"internal/approval/kinds.go":           "environments by name, to judge for one that this build lacks",
	"internal/bench/scripts.go":            "two of the seven names, for tools that only measure",
}

// tablesBelow are folders that hold such tables.
var tablesBelow = map[string]string{
	"internal/script/stub":       "the seven of execute_code",
	"internal/approval/analysis": "programs of these names in a shell",
	"internal/approval/rules":    "programs of these names in a shell",
	"internal/arch":              "this table",
}

func layerOf(pkg string) (Layer, bool) {
	for p := pkg; ; {
		if l, ok := layers[p]; ok && (p != "" || pkg == "") {
			return l, true
		}
		i := strings.LastIndexByte(p, '/')
		if i < 0 {
			return 0, false
		}
		p = p[:i]
	}
}

// within reports whether pkg is prefix or below it.
func within(pkg, prefix string) bool {
	return pkg == prefix || prefix == "" || strings.HasPrefix(pkg, prefix+"/")
}

// family is the folder that a package's own sub-packages share.
func family(pkg string) string {
	parts := strings.Split(pkg, "/")
	switch {
	case len(parts) > 3 && parts[0] == "internal" && parts[1] == "mcp":
		return strings.Join(parts[:3], "/")
	case len(parts) >= 2:
		return strings.Join(parts[:2], "/")
	}
	return pkg
}
