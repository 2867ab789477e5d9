package qemu

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatAnEmulatorNeedsFollowsFromWhereItLies(t *testing.T) {
	t.Parallel()
	for binary, want := range map[string]Installation{
		"/usr/bin/qemu-system-x86_64":       {Binary: "/usr/bin/qemu-system-x86_64"},
		"/usr/local/bin/qemu-system-x86_64": {Binary: "/usr/local/bin/qemu-system-x86_64"},
		"/opt/qemu/bin/qemu":                {Binary: "/opt/qemu/bin/qemu"},
		"/opt/new/usr/bin/qemu-system-x86_64": {
			Binary: "/opt/new/usr/bin/qemu-system-x86_64",
			Env: []string{
				"LD_LIBRARY_PATH=/opt/new/usr/lib/x86_64-linux-gnu:/opt/new/lib/x86_64-linux-gnu",
				"QEMU_MODULE_DIR=/opt/new/usr/lib/x86_64-linux-gnu/qemu",
			},
			Firmware: []string{"/opt/new/usr/share/qemu", "/opt/new/usr/share/seabios", "/opt/new/usr/lib/ipxe/qemu"},
		},
	} {
		if diff := cmp.Diff(want, Locate(binary)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", binary, diff)
		}
	}
}
