package disk_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"taproom/disk"
)

func TestAnApplianceHasTheNetworkThatWasAskedFor(t *testing.T) {
	t.Parallel()
	a, err := disk.Launch(t.Context(), disk.Spec{Network: &disk.Network{}, CacheDir: cacheDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	if l := a.Link(); l.Address != netip.MustParsePrefix("10.0.2.15/24") || l.Name == "" || len(l.MAC) != 6 {
		t.Errorf("its NIC: %+v", l)
	}
	var out, diagnostics bytes.Buffer
	err = a.Run(t.Context(), disk.Command{
		Args: []string{"sh", "-c", "cat /sys/class/net/*/address; cat; echo $A $PWD >&2; exit 3"}, Env: []string{"A=b"}, Dir: "/tmp",
		Stdin: strings.NewReader("input"), Stdout: &out, Stderr: &diagnostics,
	})
	if errors.Is(err, syscall.ENODEV) {
		t.Skip("the tools have not been made here: make appliance")
	}
	var failed *disk.ExitError
	if !errors.As(err, &failed) || failed.Status != 3 || failed.Error() != "sh failed with status 3" {
		t.Errorf("it ended with %v, want status 3", err)
	}
	if got := out.String(); !strings.Contains(got, a.Link().MAC.String()) || !strings.HasSuffix(got, "input") || diagnostics.String() != "b /tmp\n" {
		t.Errorf("it printed %q and %q", got, diagnostics.String())
	}
	if err := a.Run(t.Context(), disk.Command{Args: []string{"sh", "-c", "kill -TERM $$"}}); !errors.As(err, &failed) || failed.Signal != syscall.SIGTERM {
		t.Errorf("a program that was ended by a signal: %v", err)
	}
}
