package model

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/provider"
)

// Convert fits a history to a model: what only the model that wrote it understands is left out, and the names of calls that no tool can
// have are written as the APIs take them, which refuse the whole history otherwise. Messages are not changed; the result is messages
// itself if there is nothing to fit.
func Convert(messages []provider.Message, to provider.Info) []provider.Message {
	foreign := func(m provider.Message) bool {
		return m.Opaque != nil && (m.Opaque.Provider != to.Provider || m.Opaque.Model != to.Model)
	}
	misnamed := func(c provider.Call) bool { return fitName(c.Name) != c.Name }
	if !slices.ContainsFunc(messages, func(m provider.Message) bool { return foreign(m) || slices.ContainsFunc(m.Calls, misnamed) }) {
		return messages
	}
	out := slices.Clone(messages)
	for i := range out {
		if foreign(out[i]) {
			out[i].Opaque = nil
		}
		if slices.ContainsFunc(out[i].Calls, misnamed) {
			out[i].Calls = slices.Clone(out[i].Calls)
			for j := range out[i].Calls {
				out[i].Calls[j].Name = fitName(out[i].Calls[j].Name)
			}
		}
	}
	return out
}

// maxName is how long the name of a tool may be.
const maxName = 64

// fitName makes of what a model called what could be the name of a tool. A name that could be one stays.
func fitName(name string) string {
	fit := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	return cmp.Or(fit[:min(len(fit), maxName)], "unknown")
}

// Estimate is about how many tokens a request has: a quarter of its characters.
func Estimate(r provider.Request) int {
	n := utf8.RuneCountInString(r.System) + utf8.RuneCountInString(r.Tools)
	for _, m := range r.Messages {
		n += utf8.RuneCountInString(m.Text) + 4*perMessage
		for _, c := range m.Calls {
			n += utf8.RuneCountInString(c.Name) + utf8.RuneCountInString(c.Arguments)
		}
		if m.Opaque != nil {
			n += len(m.Opaque.Data)
		}
	}
	return tokens(n)
}

// perMessage is about how many tokens the frame of a message has.
const perMessage = 4

func tokens(characters int) int { return (characters + 3) / 4 }
