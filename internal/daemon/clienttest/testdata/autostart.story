# What is to start by itself starts once after the host's boot, and not whenever the daemon does.
$ net-define network.xml
Network default defined from network.xml
[exit 0]
$ net-autostart default
Network default marked as autostarted
[exit 0]
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
$ autostart guest
Domain 'guest' marked as autostarted
[exit 0]
$ list --all
 Id   Name    State
------------------------
 -    guest   shut off
[exit 0]
% restart
$ list --all
 Id   Name    State
------------------------
 -    guest   shut off
[exit 0]
$ net-list --all
 Name      State      Autostart   Persistent
----------------------------------------------
 default   inactive   yes         yes
[exit 0]
% reboot
$ list --all
 Id   Name    State
-----------------------
 1    guest   running
[exit 0]
$ net-list --all
 Name      State    Autostart   Persistent
--------------------------------------------
 default   active   yes         yes
[exit 0]
$ dominfo guest
Id:             1
Name:           guest
UUID:           00000000-0000-4000-8000-000000000001
OS Type:        hvm
State:          running
CPU(s):         1
CPU time:       <seconds>
Max memory:     16384 KiB
Used memory:    16384 KiB
Persistent:     yes
Autostart:      enable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
$ net-info default
Name:           default
UUID:           00000000-0000-4000-8000-000000000002
Active:         yes
Persistent:     yes
Autostart:      yes
Bridge:         virbr0
[exit 0]
$ destroy guest
Domain 'guest' destroyed
[exit 0]
$ net-destroy default
Network default destroyed
[exit 0]
% restart
$ list --all
 Id   Name    State
------------------------
 -    guest   shut off
[exit 0]
$ net-list --all
 Name      State      Autostart   Persistent
----------------------------------------------
 default   inactive   yes         yes
[exit 0]
$ autostart guest --disable
Domain 'guest' unmarked as autostarted
[exit 0]
% reboot
$ list --all
 Id   Name    State
------------------------
 -    guest   shut off
[exit 0]
$ net-list --all
 Name      State    Autostart   Persistent
--------------------------------------------
 default   active   yes         yes
[exit 0]
$ net-destroy default
Network default destroyed
[exit 0]
$ net-undefine default
Network default has been undefined
[exit 0]
$ undefine guest
Domain 'guest' has been undefined
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
  </devices>
</domain>
-- network.xml --
<network>
  <name>default</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <forward mode='nat'/>
  <bridge name='virbr0'/>
  <mac address='52:54:00:00:00:10'/>
  <ip address='192.168.122.1' netmask='255.255.255.0'/>
</network>
