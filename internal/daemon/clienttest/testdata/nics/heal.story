$ net-define lab.xml
Network lab defined from lab.xml
[exit 0]
$ net-start lab
Network lab started
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
 vnet1       bridge    br8      e1000     52:54:00:00:00:03
 vnet2       bridge    br8      rtl8139   52:54:00:00:00:04
[exit 0]
-- lab.xml --
<network>
  <name>lab</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <bridge name='virbr-lab' stp='off' delay='0'/>
  <mac address='52:54:00:00:00:10'/>
  <ip address='192.168.131.1' netmask='255.255.255.0'/>
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
    <interface type='bridge'><mac address='52:54:00:00:00:03'/><source bridge='br8'/><model type='e1000'/></interface>
    <interface type='bridge'><mac address='52:54:00:00:00:04'/><source bridge='br8'/><model type='rtl8139'/></interface>
  </devices>
</domain>
