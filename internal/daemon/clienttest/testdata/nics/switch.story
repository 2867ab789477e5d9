# NICs on Open vSwitch, of a guest that stands still.
$ define switch.xml
Domain 'switch' defined from switch.xml
[exit 0]
$ start switch --paused
Domain 'switch' started
[exit 0]
$ domiflist switch
 Interface   Type     Source   Model    MAC
-----------------------------------------------------------
 vnet0       bridge   ovs0     virtio   52:54:00:00:00:01
 vnet1       bridge   ovs0     virtio   52:54:00:00:00:02
[exit 0]
$ domiflist switch --inactive
 Interface   Type     Source   Model    MAC
-----------------------------------------------------------
 -           bridge   ovs0     virtio   52:54:00:00:00:01
 -           bridge   ovs0     virtio   52:54:00:00:00:02
[exit 0]
$ dumpxml switch --xpath //interface
<interface type="bridge">
  <mac address="52:54:00:00:00:01"/>
  <source bridge="ovs0"/>
  <virtualport type="openvswitch">
    <parameters interfaceid="<uuid>" profileid="gold"/>
  </virtualport>
  <target dev="vnet0"/>
  <model type="virtio"/>
  <alias name="net0"/>
  <address type="pci" domain="0x0000" bus="0x01" slot="0x00" function="0x0"/>
</interface>
<interface type="bridge">
  <mac address="52:54:00:00:00:02"/>
  <source bridge="ovs0"/>
  <vlan trunk="yes">
    <tag id="42"/>
    <tag id="123" nativeMode="untagged"/>
  </vlan>
  <virtualport type="openvswitch">
    <parameters interfaceid="<uuid>"/>
  </virtualport>
  <target dev="vnet1"/>
  <model type="virtio"/>
  <alias name="net1"/>
  <address type="pci" domain="0x0000" bus="0x02" slot="0x00" function="0x0"/>
</interface>
[exit 0]
$ dumpxml switch --inactive --xpath //interface
<interface type="bridge">
  <mac address="52:54:00:00:00:01"/>
  <source bridge="ovs0"/>
  <virtualport type="openvswitch">
    <parameters interfaceid="<uuid>" profileid="gold"/>
  </virtualport>
  <model type="virtio"/>
  <address type="pci" domain="0x0000" bus="0x01" slot="0x00" function="0x0"/>
</interface>
<interface type="bridge">
  <mac address="52:54:00:00:00:02"/>
  <source bridge="ovs0"/>
  <vlan trunk="yes">
    <tag id="42"/>
    <tag id="123" nativeMode="untagged"/>
  </vlan>
  <virtualport type="openvswitch">
    <parameters interfaceid="<uuid>"/>
  </virtualport>
  <model type="virtio"/>
  <address type="pci" domain="0x0000" bus="0x02" slot="0x00" function="0x0"/>
</interface>
[exit 0]
# One more, which gets a name for those who control the switch.
$ attach-device switch one.xml --live
Device attached successfully
[exit 0]
$ domiflist switch
 Interface   Type     Source   Model    MAC
-----------------------------------------------------------
 vnet0       bridge   ovs0     virtio   52:54:00:00:00:01
 vnet1       bridge   ovs0     virtio   52:54:00:00:00:02
 vnet2       bridge   ovs0     virtio   52:54:00:00:00:03
[exit 0]
# The VLANs of a port.
$ update-device switch vlan.xml --live
Device updated successfully
[exit 0]
$ update-device switch novlan.xml --live
Device updated successfully
[exit 0]
$ update-device switch vlan.xml --live
Device updated successfully
[exit 0]
# Where they cannot go.
$ define linux.xml
Domain 'linux' defined from linux.xml
[exit 0]
$ start linux
error: Failed to start domain 'linux'
error: unsupported configuration: domain 'linux': NIC 52:54:00:00:00:04: br8 is a Linux bridge and none of Open vSwitch; leave <virtualport type='openvswitch'/> out, or name a bridge of Open vSwitch (ovs-vsctl add-br)
[exit 1]
$ undefine linux
Domain 'linux' has been undefined
[exit 0]
$ define plain.xml
Domain 'plain' defined from plain.xml
[exit 0]
$ start plain
error: Failed to start domain 'plain'
error: unsupported configuration: domain 'plain': NIC 52:54:00:00:00:05: ovs0 is a bridge of Open vSwitch; add <virtualport type='openvswitch'/> to the interface
[exit 1]
$ undefine plain
Domain 'plain' has been undefined
[exit 0]
$ define nobridge.xml
Domain 'nobridge' defined from nobridge.xml
[exit 0]
$ start nobridge
error: Failed to start domain 'nobridge'
error: operation failed: cannot start domain 'nobridge': Open vSwitch has no bridge ovs9; create it (ovs-vsctl add-br ovs9), or name another one
[exit 1]
$ undefine nobridge
Domain 'nobridge' has been undefined
[exit 0]
$ define qbg.xml
error: Failed to define domain from qbg.xml
error: unsupported configuration: domain 'qbg': devices/interface/virtualport/@type is not supported: "802.1Qbg" is not implemented; use openvswitch
[exit 1]
$ attach-device switch untagged.xml --live
error: Failed to attach device from untagged.xml
error: unsupported configuration: devices/interface/vlan is not supported: a Linux bridge sets no tags here; plug the NIC into a bridge of Open vSwitch, with <virtualport type='openvswitch'/>
[exit 1]
-- switch.xml --
<domain type='qemu'>
  <name>switch</name>
  <uuid>5c1fa002-0000-4000-8000-000000000001</uuid>
  <memory unit='MiB'>16</memory>
  <os><type machine='q35'>hvm</type></os>
  <devices>
    <controller type='pci' index='1' model='pcie-root-port'/>
    <controller type='pci' index='2' model='pcie-root-port'/>
    <controller type='pci' index='3' model='pcie-root-port'/>
    <controller type='pci' index='4' model='pcie-root-port'/>
    <interface type='bridge'>
      <mac address='52:54:00:00:00:01'/>
      <source bridge='ovs0'/>
      <virtualport type='openvswitch'>
        <parameters interfaceid='09b11c53-8b5c-4eeb-8f00-d84eaa0aaa4f' profileid='gold'/>
      </virtualport>
      <model type='virtio'/>
    </interface>
    <interface type='bridge'>
      <mac address='52:54:00:00:00:02'/>
      <source bridge='ovs0'/>
      <vlan><tag id='42'/><tag id='123' nativeMode='untagged'/></vlan>
      <virtualport type='openvswitch'>
        <parameters interfaceid='09b11c53-8b5c-4eeb-8f00-d84eaa0aaa50'/>
      </virtualport>
      <model type='virtio'/>
    </interface>
    <memballoon model='none'/>
  </devices>
</domain>
-- one.xml --
<interface type='bridge'>
  <mac address='52:54:00:00:00:03'/>
  <source bridge='ovs0'/>
  <virtualport type='openvswitch'/>
  <model type='virtio'/>
</interface>
-- vlan.xml --
<interface type='bridge'>
  <mac address='52:54:00:00:00:01'/>
  <source bridge='ovs0'/>
  <vlan><tag id='7'/></vlan>
  <virtualport type='openvswitch'/>
  <model type='virtio'/>
</interface>
-- novlan.xml --
<interface type='bridge'>
  <mac address='52:54:00:00:00:01'/>
  <source bridge='ovs0'/>
  <virtualport type='openvswitch'/>
  <model type='virtio'/>
</interface>
-- untagged.xml --
<interface type='bridge'>
  <source bridge='ovs0'/>
  <vlan><tag id='7'/></vlan>
  <model type='virtio'/>
</interface>
-- linux.xml --
<domain type='qemu'>
  <name>linux</name>
  <memory unit='MiB'>16</memory>
  <os><type machine='q35'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <mac address='52:54:00:00:00:04'/>
      <source bridge='br8'/>
      <virtualport type='openvswitch'/>
      <model type='virtio'/>
    </interface>
  </devices>
</domain>
-- plain.xml --
<domain type='qemu'>
  <name>plain</name>
  <memory unit='MiB'>16</memory>
  <os><type machine='q35'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <mac address='52:54:00:00:00:05'/>
      <source bridge='ovs0'/>
      <model type='virtio'/>
    </interface>
  </devices>
</domain>
-- nobridge.xml --
<domain type='qemu'>
  <name>nobridge</name>
  <memory unit='MiB'>16</memory>
  <os><type machine='q35'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <mac address='52:54:00:00:00:06'/>
      <source bridge='ovs9'/>
      <virtualport type='openvswitch'/>
      <model type='virtio'/>
    </interface>
  </devices>
</domain>
-- qbg.xml --
<domain type='qemu'>
  <name>qbg</name>
  <memory unit='MiB'>16</memory>
  <os><type machine='q35'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <source bridge='ovs0'/>
      <virtualport type='802.1Qbg'/>
    </interface>
  </devices>
</domain>
