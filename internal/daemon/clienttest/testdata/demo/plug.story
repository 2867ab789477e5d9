# Disks, on each bus that has hot-plug.
$ attach-disk demo ROOT/work/more.img vdb --subdriver raw
Disk attached successfully
[exit 0]
$ attach-disk demo ROOT/work/scsi.img sda --targetbus scsi --subdriver raw --live
Disk attached successfully
[exit 0]
$ attach-disk demo ROOT/work/usb.img sdb --targetbus usb --subdriver raw
Disk attached successfully
[exit 0]
$ domblklist demo --details
 Type   Device   Target   Source
-----------------------------------------------------------
 file   disk     vda      ROOT/work/disk.img
 file   disk     vdb      ROOT/work/more.img
 file   cdrom    sdz      -
 file   disk     sda      ROOT/work/scsi.img
 file   disk     sdb      ROOT/work/usb.img
[exit 0]
$ attach-disk demo ROOT/work/more.img vdb --subdriver raw
error: Failed to attach disk
error: operation failed: target vdb already exists; choose another one
[exit 1]
$ attach-disk demo ROOT/work/none.img vdc --subdriver raw
error: Failed to attach disk
error: cannot attach a device to domain 'demo': disk vdc: ROOT/work/none.img: no such file or directory; create it, or correct the path in the document
[exit 1]
$ attach-disk demo ROOT/work/usb.img sdc --targetbus sata --subdriver raw
error: Failed to attach disk
error: Operation not supported: cannot attach a device to domain 'demo': disk bus 'sata' cannot be hotplugged; use virtio, scsi or usb, or --config
[exit 1]
$ domblklist demo
 Target   Source
-------------------------------------------
 vda      ROOT/work/disk.img
 vdb      ROOT/work/more.img
 sdz      -
 sda      ROOT/work/scsi.img
 sdb      ROOT/work/usb.img
[exit 0]
$ detach-disk demo sdb
Disk detached successfully
[exit 0]
$ detach-disk demo sda
Disk detached successfully
[exit 0]
$ detach-disk demo vdb
Disk detached successfully
[exit 0]
$ detach-disk demo vdb
error: No disk found whose source path or target is vdb
[exit 1]
$ domblklist demo
 Target   Source
-------------------------------------------
 vda      ROOT/work/disk.img
 sdz      -
[exit 0]
# A disk grows.
$ blockresize demo vda 2M
Block device 'vda' is resized
[exit 0]
$ domblkinfo demo vda
Capacity:       2097152
Allocation:     0
Physical:       2097152
[exit 0]
$ blockresize demo vdx 2M
error: Failed to resize block device 'vdx'
error: invalid argument: domain 'demo' has no disk 'vdx'
[exit 1]
$ blockresize demo ROOT/work/disk.img 1024
Block device 'ROOT/work/disk.img' is resized
[exit 0]
$ domblkinfo demo vda
Capacity:       1048576
Allocation:     0
Physical:       1048576
[exit 0]
# Disks are slowed down, from the start and later.
$ blkdeviotune demo vda
total_bytes_sec: 104857600
read_bytes_sec : 0
write_bytes_sec: 0
total_iops_sec : 0
read_iops_sec  : 0
write_iops_sec : 0
total_bytes_sec_max: 0
read_bytes_sec_max: 0
write_bytes_sec_max: 0
total_iops_sec_max: 0
read_iops_sec_max: 0
write_iops_sec_max: 0
size_iops_sec  : 0
group_name     : 
total_bytes_sec_max_length: 0
read_bytes_sec_max_length: 0
write_bytes_sec_max_length: 0
total_iops_sec_max_length: 0
read_iops_sec_max_length: 0
write_iops_sec_max_length: 0
[exit 0]
$ blkdeviotune demo vda --total-bytes-sec 1048576 --read-iops-sec 100 --write-iops-sec 50 --live
[exit 0]
$ blkdeviotune demo vda
total_bytes_sec: 1048576
read_bytes_sec : 0
write_bytes_sec: 0
total_iops_sec : 0
read_iops_sec  : 100
write_iops_sec : 50
total_bytes_sec_max: 0
read_bytes_sec_max: 0
write_bytes_sec_max: 0
total_iops_sec_max: 0
read_iops_sec_max: 0
write_iops_sec_max: 0
size_iops_sec  : 0
group_name     : 
total_bytes_sec_max_length: 0
read_bytes_sec_max_length: 0
write_bytes_sec_max_length: 0
total_iops_sec_max_length: 0
read_iops_sec_max_length: 0
write_iops_sec_max_length: 0
[exit 0]
$ blkdeviotune demo vda --read-bytes-sec 4096 --config
[exit 0]
$ blkdeviotune demo vda --config
total_bytes_sec: 0
read_bytes_sec : 4096
write_bytes_sec: 0
total_iops_sec : 0
read_iops_sec  : 0
write_iops_sec : 0
total_bytes_sec_max: 0
read_bytes_sec_max: 0
write_bytes_sec_max: 0
total_iops_sec_max: 0
read_iops_sec_max: 0
write_iops_sec_max: 0
size_iops_sec  : 0
group_name     : 
total_bytes_sec_max_length: 0
read_bytes_sec_max_length: 0
write_bytes_sec_max_length: 0
total_iops_sec_max_length: 0
read_iops_sec_max_length: 0
write_iops_sec_max_length: 0
[exit 0]
$ blkdeviotune demo vda --total-bytes-sec 1 --read-bytes-sec 1
error: Unable to change block I/O throttle
error: XML error: invalid devices/disk/iotune: total and read/write bytes_sec cannot be set at the same time
[exit 1]
$ attach-device demo slow.xml
Device attached successfully
[exit 0]
$ blkdeviotune demo sdb
total_bytes_sec: 0
read_bytes_sec : 0
write_bytes_sec: 65536
total_iops_sec : 0
read_iops_sec  : 0
write_iops_sec : 0
total_bytes_sec_max: 0
read_bytes_sec_max: 0
write_bytes_sec_max: 131072
total_iops_sec_max: 0
read_iops_sec_max: 0
write_iops_sec_max: 0
size_iops_sec  : 0
group_name     : slow
total_bytes_sec_max_length: 0
read_bytes_sec_max_length: 0
write_bytes_sec_max_length: 0
total_iops_sec_max_length: 0
read_iops_sec_max_length: 0
write_iops_sec_max_length: 0
[exit 0]
$ detach-disk demo sdb
Disk detached successfully
[exit 0]
$ blkdeviotune demo vda --total-bytes-sec 104857600 --total-iops-sec 0 --live
[exit 0]
$ blkdeviotune demo vda --total-bytes-sec 104857600 --config
[exit 0]
# Media.
$ change-media demo sdz ROOT/work/first.iso --insert
Successfully inserted media.
[exit 0]
$ domblklist demo
 Target   Source
--------------------------------------------
 vda      ROOT/work/disk.img
 sdz      ROOT/work/first.iso
[exit 0]
$ change-media demo sdz ROOT/work/second.iso --update
Successfully updated media.
[exit 0]
$ domblklist demo
 Target   Source
---------------------------------------------
 vda      ROOT/work/disk.img
 sdz      ROOT/work/second.iso
[exit 0]
$ change-media demo sdz ROOT/work/none.iso --update --force
error: Failed to complete action update on media
error: cannot update a device of domain 'demo': disk sdz: ROOT/work/none.iso: no such file or directory; create it, or correct the path in the document
[exit 1]
$ change-media demo sdz --eject
Successfully ejected media.
[exit 0]
$ domblklist demo
 Target   Source
-------------------------------------------
 vda      ROOT/work/disk.img
 sdz      -
[exit 0]
# Others.
$ attach-device demo rng.xml
Device attached successfully
[exit 0]
$ attach-device demo channel.xml
Device attached successfully
[exit 0]
$ attach-device demo tablet.xml
Device attached successfully
[exit 0]
$ attach-device demo watchdog.xml
Device attached successfully
[exit 0]
$ attach-device demo scsi.xml
Device attached successfully
[exit 0]
$ attach-device demo video.xml
error: Failed to attach device from video.xml
error: Operation not supported: cannot attach a device to domain 'demo': live attach of device 'video' is not supported; use --config
[exit 1]
$ detach-device demo tablet.xml
Device detached successfully
[exit 0]
$ detach-device-alias demo rng1
Device detach request sent successfully
[exit 0]
$ detach-device demo channel.xml
Device detached successfully
[exit 0]
$ detach-device demo watchdog.xml
Device detached successfully
[exit 0]
$ detach-device demo scsi.xml
Device detached successfully
[exit 0]
$ detach-device demo scsi.xml
error: Failed to detach device from scsi.xml
error: device not found: cannot detach a device from domain 'demo': no controller of type scsi with index 1
[exit 1]
$ detach-device-alias demo rng1
error: Failed to detach device with alias rng1
error: device not found: cannot detach device 'rng1' from domain 'demo': no device found with alias rng1
[exit 1]
# A NIC.
$ domif-setlink demo 52:54:00:00:00:01 down
Device updated successfully
[exit 0]
$ domif-getlink demo 52:54:00:00:00:01
52:54:00:00:00:01 down
[exit 0]
$ domif-setlink demo 52:54:00:00:00:01 up
Device updated successfully
[exit 0]
$ attach-interface demo network lab --model virtio --mac 52:54:00:00:00:02
Interface attached successfully
[exit 0]
$ domiflist demo
 Interface   Type      Source   Model    MAC
------------------------------------------------------------
 vnet0       network   lab      virtio   52:54:00:00:00:01
 vnet1       network   lab      virtio   52:54:00:00:00:02
[exit 0]
$ detach-interface demo network --mac 52:54:00:00:00:02
Interface detached successfully
[exit 0]
$ domiflist demo
 Interface   Type      Source   Model    MAC
------------------------------------------------------------
 vnet0       network   lab      virtio   52:54:00:00:00:01
[exit 0]
# A display's password, where there was none to ask for.
$ update-device demo graphics.xml
error: Failed to update device from graphics.xml
error: Operation not supported: cannot update a device of domain 'demo': its VNC cannot be changed while the guest runs: QEMU gets it at the start
[exit 1]
# In the definition.
$ attach-disk demo ROOT/work/more.img vdb --subdriver raw --persistent
Disk attached successfully
[exit 0]
$ detach-disk demo vdb --persistent
Disk detached successfully
[exit 0]
$ attach-device demo rng.xml --config
Device attached successfully
[exit 0]
$ detach-device demo rng.xml --config
Device detached successfully
[exit 0]
-- rng.xml --
<rng model='virtio'><backend model='builtin'/></rng>
-- channel.xml --
<channel type='unix'><target type='virtio' name='org.example.more'/></channel>
-- tablet.xml --
<input type='tablet' bus='usb'/>
-- watchdog.xml --
<watchdog model='i6300esb' action='reset'/>
-- scsi.xml --
<controller type='scsi' model='virtio-scsi' index='1'/>
-- video.xml --
<video><model type='vga'/></video>
-- graphics.xml --
<graphics type='vnc' autoport='yes' passwd='secret'/>
-- slow.xml --
<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='ROOT/work/usb.img'/><target dev='sdb' bus='usb'/><iotune><write_bytes_sec>65536</write_bytes_sec><write_bytes_sec_max>131072</write_bytes_sec_max><group_name>slow</group_name></iotune></disk>
