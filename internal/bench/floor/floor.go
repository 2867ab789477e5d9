// Package floor has the least that an appliance's first process can be: what it takes is what none can take less than. It is
// compiled where it is measured.
package floor

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"taproom/internal/appliance/proto"
)

//go:embed source/init.c
var source []byte

// ErrNoCompiler says that there is no gcc on the search path.
var ErrNoCompiler = errors.New("there is no gcc; `make setup-appliance` installs it")

// Build compiles it in a folder and returns its path: for the version of the protocol that this program speaks, since an answer in
// another one would be refused. Without gcc it is ErrNoCompiler.
func Build(ctx context.Context, dir string) (string, error) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		return "", ErrNoCompiler
	}
	from, to := filepath.Join(dir, "floor.c"), filepath.Join(dir, "floor")
	if err := os.WriteFile(from, source, 0o600); err != nil {
		return "", err
	}
	// Neither library nor runtime, nor what distributions' compilers add for those.
	c := exec.CommandContext(ctx, gcc, "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector",
		"-fcf-protection=none", "-s", "-DVERSION="+strconv.Itoa(proto.Version), "-o", to, from)
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile the least first process: %w: %s", err, out)
	}
	return to, nil
}
