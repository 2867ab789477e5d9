package clienttest

import (
	"strings"
	"testing"
)

const moduleGuest = `<domain type='qemu'><name>modules</name><maxMemory slots='2' unit='MiB'>512</maxMemory><memory unit='MiB'>64</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features>
  <cpu mode='custom' match='exact'><model fallback='forbid'>qemu64</model><numa><cell id='0' cpus='0' memory='64' unit='MiB'/></numa></cpu>
  <devices><controller type='usb' model='none'/>BALLOON</devices></domain>`

// A module that is plugged into a running guest is memory that the guest has now.
func TestCurrentMemory_CountsModulesPluggedIntoARunningGuest(t *testing.T) {
	t.Parallel()
	for name, balloon := range map[string]string{"with a balloon": "<memballoon model='virtio'/>", "without a balloon": "<memballoon model='none'/>"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t)
			c.write("guest.xml", strings.Replace(moduleGuest, "BALLOON", balloon, 1))
			c.write("module.xml", "<memory model='dimm'><target><size unit='MiB'>128</size><node>0</node></target></memory>")
			c.do("define", "guest.xml")
			c.do("start", "modules", "--paused")
			holds := func(when, kib string) {
				t.Helper()
				for _, q := range []struct{ args, want string }{
					{"dumpxml modules", "<memory unit='KiB'>" + kib + "</memory>"},
					{"dumpxml modules", "<currentMemory unit='KiB'>" + kib + "</currentMemory>"},
					{"dominfo modules", "Used memory:    " + kib + " KiB"},
					{"dommemstat modules", "actual " + kib + "\n"},
				} {
					if out := c.do(strings.Fields(q.args)...); !strings.Contains(out, q.want) {
						t.Errorf("%s: virsh %s: %s\nwant %q", when, q.args, out, q.want)
					}
				}
			}
			holds("at first", "65536")
			c.do("attach-device", "modules", "module.xml", "--live")
			holds("with a module", "196608")
			c.daemon.Kill()
			if err := c.daemon.Start(); err != nil {
				t.Fatal(err)
			}
			holds("with another daemon", "196608")
			c.do("destroy", "modules")
		})
	}
}
