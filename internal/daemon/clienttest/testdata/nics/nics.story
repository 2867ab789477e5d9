# NICs of a guest that stands still: their links, and where they are plugged in.
$ net-define lab.xml
Network lab defined from lab.xml
[exit 0]
$ net-define other.xml
Network other defined from other.xml
[exit 0]
$ net-start lab
Network lab started
[exit 0]
$ net-start other
Network other started
[exit 0]
$ define nics.xml
Domain 'nics' defined from nics.xml
[exit 0]
$ start nics --paused
Domain 'nics' started
[exit 0]
$ domiflist nics
 Interface   Type      Source   Model     MAC
-------------------------------------------------------------
 vnet0       network   lab      virtio    52:54:00:00:00:01
 -           user      -        virtio    52:54:00:00:00:02
 vnet1       bridge    br8      e1000     52:54:00:00:00:03
 -           user      -        rtl8139   52:54:00:00:00:03
[exit 0]
# The state of a link.
$ domif-getlink nics vnet0
vnet0 up
[exit 0]
$ domif-setlink nics vnet0 down
Device updated successfully
[exit 0]
$ domif-getlink nics vnet0
vnet0 down
[exit 0]
$ domif-getlink nics vnet0 --config
error: Interface (dev: vnet0) not found.
[exit 1]
$ domif-setlink nics vnet0 up
Device updated successfully
[exit 0]
$ domif-getlink nics 52:54:00:00:00:01
52:54:00:00:00:01 up
[exit 0]
$ domif-setlink nics 52:54:00:00:00:01 down --config
Device updated successfully
[exit 0]
$ domif-getlink nics 52:54:00:00:00:01 --config
52:54:00:00:00:01 down
[exit 0]
$ domif-getlink nics 52:54:00:00:00:01
52:54:00:00:00:01 up
[exit 0]
$ domif-setlink nics 52:54:00:00:00:01 up --config
Device updated successfully
[exit 0]
$ domif-setlink nics vnet9 down
error: interface 'vnet9' not found
[exit 1]
# To another bridge, to a network, to another network, and what is defined with it.
$ update-device nics to-br8.xml --live
Device updated successfully
[exit 0]
$ domiflist nics
 Interface   Type     Source   Model     MAC
------------------------------------------------------------
 vnet0       bridge   br8      virtio    52:54:00:00:00:01
 -           user     -        virtio    52:54:00:00:00:02
 vnet1       bridge   br8      e1000     52:54:00:00:00:03
 -           user     -        rtl8139   52:54:00:00:00:03
[exit 0]
$ domiflist nics --inactive
 Interface   Type      Source   Model     MAC
-------------------------------------------------------------
 -           network   lab      virtio    52:54:00:00:00:01
 -           user      -        virtio    52:54:00:00:00:02
 -           bridge    br8      e1000     52:54:00:00:00:03
 -           user      -        rtl8139   52:54:00:00:00:03
[exit 0]
$ update-device nics to-other.xml --current
Device updated successfully
[exit 0]
$ domiflist nics
 Interface   Type      Source   Model     MAC
-------------------------------------------------------------
 vnet0       network   other    virtio    52:54:00:00:00:01
 -           user      -        virtio    52:54:00:00:00:02
 vnet1       bridge    br8      e1000     52:54:00:00:00:03
 -           user      -        rtl8139   52:54:00:00:00:03
[exit 0]
$ update-device nics to-br8.xml --live --config
Device updated successfully
[exit 0]
$ domiflist nics
 Interface   Type     Source   Model     MAC
------------------------------------------------------------
 vnet0       bridge   br8      virtio    52:54:00:00:00:01
 -           user     -        virtio    52:54:00:00:00:02
 vnet1       bridge   br8      e1000     52:54:00:00:00:03
 -           user     -        rtl8139   52:54:00:00:00:03
[exit 0]
$ domiflist nics --inactive
 Interface   Type     Source   Model     MAC
------------------------------------------------------------
 -           bridge   br8      virtio    52:54:00:00:00:01
 -           user     -        virtio    52:54:00:00:00:02
 -           bridge   br8      e1000     52:54:00:00:00:03
 -           user     -        rtl8139   52:54:00:00:00:03
[exit 0]
$ update-device nics to-lab.xml --persistent
Device updated successfully
[exit 0]
$ domiflist nics
 Interface   Type      Source   Model     MAC
-------------------------------------------------------------
 vnet0       network   lab      virtio    52:54:00:00:00:01
 -           user      -        virtio    52:54:00:00:00:02
 vnet1       bridge    br8      e1000     52:54:00:00:00:03
 -           user      -        rtl8139   52:54:00:00:00:03
[exit 0]
$ domiflist nics --inactive
 Interface   Type      Source   Model     MAC
-------------------------------------------------------------
 -           network   lab      virtio    52:54:00:00:00:01
 -           user      -        virtio    52:54:00:00:00:02
 -           bridge    br8      e1000     52:54:00:00:00:03
 -           user      -        rtl8139   52:54:00:00:00:03
[exit 0]
# Nothing is changed where one part cannot be.
$ update-device nics to-nowhere.xml --live
error: Failed to update device from to-nowhere.xml
error: domain 'nics': NIC 52:54:00:00:00:01: there is no bridge nowhere; create it (ip link add nowhere type bridge), or name another one
[exit 1]
$ update-device nics to-nowhere.xml --live --config
error: Failed to update device from to-nowhere.xml
error: domain 'nics': NIC 52:54:00:00:00:01: there is no bridge nowhere; create it (ip link add nowhere type bridge), or name another one
[exit 1]
$ update-device nics to-link.xml --live
error: Failed to update device from to-link.xml
error: unsupported configuration: domain 'nics': NIC 52:54:00:00:00:01: lo is no bridge; make a bridge with lo as its port, and name that, or use type='direct' with <source dev='lo'/>
[exit 1]
$ net-destroy other
Network other destroyed
[exit 0]
$ update-device nics to-other.xml --live
error: Failed to update device from to-other.xml
error: Requested operation is not valid: domain 'nics': network 'other' is not active; start it with `virsh net-start other`
[exit 1]
$ update-device nics to-unknown.xml --live
error: Failed to update device from to-unknown.xml
error: Network not found: domain 'nics': no network with matching name 'unknown'
[exit 1]
$ domiflist nics
 Interface   Type      Source   Model     MAC
-------------------------------------------------------------
 vnet0       network   lab      virtio    52:54:00:00:00:01
 -           user      -        virtio    52:54:00:00:00:02
 vnet1       bridge    br8      e1000     52:54:00:00:00:03
 -           user      -        rtl8139   52:54:00:00:00:03
[exit 0]
# What is settled when a NIC is plugged in.
$ update-device nics model.xml --live
error: Failed to update device from model.xml
error: Operation not supported: cannot update a device of domain 'nics': cannot modify network device model from virtio to e1000 while the guest runs; use --config, or detach the interface and attach it as it should be
[exit 1]
$ update-device nics mtu.xml --live
error: Failed to update device from mtu.xml
error: Operation not supported: cannot update a device of domain 'nics': cannot modify network MTU while the guest runs; use --config, or detach the interface and attach it as it should be
[exit 1]
$ update-device nics kind.xml --live
error: Failed to update device from kind.xml
error: Operation not supported: cannot update a device of domain 'nics': unable to change config on 'user' network type: it is a 'network' interface while the guest runs; use --config, or detach the interface and attach it as it should be
[exit 1]
$ update-device nics nobody.xml --live
error: Failed to update device from nobody.xml
error: device not found: cannot update a device of domain 'nics': no device matching MAC address 52:54:00:00:00:09 found
[exit 1]
$ update-device nics nobody.xml --config
error: Failed to update device from nobody.xml
error: device not found: cannot update a device of domain 'nics': no device matching MAC address 52:54:00:00:00:09 found
[exit 1]
$ update-device nics both.xml --live
error: Failed to update device from both.xml
error: operation failed: cannot update a device of domain 'nics': multiple devices matching MAC address 52:54:00:00:00:03 found; add the address, or the alias, of the one that is meant
[exit 1]
$ update-device nics both.xml --config
error: Failed to update device from both.xml
error: operation failed: cannot update a device of domain 'nics': multiple devices matching MAC address 52:54:00:00:00:03 found; add the address, or the alias, of the one that is meant
[exit 1]
$ update-device nics mtu.xml --config
Device updated successfully
[exit 0]
$ dumpxml nics --inactive --xpath //mtu
<mtu size="1400"/>
[exit 0]
# Plugged in and out.
$ attach-interface nics bridge nowhere --model virtio --mac 52:54:00:00:00:08
error: Failed to attach interface
error: domain 'nics': NIC 52:54:00:00:00:08: there is no bridge nowhere; create it (ip link add nowhere type bridge), or name another one
[exit 1]
$ attach-interface nics network other --model virtio --live
error: Failed to attach interface
error: Requested operation is not valid: domain 'nics': network 'other' is not active; start it with `virsh net-start other`
[exit 1]
$ attach-interface nics network unknown --model virtio --live
error: Failed to attach interface
error: Network not found: domain 'nics': no network with matching name 'unknown'
[exit 1]
$ attach-interface nics bridge br8 --model virtio --mac 52:54:00:00:00:07 --config
Interface attached successfully
[exit 0]
$ domiflist nics --inactive
 Interface   Type      Source   Model     MAC
-------------------------------------------------------------
 -           network   lab      virtio    52:54:00:00:00:01
 -           user      -        virtio    52:54:00:00:00:02
 -           bridge    br8      e1000     52:54:00:00:00:03
 -           user      -        rtl8139   52:54:00:00:00:03
 -           bridge    br8      virtio    52:54:00:00:00:07
[exit 0]
$ detach-interface nics bridge --mac 52:54:00:00:00:07 --config
Interface detached successfully
[exit 0]
$ detach-interface nics bridge --mac 52:54:00:00:00:07 --live
error: No interface with MAC address 52:54:00:00:00:07 was found
error: Failed to detach interface
[exit 1]
$ attach-interface nics bridge br8 --model virtio --inbound 1000,500,137001 --live
error: Failed to attach interface
error: XML error: invalid devices/interface/bandwidth/inbound/@burst: at 500 KiB/s it lasts longer than 274 s; 137000 KiB is the most
[exit 1]
$ update-device nics filter.xml --live
Device updated successfully
[exit 0]
$ update-device nics shaped.xml --live
Device updated successfully
[exit 0]
$ detach-device nics both.xml --live
error: Failed to detach device from both.xml
error: operation failed: cannot detach a device from domain 'nics': multiple devices matching MAC address 52:54:00:00:00:03 found; add the address, or the alias, of the one that is meant
[exit 1]
$ detach-device nics nobody.xml --live
error: Failed to detach device from nobody.xml
error: device not found: cannot detach a device from domain 'nics': no device matching MAC address 52:54:00:00:00:09 found
[exit 1]
$ domiflist nics --inactive
 Interface   Type      Source   Model     MAC
-------------------------------------------------------------
 -           network   lab      virtio    52:54:00:00:00:01
 -           user      -        virtio    52:54:00:00:00:02
 -           bridge    br8      e1000     52:54:00:00:00:03
 -           user      -        rtl8139   52:54:00:00:00:03
[exit 0]
# What they count, and which addresses are known.
$ domifstat nics vnet0
vnet0 rx_bytes <n>
vnet0 rx_packets <n>
vnet0 rx_errs 0
vnet0 rx_drop 0
vnet0 tx_bytes 0
vnet0 tx_packets 0
vnet0 tx_errs 0
vnet0 tx_drop 0
[exit 0]
$ domifstat nics vnet99
error: Failed to get interface stats nics vnet99
error: invalid argument: domain 'nics' has no interface 'vnet99'
[exit 1]
$ domifaddr nics
 Name       MAC address          Protocol     Address
-------------------------------------------------------------------------------
[exit 0]
$ domifaddr nics --source arp
 Name       MAC address          Protocol     Address
-------------------------------------------------------------------------------
[exit 0]
$ domifaddr nics --source agent
error: Failed to query for interfaces addresses
error: Requested operation is not valid: domain 'nics' does not run: its guest agent cannot answer
[exit 1]
$ domstats nics --interface
Domain: 'nics'
  net.count=4
  net.0.name=vnet0
  net.0.rx.bytes=<n>
  net.0.rx.pkts=<n>
  net.0.rx.errs=0
  net.0.rx.drop=0
  net.0.tx.bytes=0
  net.0.tx.pkts=0
  net.0.tx.errs=0
  net.0.tx.drop=0
  net.2.name=vnet1
  net.2.rx.bytes=<n>
  net.2.rx.pkts=<n>
  net.2.rx.errs=0
  net.2.rx.drop=0
  net.2.tx.bytes=0
  net.2.tx.pkts=0
  net.2.tx.errs=0
  net.2.tx.drop=0
[exit 0]
-- lab.xml --
<network>
  <name>lab</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <bridge name='virbr-lab' stp='off' delay='0'/>
  <mac address='52:54:00:00:00:10'/>
  <ip address='192.168.131.1' netmask='255.255.255.0'/>
</network>
-- other.xml --
<network>
  <name>other</name>
  <uuid>00000000-0000-4000-8000-000000000003</uuid>
  <bridge name='virbr-other' stp='off' delay='0'/>
  <mac address='52:54:00:00:00:11'/>
  <ip address='192.168.132.1' netmask='255.255.255.0'/>
</network>
-- nics.xml --
<domain type='qemu'>
  <name>nics</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <controller type='usb' model='none'/>
    <interface type='network'><mac address='52:54:00:00:00:01'/><source network='lab'/><model type='virtio'/></interface>
    <interface type='user'><mac address='52:54:00:00:00:02'/><model type='virtio'/></interface>
    <interface type='bridge'><mac address='52:54:00:00:00:03'/><source bridge='br8'/><model type='e1000'/></interface>
    <interface type='user'><mac address='52:54:00:00:00:03'/><model type='rtl8139'/></interface>
  </devices>
</domain>
-- to-br8.xml --
<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br8'/><model type='virtio'/></interface>
-- to-lab.xml --
<interface type='network'><mac address='52:54:00:00:00:01'/><source network='lab'/><model type='virtio'/></interface>
-- to-other.xml --
<interface type='network'><mac address='52:54:00:00:00:01'/><source network='other'/><model type='virtio'/></interface>
-- to-nowhere.xml --
<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='nowhere'/><model type='virtio'/></interface>
-- to-link.xml --
<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='lo'/><model type='virtio'/></interface>
-- to-unknown.xml --
<interface type='network'><mac address='52:54:00:00:00:01'/><source network='unknown'/><model type='virtio'/></interface>
-- model.xml --
<interface type='network'><mac address='52:54:00:00:00:01'/><source network='lab'/><model type='e1000'/></interface>
-- mtu.xml --
<interface type='network'><mac address='52:54:00:00:00:01'/><source network='lab'/><model type='virtio'/><mtu size='1400'/></interface>
-- kind.xml --
<interface type='user'><mac address='52:54:00:00:00:01'/><model type='virtio'/></interface>
-- nobody.xml --
<interface type='network'><mac address='52:54:00:00:00:09'/><source network='lab'/><model type='virtio'/></interface>
-- both.xml --
<interface type='bridge'><mac address='52:54:00:00:00:03'/><source bridge='br8'/><link state='down'/></interface>
-- filter.xml --
<interface type='network'><mac address='52:54:00:00:00:01'/><source network='lab'/><filterref filter='clean-traffic'/></interface>
-- shaped.xml --
<interface type='network'><mac address='52:54:00:00:00:01'/><source network='lab'/><bandwidth><inbound average='1000'/></bandwidth></interface>
