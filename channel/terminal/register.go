package terminal

import "github.com/hermes-runtime/hermes/channel"

func init() {
	channel.Register(channel.Descriptor{
		Name:        "terminal",
		Description: "The terminal that hermes was started at.",
		Local: func(o channel.LocalOptions) channel.Asker {
			if a := New(Options{In: o.In, Out: o.Out, Interrupt: o.Interrupt}); a.Available() {
				return a
			}
			return nil
		},
	})
}
