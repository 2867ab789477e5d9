package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// pythonScript prints the mean time of a listAllDomains in microseconds, as users of python3-libvirt see it.
const pythonScript = `import libvirt, sys, time
socket, want, n = sys.argv[1], int(sys.argv[2]), 50
c = libvirt.open('qemu+unix:///system?socket=' + socket)
t = time.perf_counter()
for _ in range(n):
    assert len(c.listAllDomains()) == want
print((time.perf_counter() - t) / n * 1e6)`

// python is the mean time of a listAllDomains through python3-libvirt, which is mostly spent in there.
func (s *apiSide) python(ctx context.Context) (float64, error) {
	out, err := exec.CommandContext(ctx, "/usr/bin/python3", "-c", pythonScript, s.socket(), strconv.Itoa(s.domains)).Output()
	if err != nil {
		return 0, fmt.Errorf("python3-libvirt: %w", pythonSaid(err))
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// pythonSaid is an error with the last line of what Python wrote, which names the exception.
func pythonSaid(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
	return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
}
