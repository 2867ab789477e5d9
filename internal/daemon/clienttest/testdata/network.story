# A network is defined, started, changed while it runs, stopped and forgotten.
$ net-define network.xml
Network lab defined from network.xml
[exit 0]
$ net-list --all
 Name   State      Autostart   Persistent
-------------------------------------------
 lab    inactive   no          yes
[exit 0]
$ net-list
 Name   State   Autostart   Persistent
----------------------------------------
[exit 0]
$ net-info lab
Name:           lab
UUID:           00000000-0000-4000-8000-000000000002
Active:         no
Persistent:     yes
Autostart:      no
Bridge:         virbr-lab
[exit 0]
$ net-dumpxml lab
<network>
  <name>lab</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <forward mode='nat'/>
  <bridge name='virbr-lab' stp='on' delay='0'/>
  <mac address='52:54:00:00:00:10'/>
  <domain name='lab.test'/>
  <ip address='192.168.122.1' netmask='255.255.255.0'>
    <dhcp>
      <range start='192.168.122.2' end='192.168.122.254'/>
      <host mac='52:54:00:00:00:01' name='one' ip='192.168.122.11'/>
    </dhcp>
  </ip>
</network>
[exit 0]
$ net-uuid lab
00000000-0000-4000-8000-000000000002
[exit 0]
$ net-name 00000000-0000-4000-8000-000000000002
lab
[exit 0]
$ net-dhcp-leases lab
error: Failed to get leases info for lab
error: Requested operation is not valid: network 'lab' is not active
[exit 1]
$ net-autostart lab
Network lab marked as autostarted
[exit 0]
$ net-list --all --autostart
 Name   State      Autostart   Persistent
-------------------------------------------
 lab    inactive   yes         yes
[exit 0]
$ net-autostart lab --disable
Network lab unmarked as autostarted
[exit 0]
$ net-start lab
Network lab started
[exit 0]
$ net-start lab
error: Failed to start network lab
error: Requested operation is not valid: network is already active: 'lab'
[exit 1]
$ net-list
 Name   State    Autostart   Persistent
-----------------------------------------
 lab    active   no          yes
[exit 0]
$ net-info lab
Name:           lab
UUID:           00000000-0000-4000-8000-000000000002
Active:         yes
Persistent:     yes
Autostart:      no
Bridge:         virbr-lab
[exit 0]
$ net-dumpxml lab
<network>
  <name>lab</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <forward mode='nat'/>
  <bridge name='virbr-lab' stp='on' delay='0'/>
  <mac address='52:54:00:00:00:10'/>
  <domain name='lab.test'/>
  <ip address='192.168.122.1' netmask='255.255.255.0'>
    <dhcp>
      <range start='192.168.122.2' end='192.168.122.254'/>
      <host mac='52:54:00:00:00:01' name='one' ip='192.168.122.11'/>
    </dhcp>
  </ip>
</network>
[exit 0]
$ net-dhcp-leases lab
 Expiry Time   MAC address   Protocol   IP address   Hostname   Client ID or DUID
-----------------------------------------------------------------------------------
[exit 0]
$ net-port-list lab
 UUID
-------
[exit 0]
$ net-update lab add ip-dhcp-host host.xml --live --config
Updated network lab persistent config and live state
[exit 0]
$ net-dumpxml lab --xpath //dhcp
<dhcp>
  <range start="192.168.122.2" end="192.168.122.254"/>
  <host mac="52:54:00:00:00:01" name="one" ip="192.168.122.11"/>
  <host mac="52:54:00:00:00:02" name="two" ip="192.168.122.12"/>
</dhcp>
[exit 0]
$ net-dumpxml lab --inactive --xpath //dhcp
<dhcp>
  <range start="192.168.122.2" end="192.168.122.254"/>
  <host mac="52:54:00:00:00:01" name="one" ip="192.168.122.11"/>
  <host mac="52:54:00:00:00:02" name="two" ip="192.168.122.12"/>
</dhcp>
[exit 0]
$ net-update lab add ip-dhcp-host host.xml --live
error: Failed to update network lab
error: Requested operation is not valid: there is an existing dhcp host entry in network 'lab' that matches "<host mac='52:54:00:00:00:02' name='two' ip='192.168.122.12'/>"
[exit 1]
$ net-update lab modify ip-dhcp-host host2.xml --live
Updated network lab live state
[exit 0]
$ net-dumpxml lab --xpath //dhcp
<dhcp>
  <range start="192.168.122.2" end="192.168.122.254"/>
  <host mac="52:54:00:00:00:01" name="one" ip="192.168.122.11"/>
  <host mac="52:54:00:00:00:02" name="two" ip="192.168.122.22"/>
</dhcp>
[exit 0]
$ net-dumpxml lab --inactive --xpath //dhcp
<dhcp>
  <range start="192.168.122.2" end="192.168.122.254"/>
  <host mac="52:54:00:00:00:01" name="one" ip="192.168.122.11"/>
  <host mac="52:54:00:00:00:02" name="two" ip="192.168.122.12"/>
</dhcp>
[exit 0]
$ net-update lab delete ip-dhcp-host host2.xml --live
Updated network lab live state
[exit 0]
$ net-dumpxml lab --xpath //dhcp
<dhcp>
  <range start="192.168.122.2" end="192.168.122.254"/>
  <host mac="52:54:00:00:00:01" name="one" ip="192.168.122.11"/>
</dhcp>
[exit 0]
$ net-update lab delete ip-dhcp-host host.xml --config
Updated network lab persistent config
[exit 0]
$ net-dumpxml lab --inactive --xpath //dhcp
<dhcp>
  <range start="192.168.122.2" end="192.168.122.254"/>
  <host mac="52:54:00:00:00:01" name="one" ip="192.168.122.11"/>
</dhcp>
[exit 0]
$ net-update lab add dns-host dns.xml --live
Updated network lab live state
[exit 0]
$ net-update lab add ip-dhcp-range range.xml --live
error: Failed to update network lab
error: XML error: network 'lab': invalid ip/dhcp/range: 192.168.123.2 is outside 192.168.122.0/24
[exit 1]
% restart
$ net-info lab
Name:           lab
UUID:           00000000-0000-4000-8000-000000000002
Active:         yes
Persistent:     yes
Autostart:      no
Bridge:         virbr-lab
[exit 0]
$ net-dumpxml lab
<network>
  <name>lab</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <forward mode='nat'/>
  <bridge name='virbr-lab' stp='on' delay='0'/>
  <mac address='52:54:00:00:00:10'/>
  <domain name='lab.test'/>
  <dns>
    <host ip='192.168.122.11'>
      <hostname>one</hostname>
    </host>
  </dns>
  <ip address='192.168.122.1' netmask='255.255.255.0'>
    <dhcp>
      <range start='192.168.122.2' end='192.168.122.254'/>
      <host mac='52:54:00:00:00:01' name='one' ip='192.168.122.11'/>
    </dhcp>
  </ip>
</network>
[exit 0]
$ net-undefine lab
Network lab has been undefined
[exit 0]
$ net-info lab
Name:           lab
UUID:           00000000-0000-4000-8000-000000000002
Active:         yes
Persistent:     no
Autostart:      no
Bridge:         virbr-lab
[exit 0]
$ net-define network.xml
Network lab defined from network.xml
[exit 0]
$ net-info lab
Name:           lab
UUID:           00000000-0000-4000-8000-000000000002
Active:         yes
Persistent:     yes
Autostart:      no
Bridge:         virbr-lab
[exit 0]
$ net-destroy lab
Network lab destroyed
[exit 0]
$ net-destroy lab
error: Failed to destroy network lab
error: Requested operation is not valid: network 'lab' is not active
[exit 1]
$ net-undefine lab
Network lab has been undefined
[exit 0]
$ net-info lab
error: failed to get network 'lab'
error: Network not found: no network with matching name 'lab'
[exit 1]
$ net-create network.xml
Network lab created from network.xml
[exit 0]
$ net-info lab
Name:           lab
UUID:           00000000-0000-4000-8000-000000000002
Active:         yes
Persistent:     no
Autostart:      no
Bridge:         virbr-lab
[exit 0]
$ net-autostart lab
error: failed to mark network lab as autostarted
error: Requested operation is not valid: cannot set autostart for transient network 'lab'
[exit 1]
$ net-destroy lab
Network lab destroyed
[exit 0]
$ net-list --all
 Name   State   Autostart   Persistent
----------------------------------------
[exit 0]
$ net-define bare.xml
Network bare defined from bare.xml
[exit 0]
$ net-dumpxml bare
<network>
  <name>bare</name>
  <uuid><uuid></uuid>
  <bridge name='virbr0' stp='on' delay='0'/>
  <mac address='52:54:00:00:00:20'/>
</network>
[exit 0]
$ net-start bare
Network bare started
[exit 0]
$ net-dumpxml bare
<network>
  <name>bare</name>
  <uuid><uuid></uuid>
  <bridge name='virbr0' stp='on' delay='0'/>
  <mac address='52:54:00:00:00:20'/>
</network>
[exit 0]
$ net-destroy bare
Network bare destroyed
[exit 0]
$ net-undefine bare
Network bare has been undefined
[exit 0]
$ net-define taken.xml
error: Failed to define network from taken.xml
error: XML error: network 'taken': invalid ip: malformed address "192.168.300.1"
[exit 1]
$ net-define name.xml
error: Failed to define network from name.xml
error: XML error: invalid name: name "a/b" contains '/'
[exit 1]
-- network.xml --
<network>
  <name>lab</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <forward mode='nat'/>
  <bridge name='virbr-lab' stp='on' delay='0'/>
  <mac address='52:54:00:00:00:10'/>
  <domain name='lab.test'/>
  <ip address='192.168.122.1' netmask='255.255.255.0'>
    <dhcp>
      <range start='192.168.122.2' end='192.168.122.254'/>
      <host mac='52:54:00:00:00:01' name='one' ip='192.168.122.11'/>
    </dhcp>
  </ip>
</network>
-- host.xml --
<host mac='52:54:00:00:00:02' name='two' ip='192.168.122.12'/>
-- host2.xml --
<host mac='52:54:00:00:00:02' name='two' ip='192.168.122.22'/>
-- dns.xml --
<host ip='192.168.122.11'><hostname>one</hostname></host>
-- range.xml --
<range start='192.168.123.2' end='192.168.123.9'/>
-- bare.xml --
<network>
  <name>bare</name>
  <mac address='52:54:00:00:00:20'/>
</network>
-- taken.xml --
<network>
  <name>taken</name>
  <bridge name='virbr9'/>
  <ip address='192.168.300.1' netmask='255.255.255.0'/>
</network>
-- name.xml --
<network>
  <name>a/b</name>
</network>
