package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/engine/hook"
)

func TestHooksAreToldOfPortsThatClientsMake(t *testing.T) {
	t.Parallel()
	e, n, _ := withNetwork(t)
	if err := e.openMadePorts(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e.hooks = hook.Hooks{Kernel: e.k, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}}
	// A program that this process wrote may be open in whatever another test just starts, and is not run then.
	write := exec.Command("sh", "-c", "cat >network && chmod +x network")
	write.Dir = dir
	write.Stdin = strings.NewReader("#!/bin/sh\necho \"$@ $(grep -c '<networkport>')\" >>" + dir + "/told\n[ ! -e " + dir + "/refuse ]\n")
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const port = "<networkport><owner><name>mine</name><uuid>00000000-0000-4000-8000-000000000009</uuid></owner><mac address='52:54:00:00:00:05'/></networkport>"
	id, err := e.CreateNetworkPort(t.Context(), n.uuid, port, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "refuse"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateNetworkPort(t.Context(), n.uuid, port, 0); err == nil {
		t.Error("a port that the hook refuses is made")
	}
	if err := e.DeleteNetworkPort(t.Context(), n.uuid, id); err != nil {
		t.Errorf("a port that is gone asks nobody: %v", err)
	}
	if ports, err := e.NetworkPorts(n.uuid); err != nil || len(ports) > 0 {
		t.Errorf("there are ports %v, %v", ports, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "told"))
	if want := "lab port-created begin - 1\nlab port-created begin - 1\nlab port-deleted begin - 1\n"; err != nil || string(b) != want {
		t.Errorf("hooks were told %q, %v; want %q", strings.TrimSpace(string(b)), err, want)
	}
}
