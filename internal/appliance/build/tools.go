package build

import (
	"context"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/toolbox"
)

// Tools makes the disk of tools where there is none of the current packages, and returns its path. Ensure finds it from then on.
func Tools(ctx context.Context, o Options) (string, error) {
	c, err := cache.Open(o.CacheDir)
	if err != nil {
		return "", err
	}
	return toolbox.Make(ctx, c, toolbox.Options{Force: o.Force, Progress: o.Progress})
}
