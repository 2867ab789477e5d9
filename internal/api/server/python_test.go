package server_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/server/servertest"
)

func TestPythonBindingsSeeWhatTheyAlwaysDid(t *testing.T) {
	t.Parallel()
	d := serve(t, servertest.New())
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "clients.py", d.Socket)
	cmd.Dir = "testdata"
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python3 (package python3-libvirt): %v\n%s", err, got)
	}
	const path = "testdata/clients.golden"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("python3-libvirt (-want +got):\n%s", diff)
	}
}
