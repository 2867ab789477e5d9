package clienttest

import (
	"path/filepath"
	"testing"
)

func TestAGuestLivesWithThePythonBindings(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.prepare()
	script, err := filepath.Abs("testdata/guest.py")
	if err != nil {
		t.Fatal(err)
	}
	out, code := c.run(c.command("/usr/bin/python3", script, c.daemon.URI()))
	if code != 0 {
		t.Fatalf("python3 (package python3-libvirt): exit %d: %s\nthe daemon said: %s", code, out, c.daemon.Said())
	}
	c.golden("guest.py.golden", c.normal(out))
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
