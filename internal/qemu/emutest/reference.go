package emutest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"taproom/internal/appliance/cache"
	"taproom/internal/appliance/kernel"
)

// bootWithin bounds a boot of the reference guest, and every wait where it does not boot.
const bootWithin = 10 * time.Minute

// reference is the meter of this process.
var reference = &meter{boot: bootReference}

// bootReference boots the distribution's kernel, which all guests of these tests have, and nothing else: it has no root file
// system, says so on its console, and resets, which ends QEMU. That is the shortest boot that a guest can take.
func bootReference(ctx context.Context) (time.Duration, error) {
	image, err := referenceKernel()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, bootWithin)
	defer cancel()
	c := exec.CommandContext(ctx, "qemu-system-x86_64",
		"-machine", "pc", "-accel", "tcg", "-cpu", "max", "-m", "256", "-smp", "1",
		"-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot", "-kernel", image,
		"-append", "quiet console=ttyS0 panic=-1 reboot=a tsc=reliable no_timer_check random.trust_cpu=on cryptomgr.notests mitigations=off")
	began := time.Now()
	console, err := c.CombinedOutput()
	took := time.Since(began)
	switch {
	case ctx.Err() != nil:
		return 0, errors.Join(ctx.Err(), err)
	case err != nil:
		return 0, fmt.Errorf("%w: %s", err, console)
	case !bytes.Contains(console, []byte("Unable to mount root fs")):
		return 0, fmt.Errorf("the kernel did not come to its root file system: %s", console)
	}
	return took, nil
}

// referenceKernel finds the distribution's kernel in the machine's cache, and fetches it where it is not there.
var referenceKernel = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bootWithin)
	defer cancel()
	c, err := cache.Open("")
	if err != nil {
		return "", err
	}
	unlock, err := c.Lock(ctx, func() {})
	if err != nil {
		return "", err
	}
	defer unlock()
	k, err := kernel.Ensure(ctx, c, func(string) {})
	return k.Image, err
})
