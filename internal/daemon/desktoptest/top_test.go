package desktoptest

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// envTop names a folder that virt-top was unpacked in, with all it needs.
const envTop = "TAPROOM_TOP"

func TestVirtTopCounts(t *testing.T) {
	t.Parallel()
	d := sit(t)
	dir := os.Getenv(envTop)
	if dir == "" {
		t.Skip("needs a virt-top that was unpacked beside: make desktop")
	}
	d.busy("busy.qcow2")
	d.install("--name", "busy", "--import", "--disk", filepath.Join(d.work, "images/busy.qcow2"), "--osinfo", "generic", "--network", "network=default")
	libraries := filepath.Join(dir, "usr/lib/x86_64-linux-gnu")
	d.do(filepath.Join(libraries, "ld-linux-x86-64.so.2"), "--library-path", libraries, filepath.Join(dir, "usr/bin/virt-top"),
		"-c", d.daemon.URI(), "--script", "-n", "4", "-d", "1", "--csv", filepath.Join(d.work, "top.csv"))
	f, err := os.Open(filepath.Join(d.work, "top.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%v, %v; want a head and four rows", rows, err)
	}
	last := map[string]string{}
	for i, name := range rows[0] {
		last[name] += "," + rows[4][i] // some names are there twice: of all guests, and of the first
	}
	for name, want := range map[string]string{"Count": ",1", "Running": ",1", "Domain name": ",busy", "Total memory (KB)": ",65536"} {
		if last[name] != want {
			t.Errorf("%s is %q, want %q", name, last[name], want)
		}
	}
	for _, name := range []string{"CPU (ns)", "%CPU"} {
		if strings.Trim(last[name], ",0.") == "" {
			t.Errorf("%s is %q of a guest that runs in a circle", name, last[name])
		}
	}
	d.end()
}
