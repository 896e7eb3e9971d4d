package model

import (
	"slices"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/provider"
)

// Convert fits a history to a model: what only the model that wrote it understands is left out. Messages are not changed; the result is
// messages itself if there is nothing to leave out.
func Convert(messages []provider.Message, to provider.Info) []provider.Message {
	foreign := func(m provider.Message) bool {
		return m.Opaque != nil && (m.Opaque.Provider != to.Provider || m.Opaque.Model != to.Model)
	}
	if !slices.ContainsFunc(messages, foreign) {
		return messages
	}
	out := slices.Clone(messages)
	for i := range out {
		if foreign(out[i]) {
			out[i].Opaque = nil
		}
	}
	return out
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
