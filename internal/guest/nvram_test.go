package guest

import (
	"testing"

	"taproom/internal/spec"
)

// A guest that was renamed keeps its variables under its old name: who gets that name has others.
func TestVariablesOfAnotherGuestAreNotTaken(t *testing.T) {
	t.Parallel()
	const doc = `<domain type='qemu'><name>a</name><memory>32768</memory><os firmware='efi'><type machine='pc'>hvm</type></os><features><acpi/></features></domain>`
	for want, owner := range map[string]spec.UUID{
		"/var/lib/taproom/nvram/a_VARS.fd":                                    {0xff}, // its own
		"/var/lib/taproom/nvram/ff000000-0000-0000-0000-000000000000_VARS.fd": {0xee},
	} {
		f := pcHost()
		f.NVRAMTaken = func(path string, of spec.UUID) bool {
			return path == "/var/lib/taproom/nvram/a_VARS.fd" && of != owner
		}
		d := parse(t, []byte(doc))
		if err := Complete(d, f); err != nil || NVRAM(d) != want {
			t.Errorf("%s, %v; want %s", NVRAM(d), err, want)
		}
	}
}
