# The daemon of a user: its guests are that user's, and there are no networks.
$ uri
qemu:///session
[exit 0]
$ list --all
 Id   Name   State
--------------------
[exit 0]
$ net-list --all
 Name   State   Autostart   Persistent
----------------------------------------
[exit 0]
$ define guest.xml
Domain 'tiny' defined from guest.xml
[exit 0]
$ start tiny
Domain 'tiny' started
[exit 0]
$ list
 Id   Name   State
----------------------
 1    tiny   running
[exit 0]
$ dumpxml tiny
<domain type='qemu' id='1'>
  <name>tiny</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <memory unit='KiB'>16384</memory>
  <currentMemory unit='KiB'>16384</currentMemory>
  <vcpu placement='static'>1</vcpu>
  <os>
    <type arch='x86_64' machine='pc-i440fx-<version>'>hvm</type>
    <boot dev='hd'/>
  </os>
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
      <source file='ROOT/work/disk.img' index='1'/>
      <backingStore/>
      <target dev='vda' bus='virtio'/>
      <alias name='virtio-disk0'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x03' function='0x0'/>
    </disk>
    <controller type='usb' index='0' model='none'>
      <alias name='usb'/>
    </controller>
    <controller type='pci' index='0' model='pci-root'>
      <alias name='pci.0'/>
    </controller>
    <interface type='user'>
      <mac address='52:54:00:00:00:01'/>
      <model type='virtio'/>
      <alias name='net0'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x02' function='0x0'/>
    </interface>
    <input type='mouse' bus='ps2'>
      <alias name='input0'/>
    </input>
    <input type='keyboard' bus='ps2'>
      <alias name='input1'/>
    </input>
    <audio id='1' type='none'/>
    <memballoon model='none'/>
  </devices>
</domain>
[exit 0]
$ dominfo tiny
Id:             1
Name:           tiny
UUID:           00000000-0000-4000-8000-000000000001
OS Type:        hvm
State:          running
CPU(s):         1
CPU time:       <seconds>
Max memory:     16384 KiB
Used memory:    16384 KiB
Persistent:     yes
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
# What runs outlives the daemon.
% kill
$ list
 Id   Name   State
----------------------
 1    tiny   running
[exit 0]
% restart
$ domstate tiny --reason
running (booted)
[exit 0]
$ suspend tiny
Domain 'tiny' suspended
[exit 0]
$ resume tiny
Domain 'tiny' resumed
[exit 0]
$ destroy tiny
Domain 'tiny' destroyed
[exit 0]
$ start tiny --paused
Domain 'tiny' started
[exit 0]
$ domstate tiny --reason
paused (user)
[exit 0]
% kill
$ domstate tiny
paused
[exit 0]
$ resume tiny
Domain 'tiny' resumed
[exit 0]
$ destroy tiny
Domain 'tiny' destroyed
[exit 0]
# What needs root is refused by name.
$ net-define net.xml
error: Failed to define network from net.xml
error: Operation not supported: network 'default' needs root, and this is qemu:///session; connect to qemu:///system, or give the guest <interface type='user'/>
[exit 1]
$ net-create net.xml
error: Failed to create network from net.xml
error: Operation not supported: network 'default' needs root, and this is qemu:///session; connect to qemu:///system, or give the guest <interface type='user'/>
[exit 1]
$ define onnet.xml
Domain 'onnet' defined from onnet.xml
[exit 0]
$ start onnet
error: Failed to start domain 'onnet'
error: Operation not supported: domain 'onnet': NIC 52:54:00:00:00:01: type='network' needs root, and this is qemu:///session; connect to qemu:///system, or give the guest <interface type='user'/>
[exit 1]
$ define onbridge.xml
Domain 'onbridge' defined from onbridge.xml
[exit 0]
$ start onbridge
error: Failed to start domain 'onbridge'
error: Operation not supported: domain 'onbridge': NIC 52:54:00:00:00:01: type='bridge' needs root, and this is qemu:///session; connect to qemu:///system, or give the guest <interface type='user'/>
[exit 1]
$ undefine onnet
Domain 'onnet' has been undefined
[exit 0]
$ undefine onbridge
Domain 'onbridge' has been undefined
[exit 0]
# A disk that the user may not read, one that the user may not write, and one in a folder that the user may not enter.
$ create secret.xml
error: Failed to create domain from secret.xml
error: cannot start domain 'secret': disk vda: ROOT/work/secret.img: user <uid> may not read it: chmod o+r ROOT/work/secret.img, or let qemu:///system run the guest
[exit 1]
$ create readonly.xml
error: Failed to create domain from readonly.xml
error: cannot start domain 'readonly': disk vda: ROOT/work/readonly.img: user <uid> may read it and not write it: permission denied; chown or chmod it, or let qemu:///system run the guest
[exit 1]
$ create locked.xml
error: Failed to create domain from locked.xml
error: cannot start domain 'locked': disk vda: ROOT/work/locked/locked.img: user <uid> may not enter ROOT/work/locked: chmod o+x ROOT/work/locked, or put the file elsewhere, or let qemu:///system run the guest
[exit 1]
$ undefine tiny
Domain 'tiny' has been undefined
[exit 0]
$ list --all
 Id   Name   State
--------------------
[exit 0]
-- guest.xml --
<domain type='qemu'>
  <name>tiny</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <memory unit='MiB'>16</memory>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
  </os>
  <devices>
    <controller type='usb' model='none'/>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='ROOT/work/disk.img'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <interface type='user'>
      <mac address='52:54:00:00:00:01'/>
      <model type='virtio'/>
    </interface>
    <memballoon model='none'/>
  </devices>
</domain>
-- onnet.xml --
<domain type='qemu'>
  <name>onnet</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <memory unit='MiB'>16</memory>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
  </os>
  <devices>
    <controller type='usb' model='none'/>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='ROOT/work/disk.img'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <interface type='network'>
      <mac address='52:54:00:00:00:01'/>
      <source network='default'/>
      <model type='virtio'/>
    </interface>
    <memballoon model='none'/>
  </devices>
</domain>
-- onbridge.xml --
<domain type='qemu'>
  <name>onbridge</name>
  <uuid>00000000-0000-4000-8000-000000000003</uuid>
  <memory unit='MiB'>16</memory>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
  </os>
  <devices>
    <controller type='usb' model='none'/>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='ROOT/work/disk.img'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <interface type='bridge'>
      <mac address='52:54:00:00:00:01'/>
      <source bridge='br0'/>
      <model type='virtio'/>
    </interface>
    <memballoon model='none'/>
  </devices>
</domain>
-- secret.xml --
<domain type='qemu'>
  <name>secret</name>
  <uuid>00000000-0000-4000-8000-000000000004</uuid>
  <memory unit='MiB'>16</memory>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
  </os>
  <devices>
    <controller type='usb' model='none'/>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='ROOT/work/secret.img'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <memballoon model='none'/>
  </devices>
</domain>
-- readonly.xml --
<domain type='qemu'>
  <name>readonly</name>
  <uuid>00000000-0000-4000-8000-000000000005</uuid>
  <memory unit='MiB'>16</memory>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
  </os>
  <devices>
    <controller type='usb' model='none'/>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='ROOT/work/readonly.img'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <memballoon model='none'/>
  </devices>
</domain>
-- locked.xml --
<domain type='qemu'>
  <name>locked</name>
  <uuid>00000000-0000-4000-8000-000000000006</uuid>
  <memory unit='MiB'>16</memory>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
  </os>
  <devices>
    <controller type='usb' model='none'/>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='ROOT/work/locked/locked.img'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <memballoon model='none'/>
  </devices>
</domain>
-- net.xml --
<network>
  <name>default</name>
  <forward mode='nat'/>
  <ip address='192.168.122.1' netmask='255.255.255.0'/>
</network>
