# descriptor 3: memory
# descriptor 4: output
# descriptor 5: tools
# descriptor 6: agent
# descriptor 7: monitor
/usr/bin/qemu-system-x86_64 \
  -name guest=appliance,debug-threads=on \
  -no-reboot \
  -nodefaults \
  -no-user-config \
  -incoming defer \
  -sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny \
  -msg timestamp=on \
  -machine pc,vmport=off,usb=off,hpet=off,acpi=off,memory-backend=ram \
  -accel tcg,thread=single,tb-size=16 \
  -cpu max \
  -smp 1 \
  -m size=128M \
  -kernel /cache/vmlinux \
  -initrd /cache/initrd \
  -append quiet \
  -object '{"qom-type":"memory-backend-file","id":"ram","size":134217728,"mem-path":"/proc/self/fd/3","share":false}' \
  -add-fd set=1,fd=4,opaque=output \
  -add-fd set=2,fd=5,opaque=tools \
  -chardev socket,id=agent,fd=6 \
  -chardev socket,id=monitor,fd=7 \
  -chardev file,id=console,path=/dev/fdset/1,append=on \
  -blockdev '{"driver":"file","node-name":"tools","filename":"/dev/fdset/2","locking":"off","read-only":true,"auto-read-only":false}' \
  -device '{"driver":"virtio-serial-pci","id":"serial0","max_ports":2}' \
  -device '{"driver":"virtserialport","bus":"serial0.0","chardev":"agent","name":"org.taproom.appliance.0"}' \
  -device '{"driver":"virtio-scsi-pci","id":"scsi0","num_queues":1}' \
  -device '{"driver":"scsi-hd","id":"taproom-tools","bus":"scsi0.0","scsi-id":0,"lun":0,"drive":"tools","serial":"taproom-tools"}' \
  -display none \
  -mon chardev=monitor,mode=control \
  -serial chardev:console
