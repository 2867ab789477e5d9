package clienttest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A guest that sleeps: its chipset is told to, by a second monitor, as an operating system would tell it.
func TestAGuestSleepsAndWakesUp(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.disk("disk1.img")
	doc := strings.Replace(lightGuest, "<domain type='qemu'>", "<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>", 1)
	doc = strings.Replace(doc, "</devices>", `</devices>
  <qemu:commandline>
    <qemu:arg value='-chardev'/><qemu:arg value='pty,id=second'/>
    <qemu:arg value='-mon'/><qemu:arg value='chardev=second,mode=readline'/>
  </qemu:commandline>`, 1)
	doc = strings.Replace(doc, "<devices>", "<features><acpi/></features><devices>", 1)
	c.write("light.xml", c.fill(doc))
	events := c.events()
	c.do("create", "light.xml")
	log, err := os.ReadFile(filepath.Join(c.daemon.Paths().Logs(), "light.log"))
	if err != nil {
		t.Fatal(err)
	}
	tty := regexp.MustCompile(`redirected to (/dev/pts/\d+) \(label second\)`).FindSubmatch(log)
	if tty == nil {
		t.Fatalf("QEMU said nothing of its second monitor: %s", log)
	}
	monitor, err := os.OpenFile(string(tty[1]), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer monitor.Close()
	// The firmware gives the power management of a PIIX4 its place; until then nobody hears. 0x604 is PM1_CNT: S3, now.
	sleep := func() {
		t.Helper()
		if _, err := monitor.WriteString("o /h 0x604 0x2400\n"); err != nil {
			t.Fatal(err)
		}
	}
	events.lineAfter("event 'lifecycle' for domain 'light': PMSuspended Memory", sleep)
	if state := strings.TrimSpace(c.do("domstate", "light", "--reason")); state != "pmsuspended (unknown)" {
		t.Errorf("the guest is %s", state)
	}
	for _, args := range [][]string{{"suspend", "light"}, {"resume", "light"}} {
		if out, code := c.run(c.virsh(args...)); code != 1 || !strings.Contains(out, "is pmsuspended") {
			t.Errorf("%q: exit %d: %s", args, code, out)
		}
	}
	c.restart("kill")
	if state := strings.TrimSpace(c.do("domstate", "light", "--reason")); state != "pmsuspended (unknown)" {
		t.Errorf("after another daemon has taken over the guest is %s", state)
	}
	events = c.events()
	c.do("dompmwakeup", "light")
	events.line("event 'lifecycle' for domain 'light': Started Event wakeup")
	if state := strings.TrimSpace(c.do("domstate", "light", "--reason")); state != "running (event wakeup)" {
		t.Errorf("the guest is %s", state)
	}
	if out, code := c.run(c.virsh("dompmwakeup", "light")); code != 1 || !strings.Contains(out, "does not sleep") {
		t.Errorf("wake it again: exit %d: %s", code, out)
	}
	if out, code := c.run(c.virsh("dompmsuspend", "light", "mem")); code != 1 || !strings.Contains(out, "QEMU guest agent is not configured") {
		t.Errorf("have it sleep by its agent: exit %d: %s", code, out)
	}
	c.do("destroy", "light")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
