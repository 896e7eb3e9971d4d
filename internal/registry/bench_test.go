package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/tool"
)

// manySchema is as long and as deep as those of common servers.
const manySchema = `{"type":"object","properties":{"owner":{"type":"string","description":"Owner of the repository, a user or an organisation"},
"repo":{"type":"string","description":"Name of the repository"},"title":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}},
"state":{"type":"string","enum":["open","closed","all"],"default":"open"},"page":{"type":"integer","minimum":1},
"filter":{"type":"object","properties":{"since":{"type":"string","format":"date-time"},"assignee":{"type":["string","null"]}}}},
"required":["owner","repo"]}`

func many(b *testing.B, n int, opts ...func(*tool.Spec)) env {
	r := newRegistry(b, coreTable(), registry.Settings{MaxTools: -1})
	verbs := []string{"create", "list", "get", "delete", "update", "search", "merge", "close"}
	nouns := []string{"issue", "pull_request", "branch", "release", "workflow", "comment", "milestone", "project", "discussion", "tag"}
	c := registry.Change{Origin: registry.ServerOrigin("hub")}
	for i := range n - 28 {
		name := fmt.Sprintf("%s_%s_%d", verbs[i%8], nouns[i/8%10], i)
		t := made("mcp_hub_"+name, "", append(opts, func(s *tool.Spec) { s.Schema = json.RawMessage(manySchema) })...)
		c.Add = append(c.Add, registry.Addition{Tool: t, Remote: name})
	}
	if err := r.Apply(c); err != nil {
		b.Fatal(err)
	}
	return r
}

// PRF-3: 300 tools, all 300 of the shipped kind as well; warm with ten checks that are asked anew each time.
func BenchmarkDefinitions(b *testing.B) {
	ctx := context.Background()
	ask := func(b *testing.B, r env, req registry.Request) registry.Definitions {
		d, err := r.Definitions(ctx, req)
		if err != nil {
			b.Fatal(err)
		}
		return d
	}
	quiet := registry.Request{Platform: "cli", Quiet: true}
	b.Run("warm/300", func(b *testing.B) {
		r := many(b, 300)
		ask(b, r, quiet)
		b.ReportAllocs()
		for b.Loop() {
			ask(b, r, quiet)
		}
	})
	b.Run("warm/28 with 10 checks", func(b *testing.B) {
		r := newRegistry(b, coreTable(), registry.Settings{})
		for i := range 10 {
			r.add(b, registry.Embedder, made(fmt.Sprint("t", i), "x", checked(passing(fmt.Sprint(i)))))
		}
		all := registry.Request{Quiet: true}
		ask(b, r, all)
		b.ReportAllocs()
		for b.Loop() {
			ask(b, r, all)
		}
	})
	b.Run("miss/300", func(b *testing.B) { // schemas were rendered before, the memo has nothing
		r := many(b, 300)
		ask(b, r, quiet)
		i := 0
		for b.Loop() {
			i++
			ask(b, r, registry.Request{Platform: "cli", Quiet: true, Has: []tool.Need{tool.Need(fmt.Sprint(i))}})
		}
	})
	b.Run("cold/300", func(b *testing.B) { // a registry that never answered
		for b.Loop() {
			b.StopTimer()
			r := many(b, 300)
			b.StartTimer()
			ask(b, r, quiet)
		}
	})
	b.Run("marshal/300", func(b *testing.B) { // the bare equivalent
		var list []any
		if err := json.Unmarshal([]byte(ask(b, many(b, 300), quiet).Body), &list); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := json.Marshal(list); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// PRF-5: among 500 tools.
func BenchmarkRepair(b *testing.B) {
	r := many(b, 500)
	scope := r.Scope(registry.Request{})
	for _, name := range []string{"mcp_hub_list_branch_17", "ReadFile", "mcp_hub_lisst_branch_17", "no_such_thing_at_all"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Repair(name, scope)
			}
		})
	}
	b.Run("first of a generation", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			r.SetSettings(registry.Settings{})
			scope := r.Scope(registry.Request{})
			b.StartTimer()
			r.Repair("no_such_thing_at_all", scope)
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	r := many(b, 300)
	for b.Loop() {
		if _, ok := r.Lookup("read_file"); !ok {
			b.Fatal("gone")
		}
	}
}

// BenchmarkNew makes a registry of the shipped tools: part of every start of the program.
func BenchmarkNew(b *testing.B) {
	table := coreTable()
	b.ReportAllocs()
	for b.Loop() {
		registry.New(registry.Options{Table: table})
	}
}
