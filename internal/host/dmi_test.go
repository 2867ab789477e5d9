package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheFirmwaresNamesOfAMachineAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, value := range map[string]string{"bios_vendor": "ACME\n", "product_name": "Box 1 \n", "chassis_type": "1\n", "uevent": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"bios_vendor": "ACME", "product_name": "Box 1"}
	if diff := cmp.Diff(want, dmi(dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := dmi(filepath.Join(dir, "none")); len(got) != 0 {
		t.Errorf("a machine without SMBIOS has %v", got)
	}
}
