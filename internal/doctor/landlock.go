package doctor

import (
	"context"
	"errors"
	"fmt"

	"taproom/internal/host"
)

// checkLandlock reports whether a guest's QEMU can be confined to its own files by the kernel.
func checkLandlock(_ context.Context, e Env) []Finding {
	ask := e.Landlock
	if ask == nil {
		ask = host.LandlockABI
	}
	abi, err := ask()
	var missing *host.Missing
	switch {
	case errors.As(err, &missing):
		return []Finding{{"landlock", Warning, missing.Error(), fmt.Sprintf("guests are still confined by user, seccomp and cgroup; for files too the kernel needs %s", missing.Config)}}
	case err != nil:
		return []Finding{{"landlock", Unknown, err.Error(), ""}}
	}
	return []Finding{{"landlock", OK, fmt.Sprintf("booted, version %d", abi), ""}}
}
