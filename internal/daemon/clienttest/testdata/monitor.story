# What lies open of a guest's QEMU. A guest that somebody reached past the daemon is tainted, and stays so.
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
$ qemu-monitor-command guest {"execute":"query-status"}
error: Requested operation is not valid: domain 'guest' is not running
[exit 1]
$ start guest
Domain 'guest' started
[exit 0]
$ qemu-monitor-command guest {"execute":"query-status"}
{"return":{"status":"running","running":true}}
[exit 0]
$ qemu-monitor-command guest {"execute":"query-status","id":"mine"}
{"id":"mine","return":{"status":"running","running":true}}
[exit 0]
$ qemu-monitor-command guest {"execute":"no-such-thing"}
{"error":{"class":"CommandNotFound","desc":"The command no-such-thing has not been found"}}
[exit 0]
$ qemu-monitor-command guest query-status
{"return":{"status":"running","running":true}}
[exit 0]
$ qemu-monitor-command guest --hmp info status
VM status: running
[exit 0]
$ qemu-monitor-command guest {"execute":"set_link","arguments":{"name":"none","up":true}}
{"error":{"class":"DeviceNotFound","desc":"Device 'none' not found"}}
[exit 0]
r$ qemu-monitor-command guest {"execute":"quit"}
error: operation forbidden: read only access prevents virDomainQemuMonitorCommand
[exit 1]
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
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
Messages:       tainted: custom monitor control commands issued
[exit 0]
% kill
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
Autostart:      disable
Managed save:   no
Security model: none
Security DOI:   0
Messages:       tainted: custom monitor control commands issued
[exit 0]
# There is no agent in it, and no channel for one.
$ qemu-agent-command guest {"execute":"guest-ping"}
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ guestinfo guest
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ domhostname guest
error: failed to get hostname
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ domifaddr guest --source agent
error: Failed to query for interfaces addresses
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ domfsinfo guest
error: Unable to get filesystem information
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ domfsfreeze guest
error: Unable to freeze filesystems
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ domfsthaw guest
error: Unable to thaw filesystems
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ domfstrim guest
error: Unable to invoke fstrim
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ domtime guest
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ domtime guest --sync
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ set-user-password guest root secret
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ guestvcpus guest
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ vcpucount guest --guest
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ setvcpus guest 1 --guest
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ get-user-sshkeys guest root
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ shutdown guest --mode agent
error: Failed to shutdown domain 'guest'
error: argument unsupported: QEMU guest agent is not configured: domain 'guest' has no channel of type unix with the target name org.qemu.guest_agent.0
[exit 1]
$ shutdown guest --mode initctl
error: Failed to shutdown domain 'guest'
error: argument unsupported: a guest can be asked by its agent (--mode agent) or by the ACPI power button (--mode acpi)
[exit 1]
$ guest-agent-timeout guest --timeout -3
error: invalid argument: guest agent timeout '-3' is less than the minimum '-2'
[exit 1]
$ guest-agent-timeout guest --timeout 7
[exit 0]
$ destroy guest
Domain 'guest' destroyed
[exit 0]
$ guest-agent-timeout guest
error: Requested operation is not valid: domain 'guest' is not running
[exit 1]
# There is a channel, and nobody in the guest has opened it.
$ define agent.xml
Domain 'agent' defined from agent.xml
[exit 0]
$ start agent
Domain 'agent' started
[exit 0]
$ qemu-agent-command agent {"execute":"guest-ping"}
error: Guest agent is not responding: QEMU guest agent is not connected: qemu-guest-agent does not run in domain 'agent'
[exit 1]
$ guestinfo agent
error: Guest agent is not responding: QEMU guest agent is not connected: qemu-guest-agent does not run in domain 'agent'
[exit 1]
$ reboot agent --mode agent
error: Failed to reboot domain 'agent'
error: Guest agent is not responding: QEMU guest agent is not connected: qemu-guest-agent does not run in domain 'agent'
[exit 1]
$ suspend agent
Domain 'agent' suspended
[exit 0]
$ domtime agent
error: Requested operation is not valid: domain 'agent' does not run: its guest agent cannot answer
[exit 1]
$ destroy agent
Domain 'agent' destroyed
[exit 0]
-- guest.xml --
<domain type='qemu'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <memory unit='MiB'>16</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64'>hvm</type></os>
</domain>
-- agent.xml --
<domain type='qemu'>
  <name>agent</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <memory unit='MiB'>16</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64'>hvm</type></os>
  <devices>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
  </devices>
</domain>
