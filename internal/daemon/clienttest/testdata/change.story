# What a definition and what runs hold can be changed, each for itself.
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
$ setmem guest 16M --config
[exit 0]
$ dominfo guest
Id:             -
Name:           guest
UUID:           00000000-0000-4000-8000-000000000001
OS Type:        hvm
State:          shut off
CPU(s):         2
Max memory:     32768 KiB
Used memory:    16384 KiB
Persistent:     yes
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
$ setmem guest 64M --config
error: invalid argument: cannot set memory of domain 'guest' to 65536 KiB: its maximum is 32768 KiB
[exit 1]
$ setmaxmem guest 64M --config
[exit 0]
$ setmem guest 48M --config
[exit 0]
$ dumpxml guest --xpath //memory|//currentMemory
<memory unit="KiB">65536</memory>
<currentMemory unit="KiB">49152</currentMemory>
[exit 0]
$ setvcpus guest 3 --config
error: invalid argument: requested vcpus is greater than max allowable vcpus for the persistent domain: 3 > 2
[exit 1]
$ setvcpus guest 4 --config --maximum
[exit 0]
$ setvcpus guest 3 --config
[exit 0]
$ vcpucount guest
maximum      config         4
current      config         3
[exit 0]
$ dumpxml guest --xpath //vcpu
<vcpu placement="static" current="3">4</vcpu>
[exit 0]
$ attach-device guest disk.xml --config
Device attached successfully
[exit 0]
$ attach-device guest nic.xml --config
Device attached successfully
[exit 0]
$ attach-disk guest ROOT/work/disk2.img vdc --config
Disk attached successfully
[exit 0]
$ domblklist guest
 Target   Source
--------------------------------------------
 vda      ROOT/work/disk.img
 vdb      ROOT/work/disk3.img
 vdc      ROOT/work/disk2.img
[exit 0]
$ domiflist guest
 Interface   Type   Source   Model    MAC
---------------------------------------------------------
 -           user   -        virtio   52:54:00:00:00:01
 -           user   -        virtio   52:54:00:00:00:02
[exit 0]
$ dumpxml guest --xpath //disk|//interface
<disk type="file" device="disk">
  <driver name="qemu" type="raw"/>
  <source file="ROOT/work/disk.img"/>
  <target dev="vda" bus="virtio"/>
  <address type="pci" domain="0x0000" bus="0x03" slot="0x00" function="0x0"/>
</disk>
<disk type="file" device="disk">
  <driver name="qemu" type="raw" cache="writeback"/>
  <source file="ROOT/work/disk3.img"/>
  <target dev="vdb" bus="virtio"/>
  <serial>second</serial>
  <address type="pci" domain="0x0000" bus="0x05" slot="0x00" function="0x0"/>
</disk>
<disk type="file" device="disk">
  <driver name="qemu" type="raw"/>
  <source file="ROOT/work/disk2.img"/>
  <target dev="vdc" bus="virtio"/>
  <address type="pci" domain="0x0000" bus="0x07" slot="0x00" function="0x0"/>
</disk>
<interface type="user">
  <mac address="52:54:00:00:00:01"/>
  <model type="virtio"/>
  <address type="pci" domain="0x0000" bus="0x01" slot="0x00" function="0x0"/>
</interface>
<interface type="user">
  <mac address="52:54:00:00:00:02"/>
  <model type="virtio"/>
  <address type="pci" domain="0x0000" bus="0x06" slot="0x00" function="0x0"/>
</interface>
[exit 0]
$ attach-device guest broken.xml --config
error: Failed to attach device from broken.xml
error: XML error: line 2: document ends inside <interface>
[exit 1]
$ attach-device guest twice.xml --config
error: Failed to attach device from twice.xml
error: Requested operation is not valid: target vda already exists; choose another one
[exit 1]
$ attach-device guest host.xml --config
error: Failed to attach device from host.xml
error: unsupported configuration: cannot attach a device to domain 'guest': devices/hostdev is not supported: host devices are not passed through yet
[exit 1]
$ detach-device guest disk.xml --config
Device detached successfully
[exit 0]
$ update-device guest disk.xml --config
error: Failed to update device from disk.xml
error: device not found: cannot update a device of domain 'guest': no target device vdb
[exit 1]
$ start guest --paused
Domain 'guest' started
[exit 0]
$ dominfo guest
Id:             1
Name:           guest
UUID:           00000000-0000-4000-8000-000000000001
OS Type:        hvm
State:          paused
CPU(s):         3
CPU time:       <seconds>
Max memory:     65536 KiB
Used memory:    49152 KiB
Persistent:     yes
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
$ setmem guest 32M --live
[exit 0]
$ setmem guest 128M --live
error: invalid argument: cannot set memory of domain 'guest' to 131072 KiB: its maximum is 65536 KiB
[exit 1]
$ setmaxmem guest 128M --live
error: Unable to change MaxMemorySize
error: Requested operation is not valid: cannot change the maximum memory of domain 'guest' while it runs; use --config
[exit 1]
$ setmem guest 40M --config
[exit 0]
$ setvcpus guest 2 --live
error: unsupported configuration: failed to find appropriate hotpluggable vcpus to reach the desired target vcpu count: domain 'guest' was started with 3
[exit 1]
$ setvcpus guest 2 --config
[exit 0]
$ vcpucount guest
maximum      config         4
maximum      live           4
current      config         2
current      live           3
[exit 0]
$ attach-device guest nic.xml
Device attached successfully
[exit 0]
$ attach-device guest nic2.xml --config
Device attached successfully
[exit 0]
$ domiflist guest
 Interface   Type   Source   Model    MAC
---------------------------------------------------------
 -           user   -        virtio   52:54:00:00:00:01
 -           user   -        virtio   52:54:00:00:00:02
 -           user   -        virtio   52:54:00:00:00:02
[exit 0]
$ domiflist guest --inactive
 Interface   Type   Source   Model    MAC
---------------------------------------------------------
 -           user   -        virtio   52:54:00:00:00:01
 -           user   -        virtio   52:54:00:00:00:02
 -           user   -        virtio   52:54:00:00:00:03
[exit 0]
$ destroy guest
Domain 'guest' destroyed
[exit 0]
$ domiflist guest
 Interface   Type   Source   Model    MAC
---------------------------------------------------------
 -           user   -        virtio   52:54:00:00:00:01
 -           user   -        virtio   52:54:00:00:00:02
 -           user   -        virtio   52:54:00:00:00:03
[exit 0]
$ desc guest
No description for domain: guest
[exit 0]
$ desc guest --title
No title for domain: guest
[exit 0]
$ metadata guest http://example.org/app
[exit 0]
$ undefine guest
Domain 'guest' has been undefined
[exit 0]
-- guest.xml --
<domain type='qemu'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <memory unit='MiB'>32</memory>
  <vcpu>2</vcpu>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
  </os>
  <features>
    <acpi/>
  </features>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='ROOT/work/disk.img'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <interface type='user'>
      <mac address='52:54:00:00:00:01'/>
      <model type='virtio'/>
    </interface>
    <memballoon model='virtio'/>
  </devices>
</domain>
-- disk.xml --
<disk type='file' device='disk'>
  <driver name='qemu' type='raw' cache='writeback'/>
  <source file='ROOT/work/disk3.img'/>
  <target dev='vdb' bus='virtio'/>
  <serial>second</serial>
</disk>
-- disk2.img --
-- disk3.img --
-- nic.xml --
<interface type='user'>
  <mac address='52:54:00:00:00:02'/>
  <model type='virtio'/>
</interface>
-- nic2.xml --
<interface type='user'>
  <mac address='52:54:00:00:00:03'/>
  <model type='virtio'/>
</interface>
-- broken.xml --
<interface type='user'>
-- twice.xml --
<disk type='file' device='disk'>
  <source file='ROOT/work/disk.img'/>
  <target dev='vda' bus='virtio'/>
</disk>
-- host.xml --
<hostdev mode='subsystem' type='pci' managed='yes'>
  <source>
    <address domain='0x0000' bus='0x00' slot='0x01' function='0x0'/>
  </source>
</hostdev>
