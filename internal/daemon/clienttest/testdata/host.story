# What the host is and can do.
$ uri
qemu+unix:///system?socket=ROOT/run/libvirt/libvirt-sock
[exit 0]
$ version
Compiled against library: libvirt <version>
Using library: libvirt <version>
Using API: QEMU <version>
Running hypervisor: QEMU <version>
[exit 0]
$ hostname
<hostname>
[exit 0]
$ nodeinfo
CPU model:           x86_64
CPU(s): <n>
CPU frequency: <n>
CPU socket(s): <n>
Core(s) per socket: <n>
Thread(s) per core: <n>
NUMA cell(s): <n>
Memory size: <n>
[exit 0]
$ nodememstats
total  : <n> KiB
free   : <n> KiB
buffers: <n> KiB
cached : <n> KiB
[exit 0]
$ nodecpustats
user: <n>
system: <n>
idle: <n>
iowait: <n>
[exit 0]
$ freecell
Total: <n> KiB
[exit 0]
$ maxvcpus qemu
255
[exit 0]
$ capabilities
<capabilities>
  <host>
    <uuid><uuid></uuid>
    <cpu>
      <arch>x86_64</arch>
      <vendor>…</vendor>
      <topology …/>
      <feature name=…
      <pages unit='KiB' size='4'/>
    </cpu>
    <power_management/>
    <iommu support='no'/>
    <topology>
      <cells num='1'>
        <cell id='0'>
          <memory unit='KiB'>…</memory>
          <cpus num='…'>
            <cpu id=…
          </cpus>
        </cell>
      </cells>
    </topology>
    <secmodel>
      <model>none</model>
      <doi>0</doi>
    </secmodel>
    <secmodel>
      <model>dac</model>
      <doi>0</doi>
    </secmodel>
  </host>
  <guest>
    <os_type>hvm</os_type>
    <arch name='x86_64'>
      <wordsize>64</wordsize>
      <emulator>/usr/bin/qemu-system-x86_64</emulator>
      <machine …
      <domain type='qemu'/>
    </arch>
    <features>
      <acpi default='on' toggle='yes'/>
      <apic default='on' toggle='no'/>
      <cpuselection/>
      <deviceboot/>
    </features>
  </guest>
</capabilities>
[exit 0]
$ domcapabilities --machine pc --virttype qemu
<domainCapabilities>
  <path>/usr/bin/qemu-system-x86_64</path>
  <domain>qemu</domain>
  <machine>pc-i440fx-<version></machine>
  <arch>x86_64</arch>
  <vcpu max='255'/>
  <iothreads supported='yes'/>
  <os supported='yes'>
    <enum name='firmware'>
      <value>bios</value>
      <value>efi</value>
    </enum>
    <loader supported='yes'>
      <enum name='type'>
        <value>rom</value>
        <value>pflash</value>
      </enum>
      <enum name='readonly'>
        <value>yes</value>
        <value>no</value>
      </enum>
      <enum name='secure'>
        <value>no</value>
      </enum>
    </loader>
  </os>
  <cpu>
    <mode name='host-passthrough' supported='no'/>
    <mode name='maximum' supported='yes'>
      <enum name='maximumMigratable'>
        <value>on</value>
        <value>off</value>
      </enum>
    </mode>
    <mode name='host-model' supported='yes'>
      <model fallback='forbid'>EPYC</model>
      <vendor>…</vendor>
      <feature policy=…
    </mode>
    <mode name='custom' supported='yes'>
      <model usable=…
    </mode>
  </cpu>
  <memoryBacking supported='yes'>
    <enum name='sourceType'>
      <value>file</value>
      <value>anonymous</value>
      <value>memfd</value>
    </enum>
  </memoryBacking>
  <devices>
    <disk supported='yes'>
      <enum name='diskDevice'>
        <value>disk</value>
        <value>cdrom</value>
        <value>floppy</value>
      </enum>
      <enum name='bus'>
        <value>ide</value>
        <value>fdc</value>
        <value>scsi</value>
        <value>virtio</value>
        <value>usb</value>
        <value>sata</value>
      </enum>
      <enum name='model'>
        <value>virtio</value>
      </enum>
    </disk>
    <graphics supported='yes'>
      <enum name='type'>
        <value>vnc</value>
        <value>spice</value>
      </enum>
    </graphics>
    <video supported='yes'>
      <enum name='modelType'>
        <value>vga</value>
        <value>cirrus</value>
        <value>qxl</value>
        <value>virtio</value>
        <value>none</value>
        <value>bochs</value>
        <value>ramfb</value>
      </enum>
    </video>
    <hostdev supported='no'/>
    <rng supported='yes'>
      <enum name='model'>
        <value>virtio</value>
        <value>virtio-transitional</value>
        <value>virtio-non-transitional</value>
      </enum>
      <enum name='backendModel'>
        <value>random</value>
        <value>builtin</value>
      </enum>
    </rng>
    <filesystem supported='yes'>
      <enum name='driverType'>
        <value>virtiofs</value>
      </enum>
    </filesystem>
    <tpm supported='yes'>
      <enum name='model'>
        <value>tpm-tis</value>
        <value>tpm-crb</value>
      </enum>
      <enum name='backendModel'>
        <value>emulator</value>
        <value>external</value>
      </enum>
      <enum name='backendVersion'>
        <value>1.2</value>
        <value>2.0</value>
      </enum>
    </tpm>
    <redirdev supported='yes'>
      <enum name='bus'>
        <value>usb</value>
      </enum>
    </redirdev>
    <channel supported='yes'>
      <enum name='type'>
        <value>pty</value>
        <value>unix</value>
        <value>spicevmc</value>
      </enum>
    </channel>
    <interface supported='yes'>
      <enum name='backendType'/>
    </interface>
    <panic supported='yes'>
      <enum name='model'>
        <value>isa</value>
        <value>pvpanic</value>
      </enum>
    </panic>
    <console supported='yes'>
      <enum name='type'>
        <value>null</value>
        <value>vc</value>
        <value>pty</value>
        <value>dev</value>
        <value>file</value>
        <value>tcp</value>
        <value>unix</value>
        <value>spiceport</value>
      </enum>
    </console>
  </devices>
  <features>
    <gic supported='no'/>
    <vmcoreinfo supported='yes'/>
    <genid supported='yes'/>
    <backingStoreInput supported='yes'/>
    <backup supported='no'/>
    <sev supported='no'/>
    <sgx supported='no'/>
    <hyperv supported='no'/>
  </features>
</domainCapabilities>
[exit 0]
$ domcapabilities --machine nothing --virttype qemu
error: failed to get emulator capabilities
error: unsupported configuration: machine is not supported: emulator /usr/bin/qemu-system-x86_64 has no machine "nothing"
[exit 1]
$ domcapabilities --emulatorbin /nowhere
error: failed to get emulator capabilities
error: unsupported configuration: QEMU cannot be executed: /nowhere: no such file or directory; install qemu-system-x86, or name another one in <emulator>
[exit 1]
$ cpu-models x86_64
486
…
[exit 0]
$ cpu-models riscv64
error: failed to get CPU model names
error: unsupported configuration: no emulator for architecture 'riscv64' here, only for x86_64
[exit 1]
# There is none of these yet, and clients that ask are not turned away.
$ pool-list --all
 Name   State   Autostart
---------------------------
[exit 0]
$ vol-list default
error: failed to get pool 'default'
error: Storage pool not found: no storage pool with matching name 'default'
[exit 1]
$ iface-list
 Name   State   MAC Address
-----------------------------
[exit 0]
$ nodedev-list --cap system
computer
[exit 0]
$ nwfilter-list
 UUID                                   Name
-----------------------------------------------------------------
 <uuid>   allow-arp
 <uuid>   allow-dhcp
 <uuid>   allow-dhcp-server
 <uuid>   allow-dhcpv6
 <uuid>   allow-dhcpv6-server
 <uuid>   allow-incoming-ipv4
 <uuid>   allow-incoming-ipv6
 <uuid>   allow-ipv4
 <uuid>   allow-ipv6
 <uuid>   clean-traffic
 <uuid>   clean-traffic-gateway
 <uuid>   no-arp-ip-spoofing
 <uuid>   no-arp-mac-spoofing
 <uuid>   no-arp-spoofing
 <uuid>   no-ip-multicast
 <uuid>   no-ip-spoofing
 <uuid>   no-ipv6-multicast
 <uuid>   no-ipv6-spoofing
 <uuid>   no-mac-broadcast
 <uuid>   no-mac-spoofing
 <uuid>   no-other-l2-traffic
 <uuid>   no-other-rarp-traffic
 <uuid>   qemu-announce-self
 <uuid>   qemu-announce-self-rarp
[exit 0]
$ nwfilter-binding-list
 Port Dev   Filter
--------------------
[exit 0]
$ secret-list
 UUID   Usage
---------------
[exit 0]
$ snapshot-list nothing
error: failed to get domain 'nothing'
[exit 1]
$ net-list --all --name
[exit 0]
