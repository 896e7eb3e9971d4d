package local

import (
	"context"

	"github.com/hermes-runtime/hermes/environment"
)

var _ environment.Searcher = (*place)(nil)

// Search searches a tree of this machine.
func (p *place) Search(ctx context.Context, q environment.Query) (environment.Matches, error) {
	return p.search.Search(ctx, q)
}
