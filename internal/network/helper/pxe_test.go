package helper_test

import (
	"bufio"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"

	"taproom/internal/network/dhcp4"
	"taproom/internal/network/dhcp6"
	"taproom/internal/network/helper"
)

// rom is iPXE where distributions have it; QEMU finds it for its NICs.
const rom = "/usr/lib/ipxe/qemu/efi-virtio.rom"

// booting is a network whose machines boot from it: a script for a BIOS, something else for UEFI.
func booting(t *testing.T) helper.Network {
	t.Helper()
	n := wide()
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	script := "#!ipxe\necho this is ${hostname} at ${net0/ip} of ${next-server} with ${filename}\nprompt\n"
	if err := os.WriteFile(filepath.Join(root, "boot.ipxe"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	n.TFTP = &helper.TFTP{Root: root, Addresses: []netip.Addr{gateway4}}
	n.DHCP4.Hosts = []dhcp4.Host{{MAC: "52:54:00:09:00:12", IP: netip.MustParseAddr("10.9.0.5"), Name: "booted"}}
	n.DHCP4.Boot = []dhcp4.Boot{
		{File: "boot.ipxe"},
		{Arch: []uint16{7, 9}, File: "shim.efi", Server: netip.MustParseAddr("10.9.0.200")},
	}
	n.DHCP6.BootURL = []dhcp6.Boot{{URL: "tftp://[fd00:9::1]/boot.ipxe"}, {Arch: []uint16{7, 9}, URL: "http://[fd00:9::1]/shim.efi"}}
	return n
}

func TestAMachineBootsAFileFromTheNetwork(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(rom); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("iPXE is not installed (Debian: ipxe-qemu): %v", err)
	}
	if _, err := exec.LookPath("qemu-system-x86_64"); errors.Is(err, exec.ErrNotFound) {
		t.Skipf("QEMU is not installed (Debian: qemu-system-x86): %v", err)
	}
	s := newSite(t)
	n := booting(t)
	s.serveDual(n)
	s.host.Run("ip", "tuntap", "add", "dev", "tap9", "mode", "tap")
	s.host.Keep("link tap9")
	s.host.Run("ip", "link", "set", "dev", "tap9", "master", n.Bridge, "up")
	c := exec.CommandContext(s.ctx, "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-nographic", "-accel", "tcg",
		"-machine", "pc", "-m", "64", "-boot", "n", "-serial", "stdio",
		"-netdev", "tap,id=n,ifname=tap9,script=no,downscript=no", "-device", "virtio-net-pci,netdev=n,mac=52:54:00:09:00:12")
	console, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := s.host.StartTied(c); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	const want = "this is booted at 10.9.0.5 of 10.9.0.1 with boot.ipxe"
	var said strings.Builder
	for lines := bufio.NewScanner(console); lines.Scan(); {
		if strings.Contains(lines.Text(), want) {
			return
		}
		said.WriteString(lines.Text() + "\n")
	}
	// Its console ends when it does, or when time is up.
	t.Errorf("it did not say %q:\n%s", want, said.String())
}

func TestEveryKindOfFirmwareIsToldItsOwnFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := booting(t)
	s.serveDual(n)
	w := s.guest(n.Bridge, "52:54:00:09:00:13").wire()
	for i, f := range []struct {
		arch            iana.Arch
		file, next, url string
	}{
		{iana.INTEL_X86PC, "boot.ipxe", "10.9.0.1", "tftp://[fd00:9::1]/boot.ipxe"},
		{iana.EFI_X86_64, "shim.efi", "10.9.0.200", "http://[fd00:9::1]/shim.efi"},
		{iana.EFI_BC, "shim.efi", "10.9.0.200", "http://[fd00:9::1]/shim.efi"},
	} {
		c := card{w, number(i + 1)}
		offer := c.ask4(dhcpv4.MessageTypeDiscover, dhcpv4.WithOption(dhcpv4.OptClientArch(f.arch)),
			dhcpv4.WithOption(dhcpv4.OptClassIdentifier("PXEClient:Arch:00007:UNDI:003016")), dhcpv4.WithRequestedOptions(dhcpv4.OptionBootfileName, dhcpv4.OptionTFTPServerName))
		if got := offer.BootFileName + offer.BootFileNameOption(); !strings.Contains(got, f.file) || offer.ServerIPAddr.String() != f.next {
			t.Errorf("firmware %v is told %q of %s", f.arch, got, offer.ServerIPAddr)
		}
		ad := c.ask6(dhcpv6.MessageTypeSolicit, nil, ia(), dhcpv6.OptClientArchType(f.arch), dhcpv6.OptRequestedOption(dhcpv6.OptionBootfileURL))
		if got := ad.Options.BootFileURL(); got != f.url {
			t.Errorf("firmware %v is told %q over IPv6", f.arch, got)
		}
	}
}
