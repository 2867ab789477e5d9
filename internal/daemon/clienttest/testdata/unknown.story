# What taproom does not know stays in the document; what it knows and cannot do is refused by name.
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
$ dumpxml guest
<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <metadata>
    <app:tag xmlns:app='http://example.org/app' level='3'><app:note>x &amp; y</app:note></app:tag>
  </metadata>
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
    <video>
      <model type='vga' vram='16384' heads='1' primary='yes' future='yes'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x02' function='0x0'/>
    </video>
    <memballoon model='virtio'>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x03' function='0x0'/>
    </memballoon>
    <gadget name='one'/>
  </devices>
  <qemu:commandline>
    <qemu:arg value='-name'/>
    <qemu:arg value='guest,debug-threads=on'/>
  </qemu:commandline>
  <future kind='a'><deep>er</deep></future>
</domain>
[exit 0]
% kill
$ dumpxml guest
<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <metadata>
    <app:tag xmlns:app='http://example.org/app' level='3'><app:note>x &amp; y</app:note></app:tag>
  </metadata>
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
    <video>
      <model type='vga' vram='16384' heads='1' primary='yes' future='yes'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x02' function='0x0'/>
    </video>
    <memballoon model='virtio'>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x03' function='0x0'/>
    </memballoon>
    <gadget name='one'/>
  </devices>
  <qemu:commandline>
    <qemu:arg value='-name'/>
    <qemu:arg value='guest,debug-threads=on'/>
  </qemu:commandline>
  <future kind='a'><deep>er</deep></future>
</domain>
[exit 0]
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
$ start guest --paused
Domain 'guest' started
[exit 0]
$ dumpxml guest
<domain type='qemu' id='1' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <metadata>
    <app:tag xmlns:app='http://example.org/app' level='3'><app:note>x &amp; y</app:note></app:tag>
  </metadata>
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
      <alias name='usb'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x2'/>
    </controller>
    <controller type='pci' index='0' model='pci-root'>
      <alias name='pci.0'/>
    </controller>
    <input type='mouse' bus='ps2'>
      <alias name='input0'/>
    </input>
    <input type='keyboard' bus='ps2'>
      <alias name='input1'/>
    </input>
    <audio id='1' type='none'/>
    <video>
      <model type='vga' vram='16384' heads='1' primary='yes' future='yes'/>
      <alias name='video0'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x02' function='0x0'/>
    </video>
    <memballoon model='virtio'>
      <alias name='balloon0'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x03' function='0x0'/>
    </memballoon>
    <gadget name='one'/>
  </devices>
  <seclabel type='dynamic' model='dac' relabel='yes'>
    <label>+<uid>:+<gid></label>
    <imagelabel>+<uid>:+<gid></imagelabel>
  </seclabel>
  <qemu:commandline>
    <qemu:arg value='-name'/>
    <qemu:arg value='guest,debug-threads=on'/>
  </qemu:commandline>
  <future kind='a'><deep>er</deep></future>
</domain>
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
Persistent:     yes
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
Messages:       tainted: custom-argv
[exit 0]
$ dumpxml guest --inactive --xpath //metadata
<metadata>
  <app:tag xmlns:app="http://example.org/app" level="3">
    <app:note>x &amp; y</app:note>
  </app:tag>
</metadata>
[exit 0]
$ destroy guest
Domain 'guest' destroyed
[exit 0]
$ undefine guest
Domain 'guest' has been undefined
[exit 0]
$ define hostdev.xml
error: Failed to define domain from hostdev.xml
error: unsupported configuration: domain 'hostdev': devices/hostdev is not supported: host devices are not passed through yet
[exit 1]
$ define lease.xml
error: Failed to define domain from lease.xml
error: unsupported configuration: domain 'lease': devices/lease is not supported: there is no lock manager
[exit 1]
$ define machine.xml
error: Failed to define domain from machine.xml
error: unsupported configuration: domain 'machine': os/type is not supported: emulator /usr/bin/qemu-system-x86_64 has no machine "pc-i440fx-<version>"
[exit 1]
$ define kvm.xml
error: Failed to define domain from kvm.xml
error: unsupported configuration: domain 'xen': @type is not supported: "xen" is not implemented; use qemu or kvm
[exit 1]
$ net-define dnsmasq.xml
error: Failed to define network from dnsmasq.xml
error: unsupported configuration: network 'options': dnsmasq:options/dnsmasq:option/@value is not supported: option "log-queries" of dnsmasq is not read; leave it out
[exit 1]
$ define /nowhere.xml
error: Failed to open file '/nowhere.xml': No such file or directory
[exit 1]
$ define broken.xml
error: Failed to define domain from broken.xml
error: XML error: line 2: <name> is closed by </nome>
[exit 1]
$ define empty.xml
error: Failed to define domain from empty.xml
error: XML error: line 1: document is empty
[exit 1]
$ list --all
 Id   Name   State
--------------------
[exit 0]
-- guest.xml --
<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <metadata>
    <app:tag xmlns:app='http://example.org/app' level='3'><app:note>x &amp; y</app:note></app:tag>
  </metadata>
  <memory unit='MiB'>16</memory>
  <future kind='a'><deep>er</deep></future>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
  </os>
  <devices>
    <video>
      <model type='vga' future='yes'/>
    </video>
    <gadget name='one'/>
  </devices>
  <qemu:commandline>
    <qemu:arg value='-name'/>
    <qemu:arg value='guest,debug-threads=on'/>
  </qemu:commandline>
</domain>
-- hostdev.xml --
<domain type='qemu'>
  <name>hostdev</name>
  <memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <hostdev mode='subsystem' type='pci'><source><address domain='0' bus='0' slot='1' function='0'/></source></hostdev>
  </devices>
</domain>
-- lease.xml --
<domain type='qemu'>
  <name>lease</name>
  <memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <lease><key>x</key></lease>
  </devices>
</domain>
-- machine.xml --
<domain type='qemu'>
  <name>machine</name>
  <memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='pc-i440fx-99.0'>hvm</type></os>
</domain>
-- kvm.xml --
<domain type='xen'>
  <name>xen</name>
  <memory unit='MiB'>16</memory>
  <os><type arch='x86_64'>hvm</type></os>
</domain>
-- dnsmasq.xml --
<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'>
  <name>options</name>
  <ip address='192.168.122.1' netmask='255.255.255.0'/>
  <dnsmasq:options>
    <dnsmasq:option value='log-queries'/>
  </dnsmasq:options>
</network>
-- broken.xml --
<domain type='qemu'>
  <name>broken</nome>
</domain>
-- empty.xml --
