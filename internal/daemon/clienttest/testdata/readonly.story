# A read-only connection sees and changes nothing, and sees no secret.
$ net-define network.xml
Network default defined from network.xml
[exit 0]
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
r$ list --all
 Id   Name    State
------------------------
 -    guest   shut off
[exit 0]
r$ dominfo guest
Id:             -
Name:           guest
UUID:           00000000-0000-4000-8000-000000000001
OS Type:        hvm
State:          shut off
CPU(s):         1
Max memory:     16384 KiB
Used memory:    16384 KiB
Persistent:     yes
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
r$ dumpxml guest
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
    <interface type='network'>
      <mac address='52:54:00:00:00:01'/>
      <source network='default'/>
      <model type='virtio'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x03' function='0x0'/>
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
      <model type='cirrus' vram='16384' heads='1' primary='yes'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x02' function='0x0'/>
    </video>
    <memballoon model='virtio'>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x04' function='0x0'/>
    </memballoon>
  </devices>
</domain>
[exit 0]
r$ dumpxml guest --security-info
error: operation forbidden: virDomainGetXMLDesc with secure flag
[exit 1]
$ dumpxml guest --security-info --xpath //graphics
<graphics type="vnc" port="-1" autoport="yes" passwd="secret">
  <listen type="address"/>
</graphics>
[exit 0]
r$ start guest
error: Failed to start domain 'guest'
error: operation forbidden: read only access prevents virDomainCreate
[exit 1]
r$ define guest.xml
error: Failed to define domain from guest.xml
error: operation forbidden: read only access prevents virDomainDefineXML
[exit 1]
r$ undefine guest
error: Failed to undefine domain 'guest'
error: operation forbidden: read only access prevents virDomainUndefineFlags
[exit 1]
r$ autostart guest
error: Failed to mark domain 'guest' as autostarted
error: operation forbidden: read only access prevents virDomainSetAutostart
[exit 1]
r$ setmem guest 16M --config
error: operation forbidden: read only access prevents virDomainSetMemoryFlags
[exit 1]
r$ attach-device guest guest.xml --config
error: Failed to attach device from guest.xml
error: operation forbidden: read only access prevents virDomainAttachDeviceFlags
[exit 1]
r$ create guest.xml
error: Failed to create domain from guest.xml
error: operation forbidden: read only access prevents virDomainCreateXML
[exit 1]
$ net-start default
Network default started
[exit 0]
$ start guest --paused
Domain 'guest' started
[exit 0]
r$ domstate guest
paused
[exit 0]
r$ domstats --state guest
Domain: 'guest'
  state.state=3
  state.reason=1
[exit 0]
r$ domiflist guest
 Interface   Type      Source    Model    MAC
-------------------------------------------------------------
 vnet0       network   default   virtio   52:54:00:00:00:01
[exit 0]
r$ suspend guest
error: Failed to suspend domain 'guest'
error: operation forbidden: read only access prevents virDomainSuspend
[exit 1]
r$ resume guest
error: Failed to resume domain 'guest'
error: operation forbidden: read only access prevents virDomainResume
[exit 1]
r$ reset guest
error: Failed to reset domain 'guest'
error: operation forbidden: read only access prevents virDomainReset
[exit 1]
r$ reboot guest
error: Failed to reboot domain 'guest'
error: operation forbidden: read only access prevents virDomainReboot
[exit 1]
r$ shutdown guest
error: Failed to shutdown domain 'guest'
error: operation forbidden: read only access prevents virDomainShutdown
[exit 1]
r$ destroy guest
error: Failed to destroy domain 'guest'
error: operation forbidden: read only access prevents virDomainDestroy
[exit 1]
r$ console guest
error: Cannot run interactive console without a controlling TTY
[exit 1]
r$ net-list
 Name      State    Autostart   Persistent
--------------------------------------------
 default   active   no          yes
[exit 0]
r$ net-info default
Name:           default
UUID:           00000000-0000-4000-8000-000000000002
Active:         yes
Persistent:     yes
Autostart:      no
Bridge:         virbr0
[exit 0]
r$ net-dhcp-leases default
 Expiry Time   MAC address   Protocol   IP address   Hostname   Client ID or DUID
-----------------------------------------------------------------------------------
[exit 0]
r$ net-define network.xml
error: Failed to define network from network.xml
error: operation forbidden: read only access prevents virNetworkDefineXML
[exit 1]
r$ net-destroy default
error: Failed to destroy network default
error: operation forbidden: read only access prevents virNetworkDestroy
[exit 1]
r$ net-undefine default
error: Failed to undefine network default
error: operation forbidden: read only access prevents virNetworkUndefine
[exit 1]
r$ net-autostart default
error: failed to mark network default as autostarted
error: operation forbidden: read only access prevents virNetworkSetAutostart
[exit 1]
r$ net-update default add ip-dhcp-host host.xml --live
error: Failed to update network default
error: operation forbidden: read only access prevents virNetworkUpdate
[exit 1]
$ dumpxml guest --security-info --xpath //graphics
<graphics type="vnc" port="5900" autoport="yes" listen="127.0.0.1" passwd="secret">
  <listen type="address" address="127.0.0.1"/>
</graphics>
[exit 0]
r$ dumpxml guest --xpath //graphics
<graphics type="vnc" port="5900" autoport="yes" listen="127.0.0.1">
  <listen type="address" address="127.0.0.1"/>
</graphics>
[exit 0]
r$ list --all
 Id   Name    State
----------------------
 1    guest   paused
[exit 0]
$ destroy guest
Domain 'guest' destroyed
[exit 0]
$ undefine guest
Domain 'guest' has been undefined
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
  <memory unit='MiB'>16</memory>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
  </os>
  <devices>
    <interface type='network'>
      <mac address='52:54:00:00:00:01'/>
      <source network='default'/>
      <model type='virtio'/>
    </interface>
    <serial type='pty'/>
    <graphics type='vnc' autoport='yes' passwd='secret'/>
  </devices>
</domain>
-- host.xml --
<host mac='52:54:00:00:00:02' ip='192.168.122.12'/>
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
