# How often a guest is asked for its use of memory.
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
$ dommemstat guest --period 5 --config
[exit 0]
$ start guest --paused
Domain 'guest' started
[exit 0]
$ dommemstat guest --period 2 --live
[exit 0]
$ dommemstat guest --period 0 --live
[exit 0]
$ dommemstat guest --period 3
[exit 0]
$ dumpxml guest --xpath //memballoon/stats
<stats period="3"/>
[exit 0]
$ dumpxml guest --inactive --xpath //memballoon/stats
<stats period="5"/>
[exit 0]
% kill
$ dumpxml guest --xpath //memballoon/stats
<stats period="3"/>
[exit 0]
$ destroy guest
Domain 'guest' destroyed
[exit 0]
$ dommemstat guest --period 3 --live
error: Unable to change balloon collection period.
error: Requested operation is not valid: domain 'guest' is not running
[exit 1]
$ dommemstat guest --period -3 --config
error: Invalid collection period value '-3'
[exit 1]
$ undefine guest
Domain 'guest' has been undefined
[exit 0]
$ define without.xml
Domain 'without' defined from without.xml
[exit 0]
$ dommemstat without --period 3 --config
error: Unable to change balloon collection period.
error: Requested operation is not valid: domain 'without' has no memory balloon, which would say how its memory is used
[exit 1]
$ undefine without
Domain 'without' has been undefined
[exit 0]
-- guest.xml --
<domain type='qemu'><name>guest</name><uuid>00000000-0000-4000-8000-000000000001</uuid><memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os><devices><memballoon model='virtio'/></devices></domain>
-- without.xml --
<domain type='qemu'><name>without</name><uuid>00000000-0000-4000-8000-000000000002</uuid><memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os><devices><memballoon model='none'/></devices></domain>
