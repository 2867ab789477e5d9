package doctor_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/doctor"
)

// bus starts a system bus of its own on the socket that the doctor looks at.
func bus(t *testing.T, root string) {
	t.Helper()
	socket := put(t, filepath.Join(root, "run/dbus/system_bus_socket"))
	conf := filepath.Join(root, "bus.conf")
	text := fmt.Sprintf(`<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path=%s</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/><allow send_type="signal"/><allow send_requested_reply="true" send_type="method_return"/><allow send_requested_reply="true" send_type="error"/><allow receive_type="method_call"/><allow receive_type="signal"/><allow receive_requested_reply="true" receive_type="method_return"/></policy></busconfig>`, socket)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("dbus-daemon", "--config-file="+conf, "--nofork", "--nopidfile", "--print-address")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	})
	if _, err := out.Read(make([]byte, 256)); err != nil { // it prints its address when it listens
		t.Fatal(err)
	}
}

func TestFirewalldIsFoundByItsNameOnTheBus(t *testing.T) {
	t.Parallel()
	_, e := env(t)
	bus(t, e.Root)
	if f := one(t, doctor.Run(context.Background(), e), "firewalld"); f.Status != doctor.OK || !strings.Contains(f.Evidence, "nobody owns") {
		t.Errorf("without firewalld: %+v", f)
	}
	owner := exec.Command("python3", "-c", `
import socket, struct, sys, os, binascii
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
s.sendall(b"\0AUTH EXTERNAL " + binascii.hexlify(str(os.getuid()).encode()) + b"\r\n"); s.recv(100); s.sendall(b"BEGIN\r\n")
def call(serial, member, body=b"", sig=None):
    f = b""
    def field(code, t, v):
        nonlocal f
        f += b"\0" * (-len(f) % 8) + bytes([code, 1]) + t + b"\0"
        f += (bytes([len(v)]) + v + b"\0") if t == b"g" else struct.pack("<I", len(v)) + v + b"\0"
    field(1, b"o", b"/org/freedesktop/DBus"); field(2, b"s", b"org.freedesktop.DBus"); field(3, b"s", member); field(6, b"s", b"org.freedesktop.DBus")
    if sig: field(8, b"g", sig)
    m = b"l\1\0\1" + struct.pack("<III", len(body), serial, len(f)) + f
    s.sendall(m + b"\0" * (-len(m) % 8) + body)
call(1, b"Hello")
n = b"org.fedoraproject.FirewallD1"
call(2, b"RequestName", struct.pack("<I", len(n)) + n + b"\0" + b"\0" * (-(4 + len(n) + 1) % 4) + struct.pack("<I", 0), b"su")
got = b""
while b"NameAcquired" not in got: got += s.recv(4096)
print("owned", flush=True); sys.stdin.read()
`, filepath.Join(e.Root, "run/dbus/system_bus_socket"))
	stdin, err := owner.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if f := one(t, doctor.Run(context.Background(), e), "firewalld"); f.Status != doctor.Warning || !strings.Contains(f.Remedy, "firewall-cmd") {
		t.Errorf("with firewalld: %+v", f)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := owner.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestABusThatTalksNonsenseIsUnknown(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{"REJECTED EXTERNAL\r\n", "OK 1\r\nBxxxxxxxxxxxxxxxxxxxxx", "OK 1\r\nl\x02\x00\x01\xff\xff\xff\x7f\x01\x00\x00\x00\x00\x00\x00\x00", "OK 1\r\n", ""} {
		_, e := env(t)
		l := listen(t, filepath.Join(e.Root, "run/dbus/system_bus_socket"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte(reply))
			_, _ = c.Read(make([]byte, 4096))
		}()
		if f := one(t, doctor.Run(context.Background(), e), "firewalld"); f.Status != doctor.Unknown {
			t.Errorf("reply %q gave %+v", reply, f)
		}
		<-done
	}
}
