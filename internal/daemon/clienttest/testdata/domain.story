# A guest is defined, looked at, started paused, changed, stopped and forgotten.
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
$ list --all
 Id   Name    State
------------------------
 -    guest   shut off
[exit 0]
$ list
 Id   Name   State
--------------------
[exit 0]
$ domid guest
-
[exit 0]
$ domuuid guest
00000000-0000-4000-8000-000000000001
[exit 0]
$ domname 00000000-0000-4000-8000-000000000001
guest
[exit 0]
$ domstate guest --reason
shut off (unknown)
[exit 0]
$ dominfo guest
Id:             -
Name:           guest
UUID:           00000000-0000-4000-8000-000000000001
OS Type:        hvm
State:          shut off
CPU(s):         2
Max memory:     32768 KiB
Used memory:    32768 KiB
Persistent:     yes
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
$ domstats guest
Domain: 'guest'
  state.state=5
  state.reason=0
  balloon.current=<n>
  balloon.maximum=<n>
  vcpu.current=2
  vcpu.maximum=2
  block.count=2
  block.0.name=vda
  block.0.path=ROOT/work/disk.img
  block.0.allocation=0
  block.0.capacity=1048576
  block.0.physical=1048576
  block.1.name=hdc
[exit 0]
$ domiflist guest
 Interface   Type      Source    Model    MAC
-------------------------------------------------------------
 -           network   default   virtio   52:54:00:00:00:01
 -           user      -         e1000    52:54:00:00:00:02
[exit 0]
$ domblklist guest --details
 Type   Device   Target   Source
-----------------------------------------------------------
 file   disk     vda      ROOT/work/disk.img
 file   cdrom    hdc      -
[exit 0]
$ dumpxml guest
<domain type='qemu'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <title>A guest of a story</title>
  <description>It is never run for long.</description>
  <memory unit='KiB'>32768</memory>
  <currentMemory unit='KiB'>32768</currentMemory>
  <vcpu placement='static'>2</vcpu>
  <os>
    <type arch='x86_64' machine='pc-i440fx-<version>'>hvm</type>
    <boot dev='hd'/>
  </os>
  <features>
    <acpi/>
    <apic/>
  </features>
  <cpu mode='custom' match='exact' check='none'>
    <model fallback='forbid'>qemu64</model>
  </cpu>
  <clock offset='utc'/>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='ROOT/work/disk.img'/>
      <target dev='vda' bus='virtio'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x05' function='0x0'/>
    </disk>
    <disk type='file' device='cdrom'>
      <driver name='qemu' type='raw'/>
      <target dev='hdc' bus='ide'/>
      <readonly/>
      <address type='drive' controller='0' bus='1' target='0' unit='0'/>
    </disk>
    <controller type='usb' index='0' model='piix3-uhci'>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x2'/>
    </controller>
    <controller type='pci' index='0' model='pci-root'/>
    <controller type='ide' index='0'>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x1'/>
    </controller>
    <interface type='network'>
      <mac address='52:54:00:00:00:01'/>
      <source network='default'/>
      <model type='virtio'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x03' function='0x0'/>
    </interface>
    <interface type='user'>
      <mac address='52:54:00:00:00:02'/>
      <model type='e1000'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x04' function='0x0'/>
    </interface>
    <serial type='pty'>
      <target type='isa-serial' port='0'>
        <model name='isa-serial'/>
      </target>
    </serial>
    <console type='pty'>
      <target type='serial' port='0'/>
    </console>
    <input type='mouse' bus='ps2'/>
    <input type='keyboard' bus='ps2'/>
    <graphics type='vnc' port='-1' autoport='yes'>
      <listen type='address'/>
    </graphics>
    <audio id='1' type='none'/>
    <video>
      <model type='vga' vram='16384' heads='1' primary='yes'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x02' function='0x0'/>
    </video>
    <memballoon model='virtio'>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x06' function='0x0'/>
    </memballoon>
  </devices>
</domain>
[exit 0]
$ vncdisplay guest
error: Domain is not running
[exit 1]
$ ttyconsole guest
[exit 1]
$ net-start default
error: failed to get network 'default'
error: Network not found: no network with matching name 'default'
[exit 1]
$ net-define network.xml
Network default defined from network.xml
[exit 0]
$ net-start default
Network default started
[exit 0]
$ start guest --paused
Domain 'guest' started
[exit 0]
$ start guest
error: Domain is already active
[exit 1]
$ list --all
 Id   Name    State
----------------------
 1    guest   paused
[exit 0]
$ list --title
 Id   Name    State    Title
-------------------------------------------
 1    guest   paused   A guest of a story
[exit 0]
$ list --uuid --name
00000000-0000-4000-8000-000000000001 guest
[exit 0]
$ domid guest
1
[exit 0]
$ domname 1
guest
[exit 0]
$ domstate guest --reason
paused (user)
[exit 0]
$ dominfo guest
Id:             1
Name:           guest
UUID:           00000000-0000-4000-8000-000000000001
OS Type:        hvm
State:          paused
CPU(s):         2
CPU time:       <seconds>
Max memory:     32768 KiB
Used memory:    32768 KiB
Persistent:     yes
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
$ domcontrol guest
ok
[exit 0]
$ domstats guest
Domain: 'guest'
  state.state=3
  state.reason=1
  cpu.time=<n>
  cpu.user=<n>
  cpu.system=<n>
  balloon.current=<n>
  balloon.maximum=<n>
  balloon.rss=<n>
  vcpu.current=2
  vcpu.maximum=2
  vcpu.0.state=1
  vcpu.0.time=<n>
  vcpu.1.state=1
  vcpu.1.time=<n>
  net.count=2
  net.0.name=vnet0
  net.0.rx.bytes=<n>
  net.0.rx.pkts=<n>
  net.0.rx.errs=0
  net.0.rx.drop=0
  net.0.tx.bytes=0
  net.0.tx.pkts=0
  net.0.tx.errs=0
  net.0.tx.drop=0
  block.count=2
  block.0.name=vda
  block.0.path=ROOT/work/disk.img
  block.0.rd.reqs=0
  block.0.rd.bytes=0
  block.0.rd.times=0
  block.0.wr.reqs=0
  block.0.wr.bytes=0
  block.0.wr.times=0
  block.0.fl.reqs=0
  block.0.fl.times=0
  block.0.allocation=0
  block.0.capacity=1048576
  block.0.physical=1048576
  block.1.name=hdc
  block.1.rd.reqs=0
  block.1.rd.bytes=0
  block.1.rd.times=0
  block.1.wr.reqs=0
  block.1.wr.bytes=0
  block.1.wr.times=0
  block.1.fl.reqs=0
  block.1.fl.times=0
[exit 0]
$ domstats --state --balloon guest
Domain: 'guest'
  state.state=3
  state.reason=1
  balloon.current=<n>
  balloon.maximum=<n>
  balloon.rss=<n>
[exit 0]
$ domiflist guest
 Interface   Type      Source    Model    MAC
-------------------------------------------------------------
 vnet0       network   default   virtio   52:54:00:00:00:01
 -           user      -         e1000    52:54:00:00:00:02
[exit 0]
$ domif-getlink guest vnet0
vnet0 up
[exit 0]
$ domblklist guest
 Target   Source
-------------------------------------------
 vda      ROOT/work/disk.img
 hdc      -
[exit 0]
$ domblkinfo guest vda
Capacity:       1048576
Allocation:     0
Physical:       1048576
[exit 0]
$ domblkstat guest vda
vda rd_req 0
vda rd_bytes 0
vda wr_req 0
vda wr_bytes 0
vda flush_operations 0
vda rd_total_times 0
vda wr_total_times 0
vda flush_total_times 0
[exit 0]
$ domblkstat guest vda --human
Device: vda
 number of read operations:      0
 number of bytes read:           0
 number of write operations:     0
 number of bytes written:        0
 number of flush operations:     0
 total duration of reads (ns):   0
 total duration of writes (ns):  0
 total duration of flushes (ns): 0
[exit 0]
$ domifstat guest vnet0
vnet0 rx_bytes <n>
vnet0 rx_packets <n>
vnet0 rx_errs 0
vnet0 rx_drop 0
vnet0 tx_bytes 0
vnet0 tx_packets 0
vnet0 tx_errs 0
vnet0 tx_drop 0
[exit 0]
$ dommemstat guest
actual 32768
rss <n>
[exit 0]
$ domifaddr guest
 Name       MAC address          Protocol     Address
-------------------------------------------------------------------------------
[exit 0]
$ domifaddr guest --source arp
 Name       MAC address          Protocol     Address
-------------------------------------------------------------------------------
[exit 0]
$ domifaddr guest --source agent
error: Failed to query for interfaces addresses
error: Requested operation is not valid: domain 'guest' does not run: its guest agent cannot answer
[exit 1]
$ vncdisplay guest
127.0.0.1:0
[exit 0]
$ domdisplay guest
vnc://127.0.0.1:0
[exit 0]
$ ttyconsole guest
/dev/pts/<n>
[exit 0]
$ dumpxml guest
<domain type='qemu' id='1'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <title>A guest of a story</title>
  <description>It is never run for long.</description>
  <memory unit='KiB'>32768</memory>
  <currentMemory unit='KiB'>32768</currentMemory>
  <vcpu placement='static'>2</vcpu>
  <os>
    <type arch='x86_64' machine='pc-i440fx-<version>'>hvm</type>
    <boot dev='hd'/>
  </os>
  <features>
    <acpi/>
    <apic/>
  </features>
  <cpu mode='custom' match='exact' check='none'>
    <model fallback='forbid'>qemu64</model>
  </cpu>
  <clock offset='utc'/>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='ROOT/work/disk.img' index='2'/>
      <backingStore/>
      <target dev='vda' bus='virtio'/>
      <alias name='virtio-disk0'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x05' function='0x0'/>
    </disk>
    <disk type='file' device='cdrom'>
      <driver name='qemu'/>
      <target dev='hdc' bus='ide'/>
      <readonly/>
      <alias name='ide0-1-0'/>
      <address type='drive' controller='0' bus='1' target='0' unit='0'/>
    </disk>
    <controller type='usb' index='0' model='piix3-uhci'>
      <alias name='usb'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x2'/>
    </controller>
    <controller type='pci' index='0' model='pci-root'>
      <alias name='pci.0'/>
    </controller>
    <controller type='ide' index='0'>
      <alias name='ide'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x1'/>
    </controller>
    <interface type='network'>
      <mac address='52:54:00:00:00:01'/>
      <source network='default' portid='<uuid>' bridge='virbr0'/>
      <target dev='vnet0'/>
      <model type='virtio'/>
      <alias name='net0'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x03' function='0x0'/>
    </interface>
    <interface type='user'>
      <mac address='52:54:00:00:00:02'/>
      <model type='e1000'/>
      <alias name='net1'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x04' function='0x0'/>
    </interface>
    <serial type='pty'>
      <source path='/dev/pts/<n>'/>
      <target type='isa-serial' port='0'>
        <model name='isa-serial'/>
      </target>
      <alias name='serial0'/>
    </serial>
    <console type='pty' tty='/dev/pts/<n>'>
      <source path='/dev/pts/<n>'/>
      <target type='serial' port='0'/>
      <alias name='serial0'/>
    </console>
    <input type='mouse' bus='ps2'>
      <alias name='input0'/>
    </input>
    <input type='keyboard' bus='ps2'>
      <alias name='input1'/>
    </input>
    <graphics type='vnc' port='5900' autoport='yes' listen='127.0.0.1'>
      <listen type='address' address='127.0.0.1'/>
    </graphics>
    <audio id='1' type='none'/>
    <video>
      <model type='vga' vram='16384' heads='1' primary='yes'/>
      <alias name='video0'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x02' function='0x0'/>
    </video>
    <memballoon model='virtio'>
      <alias name='balloon0'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x06' function='0x0'/>
    </memballoon>
  </devices>
  <seclabel type='dynamic' model='dac' relabel='yes'>
    <label>+<uid>:+<gid></label>
    <imagelabel>+<uid>:+<gid></imagelabel>
  </seclabel>
</domain>
[exit 0]
$ dumpxml guest --inactive --xpath //emulator
<emulator>/usr/bin/qemu-system-x86_64</emulator>
[exit 0]
$ vcpucount guest
maximum      config         2
maximum      live           2
current      config         2
current      live           2
[exit 0]
$ vcpuinfo guest
VCPU:           0
CPU:            <n>
State:          running
CPU Affinity:   <cpus>

VCPU:           1
CPU:            <n>
State:          running
CPU Affinity:   <cpus>
[exit 0]
$ suspend guest
Domain 'guest' suspended
[exit 0]
$ resume guest
Domain 'guest' resumed
[exit 0]
$ domstate guest --reason
running (unpaused)
[exit 0]
$ suspend guest
Domain 'guest' suspended
[exit 0]
$ domstate guest --reason
paused (user)
[exit 0]
$ reset guest
Domain 'guest' was reset
[exit 0]
$ domtime guest
error: Requested operation is not valid: domain 'guest' does not run: its guest agent cannot answer
[exit 1]
$ screenshot guest shot.ppm
Screenshot saved to shot.ppm, with type of image/x-portable-pixmap
[exit 0]
$ snapshot-list guest
 Name   Creation Time   State
-------------------------------
[exit 0]
$ undefine guest
Domain 'guest' has been undefined
[exit 0]
$ list --all
 Id   Name    State
----------------------
 1    guest   paused
[exit 0]
$ list --all --transient
 Id   Name    State
----------------------
 1    guest   paused
[exit 0]
$ dominfo guest
Id:             1
Name:           guest
UUID:           00000000-0000-4000-8000-000000000001
OS Type:        hvm
State:          paused
CPU(s):         2
CPU time:       <seconds>
Max memory:     32768 KiB
Used memory:    32768 KiB
Persistent:     no
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
$ autostart guest
error: Failed to mark domain 'guest' as autostarted
error: Requested operation is not valid: cannot set autostart for transient domain 'guest'
[exit 1]
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
$ list --all --persistent
 Id   Name    State
----------------------
 1    guest   paused
[exit 0]
$ autostart guest
Domain 'guest' marked as autostarted
[exit 0]
$ dominfo guest
Id:             1
Name:           guest
UUID:           00000000-0000-4000-8000-000000000001
OS Type:        hvm
State:          paused
CPU(s):         2
CPU time:       <seconds>
Max memory:     32768 KiB
Used memory:    32768 KiB
Persistent:     yes
Autostart:      enable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
$ list --all --autostart
 Id   Name    State
----------------------
 1    guest   paused
[exit 0]
$ autostart guest --disable
Domain 'guest' unmarked as autostarted
[exit 0]
$ destroy guest
Domain 'guest' destroyed
[exit 0]
$ destroy guest
error: Failed to destroy domain 'guest'
error: Requested operation is not valid: domain 'guest' is not running
[exit 1]
$ domstate guest --reason
shut off (destroyed)
[exit 0]
$ undefine guest
Domain 'guest' has been undefined
[exit 0]
$ dominfo guest
error: failed to get domain 'guest'
[exit 1]
$ list --all
 Id   Name   State
--------------------
[exit 0]
$ net-destroy default
Network default destroyed
[exit 0]
$ net-undefine default
Network default has been undefined
[exit 0]
-- guest.xml --
<domain type='qemu'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <title>A guest of a story</title>
  <description>It is never run for long.</description>
  <memory unit='MiB'>32</memory>
  <vcpu>2</vcpu>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
    <boot dev='hd'/>
  </os>
  <features>
    <acpi/>
    <apic/>
  </features>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='ROOT/work/disk.img'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <disk type='file' device='cdrom'>
      <target dev='hdc' bus='ide'/>
    </disk>
    <interface type='network'>
      <mac address='52:54:00:00:00:01'/>
      <source network='default'/>
      <model type='virtio'/>
    </interface>
    <interface type='user'>
      <mac address='52:54:00:00:00:02'/>
      <model type='e1000'/>
    </interface>
    <serial type='pty'/>
    <graphics type='vnc' autoport='yes'/>
    <video><model type='vga'/></video>
    <memballoon model='virtio'/>
  </devices>
</domain>
-- network.xml --
<network>
  <name>default</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <forward mode='nat'/>
  <bridge name='virbr0'/>
  <mac address='52:54:00:00:00:10'/>
  <ip address='192.168.122.1' netmask='255.255.255.0'>
    <dhcp>
      <range start='192.168.122.2' end='192.168.122.254'/>
    </dhcp>
  </ip>
</network>
