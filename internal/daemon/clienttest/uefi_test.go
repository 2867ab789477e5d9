package clienttest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taproom/internal/qemu/emutest"
)

// uefiGuest has UEFI that was chosen for it, writes its serial port to a file, and boots from nothing.
const uefiGuest = `<domain type='qemu'><name>guest</name><memory unit='MiB'>96</memory>
  <os firmware='efi'><type arch='x86_64' machine='pc'>hvm</type></os>
  <features><acpi/></features>
  <devices>
    <serial type='file'><source path='ROOT/work/serial.log'/></serial>
  </devices></domain>`

// The firmware says on the serial port that it found nothing to boot from, and keeps that in its variables.
func TestAGuestBootsThroughUEFI(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("guest.xml", c.fill(uefiGuest))
	c.do("define", "guest.xml")
	doc := c.do("dumpxml", "guest")
	vars := filepath.Join(c.daemon.Root, "var/lib/taproom/nvram/guest_VARS.fd")
	if want := "<nvram template='/usr/share/OVMF/OVMF_VARS_4M.fd'>" + vars + "</nvram>"; !strings.Contains(doc, want) {
		t.Errorf("no %s in:\n%s", want, doc)
	}
	template, err := os.ReadFile("/usr/share/OVMF/OVMF_VARS_4M.fd")
	if err != nil {
		t.Fatal(err)
	}
	c.startFirmware()
	c.do("destroy", "guest")
	used, err := os.ReadFile(vars)
	if err != nil || len(used) != len(template) || bytes.Equal(used, template) {
		t.Errorf("after a run its variables are %d bytes (%v), the same as the template: %v", len(used), err, bytes.Equal(used, template))
	}

	// Another run goes on with them; they begin afresh only when that is asked for.
	c.do("start", "guest", "--paused")
	c.do("destroy", "guest")
	if again, err := os.ReadFile(vars); err != nil || !bytes.Equal(again, used) {
		t.Errorf("a second start changed the variables (%v)", err)
	}
	c.do("start", "guest", "--paused", "--reset-nvram")
	c.do("destroy", "guest")
	if again, err := os.ReadFile(vars); err != nil || !bytes.Equal(again, template) {
		t.Errorf("--reset-nvram left the variables as they were (%v)", err)
	}

	out, code := c.run(c.virsh("undefine", "guest"))
	if want := "cannot undefine domain with nvram"; code != 1 || !strings.Contains(out, want) {
		t.Errorf("undefine: exit %d: %s, want %s", code, out, want)
	}
	c.do("undefine", "guest", "--keep-nvram")
	if _, err := os.Stat(vars); err != nil {
		t.Errorf("after undefine --keep-nvram: %v", err)
	}
	c.do("define", "guest.xml")
	c.do("undefine", "guest", "--nvram")
	if _, err := os.Stat(vars); !os.IsNotExist(err) {
		t.Errorf("after undefine --nvram: %v", err)
	}
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// startFirmware starts the guest and waits until its firmware looks for something to boot.
func (c *clients) startFirmware() {
	c.t.Helper()
	defer emutest.Boot(c.t)()
	c.do("start", "guest")
	awaitFile(c.t, filepath.Join(c.work, "serial.log"), "BdsDxe: ")
}

// awaitFile waits until a file that somebody writes has a text in it.
func awaitFile(t *testing.T, path, text string) {
	t.Helper()
	var progress emutest.Progress
	ctx, cancel := emutest.Watch(t.Context(), 1, &progress)
	defer cancel()
	for tick, noted := time.NewTicker(50*time.Millisecond), 0; ; {
		b, _ := os.ReadFile(path)
		_, _ = progress.Write(b[min(noted, len(b)):])
		noted = len(b)
		if bytes.Contains(b, []byte(text)) {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s does not have %q but: %s: %v", path, text, b, context.Cause(ctx))
		}
	}
}

// With secure boot the firmware runs in system management mode, and nobody else writes its variables.
func TestAGuestBootsThroughUEFIWithSecureBoot(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("guest.xml", c.fill(strings.Replace(uefiGuest, "machine='pc'", "machine='q35'", 1)))
	c.do("define", "guest.xml")
	doc := c.do("dumpxml", "guest")
	for _, want := range []string{
		"<feature enabled='yes' name='enrolled-keys'/>", "<feature enabled='yes' name='secure-boot'/>", "<smm state='on'/>",
		"<loader readonly='yes' secure='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.ms.fd</loader>",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("no %s in:\n%s", want, doc)
		}
	}
	c.startFirmware()
	c.do("destroy", "guest")
	c.do("undefine", "guest", "--nvram")
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}

// A guest that was renamed keeps its variables where they are; who gets its old name gets others, and neither takes the
// other's with it.
func TestRenamedGuestsKeepTheirVariables(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.write("guest.xml", c.fill(uefiGuest))
	c.do("define", "guest.xml")
	vars := filepath.Join(c.daemon.Root, "var/lib/taproom/nvram/guest_VARS.fd")
	c.do("start", "guest", "--paused")
	c.do("destroy", "guest")
	c.do("domrename", "guest", "older")

	c.do("define", "guest.xml")
	if doc := c.do("dumpxml", "guest"); strings.Contains(doc, vars) {
		t.Errorf("it has the file of the guest that had its name:\n%s", doc)
	}
	c.do("undefine", "guest", "--nvram")
	if _, err := os.Stat(vars); err != nil {
		t.Errorf("the other guest's variables: %v", err)
	}

	// Where a document names another's file itself, that stays as well. What is refused removes nothing.
	c.write("guest.xml", c.fill(strings.Replace(uefiGuest, "</type></os>",
		"</type><loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader><nvram>"+vars+"</nvram></os>", 1)))
	c.do("define", "guest.xml")
	c.do("start", "guest", "--paused")
	c.do("managedsave", "guest")
	for _, args := range [][]string{{"--managed-save", "--nvram"}, {"--managed-save"}} {
		if out, code := c.run(c.virsh(append([]string{"undefine", "guest"}, args...)...)); code != 1 || !strings.Contains(out, "nvram") {
			t.Errorf("undefine %v: exit %d: %s", args, code, out)
		}
	}
	if info := c.do("dominfo", "guest"); !strings.Contains(info, "Managed save:   yes") {
		t.Errorf("its saved state is gone:\n%s", info)
	}
	c.do("undefine", "guest", "--managed-save", "--keep-nvram")
	c.do("undefine", "older", "--nvram")
	if _, err := os.Stat(vars); !os.IsNotExist(err) {
		t.Errorf("after undefine --nvram: %v", err)
	}
	if left := c.daemon.Leftovers(); left != nil {
		t.Errorf("left: %v", left)
	}
}
