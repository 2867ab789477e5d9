# Each NIC of a running guest on a network is a port of it, and clients make more for NICs of their own.
$ net-define lab.xml
Network lab defined from lab.xml
[exit 0]
$ net-port-list lab
 UUID
-------
[exit 0]
$ net-port-create lab port.xml
error: Failed to create network from port.xml
error: Requested operation is not valid: network 'lab' is not active
[exit 1]
$ net-start lab
Network lab started
[exit 0]
$ define guest.xml
Domain 'ports' defined from guest.xml
[exit 0]
$ start ports --paused
Domain 'ports' started
[exit 0]
$ net-port-create lab port.xml
Network port 00000000-0000-4000-8000-000000000005 created from port.xml
[exit 0]
$ net-port-create lab port.xml
error: Failed to create network from port.xml
error: Network port with UUID 00000000-0000-4000-8000-000000000005 already exists
[exit 1]
$ net-port-create lab nobody.xml
error: Failed to create network from nobody.xml
error: XML error: port of network 'lab': invalid owner/name: it is missing
[exit 1]
$ net-port-create lab elsewhere.xml
error: Failed to create network from elsewhere.xml
error: XML error: port of network 'lab': it is plugged into network 'virbr-lab', not network 'br9'
[exit 1]
$ net-port-create lab shaped.xml
Network port <uuid> created from shaped.xml
[exit 0]
$ net-port-list lab
 UUID
---------------------------------------
 00000000-0000-4000-8000-000000000005
 <uuid>
 <uuid>
[exit 0]
r$ net-port-list lab
 UUID
---------------------------------------
 00000000-0000-4000-8000-000000000005
 <uuid>
 <uuid>
[exit 0]
$ net-port-dumpxml lab 00000000-0000-4000-8000-000000000005
<networkport>
  <uuid>00000000-0000-4000-8000-000000000005</uuid>
  <owner>
    <name>mine</name>
    <uuid>00000000-0000-4000-8000-000000000009</uuid>
  </owner>
  <mac address='52:54:00:00:00:05'/>
  <plug type='network' bridge='virbr-lab'/>
</networkport>
[exit 0]
r$ net-port-delete lab 00000000-0000-4000-8000-000000000005
error: Failed to delete network port 00000000-0000-4000-8000-000000000005
[exit 0]
$ net-port-dumpxml lab 00000000-0000-4000-8000-000000000006
error: failed to get network port '00000000-0000-4000-8000-000000000006'
[exit 0]
$ net-dumpxml lab
<network connections='3'>
  <name>lab</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <bridge name='virbr-lab' stp='off' delay='0'/>
  <mac address='52:54:00:00:00:10'/>
  <ip address='192.168.131.1' netmask='255.255.255.0'/>
</network>
[exit 0]
% kill
$ net-port-dumpxml lab 00000000-0000-4000-8000-000000000005
<networkport>
  <uuid>00000000-0000-4000-8000-000000000005</uuid>
  <owner>
    <name>mine</name>
    <uuid>00000000-0000-4000-8000-000000000009</uuid>
  </owner>
  <mac address='52:54:00:00:00:05'/>
  <plug type='network' bridge='virbr-lab'/>
</networkport>
[exit 0]
$ net-port-delete lab 00000000-0000-4000-8000-000000000005
Network port 00000000-0000-4000-8000-000000000005 deleted
[exit 0]
$ net-port-delete lab 00000000-0000-4000-8000-000000000005
error: failed to get network port '00000000-0000-4000-8000-000000000005'
[exit 0]
$ net-port-create lab port.xml
Network port 00000000-0000-4000-8000-000000000005 created from port.xml
[exit 0]
$ net-destroy lab
Network lab destroyed
[exit 0]
$ net-port-list lab
 UUID
---------------------------------------
 <uuid>
[exit 0]
$ net-start lab
Network lab started
[exit 0]
$ net-port-list lab
 UUID
---------------------------------------
 <uuid>
[exit 0]
-- lab.xml --
<network>
  <name>lab</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <bridge name='virbr-lab' stp='off' delay='0'/>
  <mac address='52:54:00:00:00:10'/>
  <ip address='192.168.131.1' netmask='255.255.255.0'/>
</network>
-- guest.xml --
<domain type='qemu'>
  <name>ports</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <controller type='usb' model='none'/>
    <interface type='network'><mac address='52:54:00:00:00:01'/><source network='lab'/><model type='virtio'/><port isolated='yes'/></interface>
  </devices>
</domain>
-- port.xml --
<networkport>
  <uuid>00000000-0000-4000-8000-000000000005</uuid>
  <owner><name>mine</name><uuid>00000000-0000-4000-8000-000000000009</uuid></owner>
  <mac address='52:54:00:00:00:05'/>
</networkport>
-- nobody.xml --
<networkport>
  <mac address='52:54:00:00:00:05'/>
</networkport>
-- elsewhere.xml --
<networkport>
  <owner><name>mine</name><uuid>00000000-0000-4000-8000-000000000009</uuid></owner>
  <mac address='52:54:00:00:00:05'/>
  <plug type='network' bridge='br9'/>
</networkport>
-- shaped.xml --
<networkport>
  <owner><name>mine</name><uuid>00000000-0000-4000-8000-000000000009</uuid></owner>
  <mac address='52:54:00:00:00:05'/>
  <bandwidth><inbound average='1000'/></bandwidth>
</networkport>
