# A transient guest is gone when it ends; a definition of it stays.
$ create guest.xml --paused
Domain 'guest' created from guest.xml
[exit 0]
$ list --all
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
CPU(s):         1
CPU time:       <seconds>
Max memory:     16384 KiB
Used memory:    16384 KiB
Persistent:     no
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
$ dumpxml guest --inactive
<domain type='qemu'>
  <name>guest</name>
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
    <controller type='usb' index='0' model='piix3-uhci'>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x2'/>
    </controller>
    <controller type='pci' index='0' model='pci-root'/>
    <input type='mouse' bus='ps2'/>
    <input type='keyboard' bus='ps2'/>
    <audio id='1' type='none'/>
    <memballoon model='virtio'>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x02' function='0x0'/>
    </memballoon>
  </devices>
</domain>
[exit 0]
$ setmem guest 8M --config
error: Requested operation is not valid: transient domain 'guest' has no persistent configuration
[exit 1]
$ create guest.xml
error: Failed to create domain from guest.xml
error: Requested operation is not valid: domain is already running: 'guest'
[exit 1]
$ undefine guest
error: Failed to undefine domain 'guest'
error: Requested operation is not valid: cannot undefine transient domain 'guest'
[exit 1]
$ destroy guest
Domain 'guest' destroyed
[exit 0]
$ list --all
 Id   Name   State
--------------------
[exit 0]
$ create guest.xml --paused
Domain 'guest' created from guest.xml
[exit 0]
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
$ destroy guest --remove-logs
error: Failed to destroy domain 'guest'
error: invalid argument: unsupported flags (0x2) in function virDomainDestroyFlags
[exit 1]
$ destroy guest --graceful
Domain 'guest' destroyed
[exit 0]
$ list --all
 Id   Name    State
------------------------
 -    guest   shut off
[exit 0]
$ start guest
Domain 'guest' started
[exit 0]
$ list
 Id   Name    State
-----------------------
 3    guest   running
[exit 0]
$ undefine guest
Domain 'guest' has been undefined
[exit 0]
% kill
$ list --all
 Id   Name    State
-----------------------
 3    guest   running
[exit 0]
$ dominfo guest
Id:             3
Name:           guest
UUID:           00000000-0000-4000-8000-000000000001
OS Type:        hvm
State:          running
CPU(s):         1
CPU time:       <seconds>
Max memory:     16384 KiB
Used memory:    16384 KiB
Persistent:     no
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
$ define other.xml
error: Failed to define domain from other.xml
error: operation failed: domain 'guest' is already defined with uuid 00000000-0000-4000-8000-000000000001
[exit 1]
$ define namesake.xml
error: Failed to define domain from namesake.xml
error: operation failed: domain 'guest' already exists with uuid 00000000-0000-4000-8000-000000000001
[exit 1]
$ destroy guest
Domain 'guest' destroyed
[exit 0]
$ list --all
 Id   Name   State
--------------------
[exit 0]
-- guest.xml --
<domain type='qemu'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <memory unit='MiB'>16</memory>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
  </os>
</domain>
-- other.xml --
<domain type='qemu'>
  <name>other</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <memory unit='MiB'>16</memory>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
  </os>
</domain>
-- namesake.xml --
<domain type='qemu'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000003</uuid>
  <memory unit='MiB'>16</memory>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
  </os>
</domain>
