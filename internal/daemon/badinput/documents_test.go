package badinput

import (
	"fmt"
	"os"
	"path/filepath"
)

// guest is a small guest without anything to boot from, with more devices when told so.
func guest(name, devices string) string { return guestOn("/usr/bin/qemu-system-x86_64", name, devices) }

// guestOn is a guest that another emulator runs.
func guestOn(emulator, name, devices string) string {
	return fmt.Sprintf(`<domain type='qemu'>
  <name>%s</name>
  <memory unit='MiB'>16</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <emulator>%s</emulator>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
    %s
  </devices>
</domain>`, name, emulator, devices)
}

const vnc = `<graphics type='vnc' port='-1' autoport='yes' listen='127.0.0.1'/><video><model type='vga'/></video>`

// nic has no boot ROM: a machine that would boot from it emulates the search for a server as long as it runs.
func nic(network string) string {
	return fmt.Sprintf(`<interface type='network'><source network='%s'/><model type='virtio'/><rom enabled='no'/></interface>`, network)
}

// disk is a disk in a file; format may be followed by more of the element.
func disk(path, format, more string) string {
	return fmt.Sprintf(`<disk type='file' device='disk'><driver name='qemu' type='%s'/><source file='%s'/><target dev='vda' bus='virtio'/>%s</disk>`, format, path, more)
}

// network is a NAT network with a /24.
func network(name, bridge, subnet string) string {
	return fmt.Sprintf(`<network>
  <name>%s</name>
  <forward mode='nat'/>
  <bridge name='%s'/>
  <ip address='%[3]s.1' netmask='255.255.255.0'><dhcp><range start='%[3]s.2' end='%[3]s.254'/></dhcp></ip>
</network>`, name, bridge, subnet)
}

// doubles is where programs lie that are called like QEMU and are none. The place is always the same, so that what they
// can do is asked once on a machine.
func doubles() string { return filepath.Join(os.TempDir(), "taproom-test-doubles") }
