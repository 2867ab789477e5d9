# Keys, interrupts, and what is wrong with a guest.
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
$ send-key guest KEY_A
error: Requested operation is not valid: domain 'guest' is not running
[exit 1]
$ domcontrol guest
error: Requested operation is not valid: domain 'guest' is not running
[exit 1]
$ domblkerror guest
error: Requested operation is not valid: domain 'guest' is not running
[exit 1]
$ start guest
Domain 'guest' started
[exit 0]
$ domcontrol guest
ok
[exit 0]
$ domblkerror guest
No errors found
[exit 0]
$ send-key guest KEY_LEFTCTRL KEY_LEFTALT KEY_DELETE
[exit 0]
$ send-key guest --codeset win32 --holdtime 10 0x41
[exit 0]
$ send-key guest --codeset usb 4
[exit 0]
$ send-key guest --codeset qnum 0x1c
[exit 0]
$ send-key guest --codeset usb 999
error: invalid argument: cannot translate keycode 999 of usb codeset to a key of QEMU
[exit 1]
$ inject-nmi guest
[exit 0]
$ send-process-signal guest 1 15
error: this function is not supported by the connection driver: virDomainSendProcessSignal
[exit 1]
r$ send-key guest KEY_A
error: operation forbidden: read only access prevents virDomainSendKey
[exit 1]
r$ domcontrol guest
ok
[exit 0]
$ destroy guest
Domain 'guest' destroyed
[exit 0]
-- disk.img --
-- guest.xml --
<domain type='qemu'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <memory unit='MiB'>16</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'>
      <source file='ROOT/work/disk.img'/>
      <target dev='vda' bus='virtio'/>
    </disk>
  </devices>
</domain>
