# descriptor 3: output
# descriptor 4: agent
# descriptor 5: monitor
/usr/bin/qemu-system-x86_64 \
  -name guest=appliance,debug-threads=on \
  -no-reboot \
  -nodefaults \
  -no-user-config \
  -sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny \
  -msg timestamp=on \
  -machine microvm,acpi=off,pit=on,pic=on,rtc=on,auto-kernel-cmdline=on,isa-serial=on \
  -accel tcg,thread=single,tb-size=16 \
  -cpu max \
  -smp 1 \
  -m size=128M \
  -kernel /cache/vmlinux \
  -initrd /cache/initrd \
  -append 'quiet nolapic_timer' \
  -add-fd set=1,fd=3,opaque=output \
  -chardev socket,id=agent,fd=4 \
  -chardev socket,id=monitor,fd=5 \
  -chardev file,id=console,path=/dev/fdset/1,append=on \
  -device '{"driver":"virtio-serial-device","id":"serial0","max_ports":2}' \
  -device '{"driver":"virtserialport","bus":"serial0.0","chardev":"agent","name":"org.taproom.appliance.0"}' \
  -device '{"driver":"virtio-scsi-device","id":"scsi0","num_queues":1}' \
  -display none \
  -mon chardev=monitor,mode=control \
  -serial chardev:console \
  -global virtio-mmio.force-legacy=false
