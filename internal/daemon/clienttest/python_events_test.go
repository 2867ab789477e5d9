package clienttest

import (
	"path/filepath"
	"testing"
)

// python3-libvirt's event loop hears every kind of event over one connection, keeps it alive, and is told of its end.
func TestThePythonBindingsHearEveryKindOfEvent(t *testing.T) {
	t.Parallel()
	c := serve(t)
	script, err := filepath.Abs("testdata/events.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := c.command("/usr/bin/python3", script, c.daemon.URI())
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	tell := func(what string) {
		t.Helper()
		if _, err := stdin.Write([]byte(what + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	heard := c.listen(cmd)
	heard.until("that it listens", func(line string) bool { return len(line) > 10 && line[:10] == "listens to" })
	c.write("guest.xml", `<domain type='qemu'><name>guest</name><memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os><devices><memballoon model='virtio'/></devices></domain>`)
	c.write("net.xml", "<network><name>net</name><bridge name='virbr7'/></network>")
	c.write("pool.xml", c.fill("<pool type='dir'><name>pool</name><target><path>ROOT/work</path></target></pool>"))
	for _, command := range [][]string{
		{"define", "guest.xml"},
		{"start", "guest"},
		{"suspend", "guest"},
		{"resume", "guest"},
		{"desc", "guest", "what it is for", "--live"},
		{"reset", "guest"},
	} {
		c.do(command...)
	}
	heard.line("domain guest reboot") // which the guest's QEMU says in its own time
	for _, command := range [][]string{
		{"destroy", "guest"},
		{"undefine", "guest"},
		{"net-define", "net.xml"},
		{"net-start", "net"},
		{"net-destroy", "net"},
		{"net-undefine", "net"},
		{"pool-define", "pool.xml"},
		{"pool-build", "pool"},
		{"pool-start", "pool"},
		{"pool-refresh", "pool"},
		{"pool-destroy", "pool"},
		{"pool-undefine", "pool"},
	} {
		c.do(command...)
	}
	heard.line("pool pool 1 0") // undefined
	tell("fewer")
	heard.line("listens to fewer")
	c.do("define", "guest.xml")
	c.do("undefine", "guest")
	tell("cut")
	c.daemon.Kill()
	heard.line("is not alive")
	c.golden("events.py.golden", heard.rest())
}
