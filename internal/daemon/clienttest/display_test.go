package clienttest

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // SPICE's ticket is encrypted with OAEP over SHA-1 (RFC 8017's default)
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taproom/internal/qemu/emutest"
)

// dial connects to a port in the daemon's network namespace.
func (c *clients) dial(address string) net.Conn {
	c.t.Helper()
	var conn net.Conn
	var err error
	c.daemon.NS.Do(func() { conn, err = net.Dial("tcp", address) })
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(emutest.Patience()))
	return conn
}

// spiceLogin opens SPICE's main channel with a password and returns what the server says of it: 0 is welcome, 7 is not
// allowed (spice-protocol, SpiceLinkErr).
func spiceLogin(conn net.Conn, password string) (uint32, error) {
	var hello bytes.Buffer
	mess := struct {
		Connection             uint32
		Channel, ID            uint8
		Common, Caps, CapsFrom uint32
	}{Channel: 1, CapsFrom: 18}
	_, _ = hello.WriteString("REDQ")
	for _, v := range []any{uint32(2), uint32(2), uint32(18), mess} {
		if err := binary.Write(&hello, binary.LittleEndian, v); err != nil {
			return 0, err
		}
	}
	if _, err := conn.Write(hello.Bytes()); err != nil {
		return 0, err
	}
	head := make([]byte, 16)
	if _, err := io.ReadFull(conn, head); err != nil || string(head[:4]) != "REDQ" {
		return 0, fmt.Errorf("no SPICE server: %q, %w", head, err)
	}
	reply := make([]byte, binary.LittleEndian.Uint32(head[12:]))
	if _, err := io.ReadFull(conn, reply); err != nil {
		return 0, err
	}
	const keySize = 162
	key, err := x509.ParsePKIXPublicKey(reply[4 : 4+keySize])
	if err != nil {
		return 0, err
	}
	ticket, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, key.(*rsa.PublicKey), append([]byte(password), 0), nil) //nolint:gosec // see the import
	if err != nil {
		return 0, err
	}
	if _, err := conn.Write(ticket); err != nil {
		return 0, err
	}
	var result uint32
	return result, binary.Read(conn, binary.LittleEndian, &result)
}

const displayGuest = `<domain type='qemu'><name>guest</name><uuid>00000000-0000-4000-8000-00000000000a</uuid><memory unit='MiB'>32</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <graphics type='spice' autoport='yes' passwd='secret word'%s/>
    <graphics type='vnc'><listen type='socket'/></graphics>
    <channel type='spicevmc'><target type='virtio' name='com.redhat.spice.0'/></channel>
    <video><model type='qxl'/></video>
    <sound model='ich6'/>
    <redirdev bus='usb' type='spicevmc'/>
  </devices></domain>`

// Who has the password of a SPICE server gets in, as long as it is valid; VNC is on a socket that root alone may open.
func TestDisplaysOfAGuest(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("guest.xml", fmt.Sprintf(displayGuest, ""))
	c.do("define", "guest.xml")
	c.do("start", "guest", "--paused")
	socket := filepath.Join(c.daemon.Paths().Guest("00000000-0000-4000-8000-00000000000a"), "display/vnc.sock")
	doc := c.do("dumpxml", "guest")
	for _, want := range []string{
		"<graphics type='spice' port='5900' autoport='yes' listen='127.0.0.1'>",
		"<graphics type='vnc' socket='" + socket + "'>", "<audio id='1' type='spice'/>",
		"<redirdev bus='usb' type='spicevmc'>", "<channel type='spicevmc'>",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("no %s in:\n%s", want, doc)
		}
	}
	if strings.Contains(doc, "secret") || !strings.Contains(c.do("dumpxml", "guest", "--security-info"), "passwd='secret word'") {
		t.Errorf("the password is not shown to those who ask for it alone")
	}
	if got, want := c.do("domdisplay", "guest", "--all"), "vnc+unix:///"+strings.TrimPrefix(socket, "/")+"\nspice://127.0.0.1:5900\n\n"; got != want {
		t.Errorf("domdisplay: %q, want %q", got, want)
	}
	for password, want := range map[string]uint32{"secret word": 0, "secret": 7} {
		if got, err := spiceLogin(c.dial("127.0.0.1:5900"), password); err != nil || got != want {
			t.Errorf("SPICE with %q: %d, %v; want %d", password, got, err, want)
		}
	}
	vnc, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer vnc.Close()
	greeting := make([]byte, 12)
	if _, err := io.ReadFull(vnc, greeting); err != nil || !strings.HasPrefix(string(greeting), "RFB 003.") {
		t.Errorf("VNC says %q, %v", greeting, err)
	}
	if st, err := os.Stat(socket); err != nil || st.Mode().Perm()&0o077 != 0 {
		t.Errorf("the VNC socket has mode %v, %v", st.Mode(), err)
	}
	if out, err := os.ReadFile(fmt.Sprintf("/proc/%s/cmdline", c.qemuPID())); err != nil || bytes.Contains(out, []byte("secret")) {
		t.Errorf("the command line has the password in it (%v)", err)
	}
	c.restart("kill")
	if again := c.do("dumpxml", "guest"); again != doc {
		t.Errorf("the next daemon shows another document:\n%s\nbefore:\n%s", again, doc)
	}
	c.write("new.xml", "<graphics type='spice' autoport='yes' passwd='another' connected='disconnect'/>")
	c.do("update-device", "guest", "new.xml", "--live")
	for password, want := range map[string]uint32{"another": 0, "secret word": 7} {
		if got, err := spiceLogin(c.dial("127.0.0.1:5900"), password); err != nil || got != want {
			t.Errorf("SPICE with %q after update-device: %d, %v; want %d", password, got, err, want)
		}
	}
	c.do("destroy", "guest")

	// A password that has ended lets nobody in.
	c.write("guest.xml", fmt.Sprintf(displayGuest, " passwdValidTo='2020-01-01T00:00:00'"))
	c.do("define", "guest.xml")
	c.do("start", "guest", "--paused")
	if got, err := spiceLogin(c.dial("127.0.0.1:5900"), "secret word"); err != nil || got != 7 {
		t.Errorf("SPICE with a password that ended: %d, %v", got, err)
	}
	c.do("destroy", "guest")
	c.do("undefine", "guest")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// qemuPID is the process of the only guest.
func (c *clients) qemuPID() string {
	c.t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.daemon.Root, "run/taproom/guests/*/pid"))
	if err != nil || len(paths) != 1 {
		c.t.Fatalf("pid files: %q, %v", paths, err)
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		c.t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscanf(string(b), `{"pid":%d`, &pid); err != nil {
		c.t.Fatalf("%s: %v", b, err)
	}
	return fmt.Sprint(pid)
}

// A display that listens on a network is on the address that the host has there, and a websocket beside it has a port.
func TestADisplayListensOnANetwork(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("net.xml", "<network><name>lab</name><bridge name='displays0'/><ip address='192.168.150.1' prefix='24'/></network>")
	c.write("guest.xml", `<domain type='qemu'><name>guest</name><memory unit='MiB'>32</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <graphics type='vnc' websocket='-1'><listen type='network' network='lab'/></graphics>
    <graphics type='spice' autoport='yes'/>
    <video><model type='vga'/></video>
  </devices></domain>`)
	c.do("define", "guest.xml")
	out, code := c.run(c.virsh("start", "guest"))
	if code != 1 || !strings.Contains(out, "no network with matching name 'lab'") {
		t.Errorf("start without the network: exit %d: %s", code, out)
	}
	c.do("net-define", "net.xml")
	c.do("net-start", "lab")
	c.do("start", "guest", "--paused")
	doc := c.do("dumpxml", "guest")
	for _, want := range []string{
		"<graphics type='vnc' port='5900' autoport='yes' websocket='5700' listen='192.168.150.1'>",
		"<listen type='network' address='192.168.150.1' network='lab'/>",
		"<graphics type='spice' port='5901' autoport='yes' listen='127.0.0.1'>",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("no %s in:\n%s", want, doc)
		}
	}
	if got := c.do("vncdisplay", "guest"); got != "192.168.150.1:0\n\n" {
		t.Errorf("vncdisplay: %q", got)
	}
	greeting := make([]byte, 4)
	if _, err := io.ReadFull(c.dial("192.168.150.1:5900"), greeting); err != nil || string(greeting) != "RFB " {
		t.Errorf("VNC says %q, %v", greeting, err)
	}
	_ = c.dial("192.168.150.1:5700").Close()
	if inactive := c.do("dumpxml", "guest", "--inactive"); !strings.Contains(inactive, "<graphics type='vnc' port='-1' autoport='yes' websocket='-1'>\n      <listen type='network' network='lab'/>") {
		t.Errorf("the definition:\n%s", inactive)
	}
	c.do("destroy", "guest")
	c.do("undefine", "guest")
	c.do("net-destroy", "lab")
	c.do("net-undefine", "lab")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
