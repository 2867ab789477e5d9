# Where a guest's memory comes from, and the NUMA cells it sees.
$ define cells.xml
Domain 'cells' defined from cells.xml
[exit 0]
$ start cells
Domain 'cells' started
[exit 0]
$ dumpxml cells
<domain type='qemu' id='1'>
  <name>cells</name>
  <uuid>00000000-0000-4000-8000-0000000000c1</uuid>
  <maxMemory slots='2' unit='KiB'>262144</maxMemory>
  <memory unit='KiB'>49152</memory>
  <currentMemory unit='KiB'>49152</currentMemory>
  <memoryBacking>
    <source type='memfd'/>
    <access mode='shared'/>
  </memoryBacking>
  <vcpu placement='static'>2</vcpu>
  <iothreads>2</iothreads>
  <numatune>
    <memory mode='strict' nodeset='0'/>
  </numatune>
  <os>
    <type arch='x86_64' machine='pc-q35-<version>'>hvm</type>
    <boot dev='hd'/>
  </os>
  <features>
    <acpi/>
  </features>
  <cpu mode='custom' match='exact' check='none'>
    <model fallback='forbid'>qemu64</model>
    <numa>
      <cell id='0' cpus='0' memory='16384' unit='KiB'>
        <distances>
          <sibling id='0' value='10'/>
          <sibling id='1' value='21'/>
        </distances>
      </cell>
      <cell id='1' cpus='1' memory='16384' unit='KiB'>
        <distances>
          <sibling id='0' value='21'/>
          <sibling id='1' value='10'/>
        </distances>
      </cell>
    </numa>
  </cpu>
  <clock offset='utc'/>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw' iothread='2'/>
      <source file='ROOT/work/disk.img' index='1'/>
      <backingStore/>
      <target dev='vda' bus='virtio'/>
      <alias name='virtio-disk0'/>
      <address type='pci' domain='0x0000' bus='0x02' slot='0x00' function='0x0'/>
    </disk>
    <controller type='usb' index='0' model='qemu-xhci'>
      <alias name='usb'/>
      <address type='pci' domain='0x0000' bus='0x01' slot='0x00' function='0x0'/>
    </controller>
    <controller type='sata' index='0'>
      <alias name='ide'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x1f' function='0x2'/>
    </controller>
    <controller type='pci' index='0' model='pcie-root'>
      <alias name='pcie.0'/>
    </controller>
    <controller type='pci' index='1' model='pcie-root-port'>
      <model name='pcie-root-port'/>
      <target chassis='1' port='0x8'/>
      <alias name='pci.1'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x0' multifunction='on'/>
    </controller>
    <controller type='pci' index='2' model='pcie-root-port'>
      <model name='pcie-root-port'/>
      <target chassis='2' port='0x9'/>
      <alias name='pci.2'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x1'/>
    </controller>
    <controller type='pci' index='3' model='pcie-root-port'>
      <model name='pcie-root-port'/>
      <target chassis='3' port='0xa'/>
      <alias name='pci.3'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x2'/>
    </controller>
    <controller type='pci' index='4' model='pcie-root-port'>
      <model name='pcie-root-port'/>
      <target chassis='4' port='0xb'/>
      <alias name='pci.4'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x3'/>
    </controller>
    <input type='mouse' bus='ps2'>
      <alias name='input0'/>
    </input>
    <input type='keyboard' bus='ps2'>
      <alias name='input1'/>
    </input>
    <audio id='1' type='none'/>
    <memballoon model='virtio'>
      <alias name='balloon0'/>
      <address type='pci' domain='0x0000' bus='0x03' slot='0x00' function='0x0'/>
    </memballoon>
    <memory model='dimm'>
      <target>
        <size unit='KiB'>16384</size>
        <node>1</node>
      </target>
      <alias name='dimm0'/>
      <address type='dimm' slot='0'/>
    </memory>
  </devices>
  <seclabel type='dynamic' model='dac' relabel='yes'>
    <label>+<uid>:+<gid></label>
    <imagelabel>+<uid>:+<gid></imagelabel>
  </seclabel>
</domain>
[exit 0]
$ dominfo cells
Id:             1
Name:           cells
UUID:           00000000-0000-4000-8000-0000000000c1
OS Type:        hvm
State:          running
CPU(s):         2
CPU time:       <seconds>
Max memory:     49152 KiB
Used memory:    49152 KiB
Persistent:     yes
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
$ destroy cells
Domain 'cells' destroyed
[exit 0]
$ define file.xml
Domain 'file' defined from file.xml
[exit 0]
$ start file
Domain 'file' started
[exit 0]
$ destroy file
Domain 'file' destroyed
[exit 0]
$ start file
Domain 'file' started
[exit 0]
% kill
$ domstate file
running
[exit 0]
$ destroy file
Domain 'file' destroyed
[exit 0]
# Nobody has a terabyte of huge pages.
$ define huge.xml
Domain 'huge' defined from huge.xml
[exit 0]
$ start huge
error: Failed to start domain 'huge'
error: operation failed: domain 'huge' needs 524288 huge pages of 2048 KiB and 0 of 0 are free; raise /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages, or take <hugepages/> out of the document
[exit 1]
$ domstate huge
shut off
[exit 0]
$ define elsewhere.xml
Domain 'elsewhere' defined from elsewhere.xml
[exit 0]
$ start elsewhere
error: Failed to start domain 'elsewhere'
error: unsupported configuration: domain 'elsewhere': numatune is not supported: this host has no NUMA node 4000; it has 0
[exit 1]
-- cells.xml --
<domain type='qemu'>
  <name>cells</name>
  <uuid>00000000-0000-4000-8000-0000000000c1</uuid>
  <maxMemory slots='2' unit='MiB'>256</maxMemory>
  <memory unit='MiB'>48</memory>
  <memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>
  <vcpu>2</vcpu>
  <iothreads>2</iothreads>
  <numatune><memory mode='strict' nodeset='0'/></numatune>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <cpu><numa><cell id='0' cpus='0' memory='16' unit='MiB'/><cell id='1' cpus='1' memory='16' unit='MiB'><distances><sibling id='0' value='21'/></distances></cell></numa></cpu>
  <devices>
    <disk type='file'><driver name='qemu' type='raw' iothread='2'/><source file='ROOT/work/disk.img'/><target dev='vda' bus='virtio'/></disk>
    <memory model='dimm'><target><size unit='MiB'>16</size><node>1</node></target></memory>
  </devices>
</domain>
-- file.xml --
<domain type='qemu'>
  <name>file</name>
  <uuid>00000000-0000-4000-8000-0000000000c2</uuid>
  <memory unit='MiB'>16</memory>
  <memoryBacking><source type='file'/><access mode='shared'/></memoryBacking>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
</domain>
-- huge.xml --
<domain type='qemu'>
  <name>huge</name>
  <uuid>00000000-0000-4000-8000-0000000000c4</uuid>
  <memory unit='TiB'>1</memory>
  <memoryBacking><hugepages><page size='2' unit='M'/></hugepages></memoryBacking>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
</domain>
-- elsewhere.xml --
<domain type='qemu'>
  <name>elsewhere</name>
  <uuid>00000000-0000-4000-8000-0000000000c5</uuid>
  <memory unit='MiB'>16</memory>
  <numatune><memory mode='strict' nodeset='0,4000'/></numatune>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
</domain>
