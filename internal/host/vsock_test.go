package host_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

// openVsock opens the device, or skips the test where the kernel has none.
func openVsock(t *testing.T, k *host.Kernel) *os.File {
	t.Helper()
	f, err := k.OpenFile("/dev/vhost-vsock", os.O_RDWR, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
		err = &host.Missing{What: "vhost-vsock", Config: "CONFIG_VHOST_VSOCK and its module", Err: err}
	}
	hosttest.Needs(t, err, hosttest.Lift{Module: "vhost_vsock"})
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Needs the real device.
func TestACIDIsClaimedByOneDescriptorUntilThatIsClosed(t *testing.T) {
	k := host.New(host.Options{})
	defer k.Close()
	first, second := openVsock(t, k), openVsock(t, k)
	const cid = 1_700_000_123 // that no guest of this host has
	if err := k.ClaimCID(first, cid); err != nil {
		t.Fatal(err)
	}
	if err := k.ClaimCID(second, cid); !errors.Is(err, unix.EADDRINUSE) {
		t.Fatalf("a second descriptor: %v, want EADDRINUSE", err)
	}
	if err := k.ClaimCID(first, cid); err != nil { // as QEMU does with the descriptor that it gets
		t.Errorf("the same descriptor again: %v", err)
	}
	if err := k.ClaimCID(second, 2); !errors.Is(err, unix.EINVAL) {
		t.Errorf("the host's own number: %v, want EINVAL", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := k.ClaimCID(second, cid); err != nil {
		t.Errorf("when the first is closed: %v", err)
	}
}

func TestAFileThatIsNoVsockHasNoCIDs(t *testing.T) {
	t.Parallel()
	k := host.New(host.Options{})
	defer k.Close()
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := k.ClaimCID(f, 3); !errors.Is(err, unix.ENOTTY) {
		t.Errorf("got %v, want ENOTTY", err)
	}
}
