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
  <machine>pc-i440fx-7.2</machine>
  <arch>x86_64</arch>
  <vcpu max='255'/>
  <iothreads supported='no'/>
  <os supported='yes'>
    <enum name='firmware'/>
    <loader supported='no'/>
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
      <model fallback='forbid'>max</model>
    </mode>
    <mode name='custom' supported='yes'>
      <model usable=…
    </mode>
  </cpu>
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
      </enum>
    </graphics>
    <video supported='yes'>
      <enum name='modelType'>
        <value>vga</value>
        <value>cirrus</value>
        <value>virtio</value>
        <value>none</value>
        <value>bochs</value>
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
    <filesystem supported='no'/>
    <tpm supported='no'/>
    <redirdev supported='no'/>
    <channel supported='yes'>
      <enum name='type'>
        <value>pty</value>
        <value>unix</value>
      </enum>
    </channel>
    <interface supported='yes'>
      <enum name='backendType'/>
    </interface>
    <panic supported='yes'>
      <enum name='model'>
        <value>isa</value>
      </enum>
    </panic>
    <console supported='yes'>
      <enum name='type'>
        <value>null</value>
        <value>pty</value>
        <value>file</value>
        <value>unix</value>
      </enum>
    </console>
  </devices>
  <features>
    <gic supported='no'/>
    <vmcoreinfo supported='yes'/>
    <genid supported='no'/>
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
486-v1
Broadwell
Broadwell-IBRS
Broadwell-noTSX
Broadwell-noTSX-IBRS
Broadwell-v1
Broadwell-v2
Broadwell-v3
Broadwell-v4
Cascadelake-Server
Cascadelake-Server-noTSX
Cascadelake-Server-v1
Cascadelake-Server-v2
Cascadelake-Server-v3
Cascadelake-Server-v4
Cascadelake-Server-v5
Conroe
Conroe-v1
Cooperlake
Cooperlake-v1
Cooperlake-v2
Denverton
Denverton-v1
Denverton-v2
Denverton-v3
Dhyana
Dhyana-v1
Dhyana-v2
EPYC
EPYC-IBPB
EPYC-Milan
EPYC-Milan-v1
EPYC-Rome
EPYC-Rome-v1
EPYC-Rome-v2
EPYC-v1
EPYC-v2
EPYC-v3
Haswell
Haswell-IBRS
Haswell-noTSX
Haswell-noTSX-IBRS
Haswell-v1
Haswell-v2
Haswell-v3
Haswell-v4
Icelake-Server
Icelake-Server-noTSX
Icelake-Server-v1
Icelake-Server-v2
Icelake-Server-v3
Icelake-Server-v4
Icelake-Server-v5
Icelake-Server-v6
IvyBridge
IvyBridge-IBRS
IvyBridge-v1
IvyBridge-v2
KnightsMill
KnightsMill-v1
Nehalem
Nehalem-IBRS
Nehalem-v1
Nehalem-v2
Opteron_G1
Opteron_G1-v1
Opteron_G2
Opteron_G2-v1
Opteron_G3
Opteron_G3-v1
Opteron_G4
Opteron_G4-v1
Opteron_G5
Opteron_G5-v1
Penryn
Penryn-v1
SandyBridge
SandyBridge-IBRS
SandyBridge-v1
SandyBridge-v2
Skylake-Client
Skylake-Client-IBRS
Skylake-Client-noTSX-IBRS
Skylake-Client-v1
Skylake-Client-v2
Skylake-Client-v3
Skylake-Client-v4
Skylake-Server
Skylake-Server-IBRS
Skylake-Server-noTSX-IBRS
Skylake-Server-v1
Skylake-Server-v2
Skylake-Server-v3
Skylake-Server-v4
Skylake-Server-v5
Snowridge
Snowridge-v1
Snowridge-v2
Snowridge-v3
Snowridge-v4
Westmere
Westmere-IBRS
Westmere-v1
Westmere-v2
athlon
athlon-v1
base
core2duo
core2duo-v1
coreduo
coreduo-v1
host
kvm32
kvm32-v1
kvm64
kvm64-v1
max
n270
n270-v1
pentium
pentium-v1
pentium2
pentium2-v1
pentium3
pentium3-v1
phenom
phenom-v1
qemu32
qemu32-v1
qemu64
qemu64-v1
[exit 0]
$ cpu-models riscv64
error: failed to get CPU model names
error: unsupported configuration: no emulator for architecture 'riscv64' here, only for x86_64
[exit 1]
# There is none of these yet, and clients that ask are not turned away.
$ sysinfo
error: failed to get sysinfo
error: unsupported configuration: Host SMBIOS information is not available
[exit 1]
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
$ nodedev-list
[exit 0]
$ nwfilter-list
 UUID   Name
--------------
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
