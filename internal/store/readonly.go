package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
)

// openRead opens a file that can't be opened to be written, which is why, to be read alone. Nothing is made beside it.
func openRead(ctx context.Context, o Options, why error) (*Database, error) {
	f, err := os.Open(o.File)
	if err != nil {
		return nil, why
	}
	if err := errors.Join(isDatabase(f), f.Close()); err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	ways := []url.Values{{"mode": {"ro"}}}
	if info, err := os.Stat(o.File + "-wal"); err != nil || info.Size() == 0 { // nothing is written that the file doesn't hold
		ways = append(ways, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	}
	for _, way := range ways {
		way.Set("_pragma", "query_only(1)")
		db, err := connect(o.File, way)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(readers)
		d := &Database{options: o, writer: db, reader: db, refuses: why}
		version, err := d.version(ctx, db)
		if err == nil && version >= len(migrations) {
			return d, nil
		}
		_ = d.Close()
	}
	return nil, why
}
