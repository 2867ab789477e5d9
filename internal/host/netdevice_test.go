package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestADeviceOfSysfsIsWhatItsFilesSay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files []string
		kind  string
		want  NetDevice
	}{
		"a wired NIC":            {[]string{"device"}, "1\n", NetDevice{Ethernet: true, Device: true}},
		"Wi-Fi":                  {[]string{"device", "phy80211"}, "1\n", NetDevice{Ethernet: true, Wireless: true, Device: true}},
		"Wi-Fi of an old driver": {[]string{"wireless"}, "1\n", NetDevice{Ethernet: true, Wireless: true}},
		"the loopback":           {nil, "772\n", NetDevice{}},
		"a tunnel":               {nil, "65534\n", NetDevice{}},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "type"), []byte(c.kind), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, f := range c.files {
			if err := os.Mkdir(filepath.Join(dir, f), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := netDevice(dir); got != c.want || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}
