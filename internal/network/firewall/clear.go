package firewall

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/host/nft"
)

// Clear removes both tables, sound or not, and says whether there was one.
func (f *Firewall) Clear(ctx context.Context) (bool, error) {
	found := false
	for _, t := range f.tables() {
		if _, err := f.nft.Layout(ctx, t.family, t.name); errors.Is(err, nft.ErrNoTable) {
			continue
		} else if err != nil {
			return found, fmt.Errorf("look at the firewall: %w", err)
		}
		found = true
		x := &nft.Transaction{}
		x.Delete(t.object())
		if err := f.nft.Commit(ctx, x); err != nil {
			return found, fmt.Errorf("remove table %s: %w", t.name, err)
		}
	}
	return found, nil
}
