# What a guest gets of the host, by parameters: in its definition, and where it runs.
$ define tuned.xml
Domain 'tuned' defined from tuned.xml
[exit 0]
$ schedinfo tuned
Scheduler      : posix
cpu_shares     : 0
vcpu_period    : 0
vcpu_quota     : 0
emulator_period: 0
emulator_quota : 0
global_period  : 0
global_quota   : 0
iothread_period: 0
iothread_quota : 0
[exit 0]
$ schedinfo tuned --config --set cpu_shares=2048 vcpu_quota=50000
Scheduler      : posix
cpu_shares     : 2048
vcpu_period    : 0
vcpu_quota     : 50000
emulator_period: 0
emulator_quota : 0
global_period  : 0
global_quota   : 0
iothread_period: 0
iothread_quota : 0
[exit 0]
$ schedinfo tuned --config --set vcpu_quota=-1 vcpu_period=500
Scheduler      : posix
error: invalid argument: value of 'vcpu_period' is out of range [1000, 1000000]
[exit 1]
$ schedinfo tuned --config --set weight=7
Scheduler      : posix
error: invalid scheduler option: weight
[exit 1]
$ memtune tuned
hard_limit     : unlimited
soft_limit     : unlimited
swap_hard_limit: unlimited
[exit 0]
$ memtune tuned --config --hard-limit 1048576 --soft-limit 524288
[exit 0]
$ memtune tuned --config --soft-limit -1
[exit 0]
$ memtune tuned --config --swap-hard-limit 1024
error: Unable to change memory parameters
error: XML error: cannot tune domain 'tuned': invalid memtune/swap_hard_limit: 1024 KiB with what is swapped out are less than hard_limit, 1048576 KiB without
[exit 1]
$ blkiotune tuned
weight         : 0
device_weight  : 
device_read_iops_sec: 
device_write_iops_sec: 
device_read_bytes_sec: 
device_write_bytes_sec: 
[exit 0]
$ blkiotune tuned --config --weight 300 --device-weights /dev/null,500 --device-read-bytes-sec /dev/null,1048576,/dev/zero,4096
[exit 0]
$ blkiotune tuned --config --device-weights /dev/null,0 --device-read-bytes-sec /dev/zero,0
[exit 0]
$ blkiotune tuned --config --device-weights null,5
error: Unable to change blkio parameters
error: invalid argument: unable to parse device_weight 'null,5': want the path of a device and a number up to 10000
[exit 1]
$ blkiotune tuned
weight         : 300
device_weight  : 
device_read_iops_sec: 
device_write_iops_sec: 
device_read_bytes_sec: /dev/null,1048576
device_write_bytes_sec: 
[exit 0]
$ numatune tuned
numa_mode      : strict
numa_nodeset   : 
[exit 0]
$ numatune tuned --config --mode preferred --nodeset 0
[exit 0]
$ numatune tuned --config
numa_mode      : preferred
numa_nodeset   : 0
[exit 0]
$ iothreadadd tuned 7 --config
[exit 0]
$ iothreadadd tuned 7 --config
error: invalid argument: an IOThread is already using iothread_id '7'
[exit 1]
$ iothreaddel tuned 1 --config
[exit 0]
$ iothreaddel tuned 9 --config
error: invalid argument: cannot find IOThread '9' in iothreadids list
[exit 1]
$ dumpxml tuned
<domain type='qemu'>
  <name>tuned</name>
  <uuid>00000000-0000-4000-8000-0000000000d7</uuid>
  <memory unit='KiB'>16384</memory>
  <currentMemory unit='KiB'>16384</currentMemory>
  <blkiotune>
    <weight>300</weight>
    <device>
      <path>/dev/null</path>
      <read_bytes_sec>1048576</read_bytes_sec>
    </device>
  </blkiotune>
  <memtune>
    <hard_limit unit='KiB'>1048576</hard_limit>
  </memtune>
  <vcpu placement='static'>1</vcpu>
  <iothreads>2</iothreads>
  <iothreadids>
    <iothread id='2'/>
    <iothread id='7'/>
  </iothreadids>
  <cputune>
    <shares>2048</shares>
    <quota>50000</quota>
  </cputune>
  <numatune>
    <memory mode='preferred' nodeset='0'/>
  </numatune>
  <os>
    <type arch='x86_64' machine='pc-q35-<version>'>hvm</type>
    <boot dev='hd'/>
  </os>
  <features>
    <acpi/>
  </features>
  <cpu mode='custom' match='exact' check='none'>
    <model fallback='forbid'>qemu64</model>
  </cpu>
  <clock offset='utc'/>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw' iothread='2'/>
      <source file='ROOT/work/disk.img'/>
      <target dev='vda' bus='virtio'/>
      <address type='pci' domain='0x0000' bus='0x02' slot='0x00' function='0x0'/>
    </disk>
    <controller type='usb' index='0' model='qemu-xhci'>
      <address type='pci' domain='0x0000' bus='0x01' slot='0x00' function='0x0'/>
    </controller>
    <controller type='sata' index='0'>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x1f' function='0x2'/>
    </controller>
    <controller type='pci' index='0' model='pcie-root'/>
    <controller type='pci' index='1' model='pcie-root-port'>
      <model name='pcie-root-port'/>
      <target chassis='1' port='0x8'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x0' multifunction='on'/>
    </controller>
    <controller type='pci' index='2' model='pcie-root-port'>
      <model name='pcie-root-port'/>
      <target chassis='2' port='0x9'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x1'/>
    </controller>
    <controller type='pci' index='3' model='pcie-root-port'>
      <model name='pcie-root-port'/>
      <target chassis='3' port='0xa'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x2'/>
    </controller>
    <controller type='pci' index='4' model='pcie-root-port'>
      <model name='pcie-root-port'/>
      <target chassis='4' port='0xb'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x3'/>
    </controller>
    <input type='mouse' bus='ps2'/>
    <input type='keyboard' bus='ps2'/>
    <audio id='1' type='none'/>
    <memballoon model='virtio'>
      <address type='pci' domain='0x0000' bus='0x03' slot='0x00' function='0x0'/>
    </memballoon>
  </devices>
</domain>
[exit 0]
$ iothreadset tuned 7 --poll-max-ns 1000 --config
[exit 0]
# Undone, so that the guest starts on any host.
$ schedinfo tuned --config --set cpu_shares=100 vcpu_quota=0
Scheduler      : posix
cpu_shares     : 100
vcpu_period    : 0
vcpu_quota     : 0
emulator_period: 0
emulator_quota : 0
global_period  : 0
global_quota   : 0
iothread_period: 0
iothread_quota : 0
[exit 0]
$ memtune tuned --config --hard-limit -1
[exit 0]
$ blkiotune tuned --config --weight 100 --device-read-bytes-sec /dev/null,0
[exit 0]
$ start tuned --paused
Domain 'tuned' started
[exit 0]
$ schedinfo tuned
Scheduler      : posix
cpu_shares     : 100
vcpu_period    : 100000
vcpu_quota     : -1
emulator_period: 100000
emulator_quota : -1
global_period  : 100000
global_quota   : -1
iothread_period: 100000
iothread_quota : -1
[exit 0]
$ memtune tuned
hard_limit     : unlimited
soft_limit     : unlimited
swap_hard_limit: unlimited
[exit 0]
$ blkiotune tuned
weight         : 100
device_weight  : 
device_read_iops_sec: 
device_write_iops_sec: 
device_read_bytes_sec: 
device_write_bytes_sec: 
[exit 0]
$ numatune tuned --mode strict --nodeset 0 --live
error: Unable to change numa parameters
error: Requested operation is not valid: the memory of domain 'tuned' was placed when it started, and stays where it is; use --config, and start it again
[exit 1]
$ iothreadadd tuned 3
[exit 0]
$ iothreadset tuned 3 --poll-max-ns 1000 --poll-grow 2 --poll-shrink 3
[exit 0]
$ iothreadset tuned 3 --thread-pool-max 8 --thread-pool-min 2
[exit 0]
$ iothreadset tuned 3 --thread-pool-min 20 --thread-pool-max 30
[exit 0]
$ iothreadset tuned 3 --thread-pool-min 0 --thread-pool-max 1
[exit 0]
$ iothreadset tuned 3 --thread-pool-min 5
error: operation failed: cannot change an I/O thread of domain 'tuned': qom-set: QEMU refused qom-set: bad thread-pool-min/thread-pool-max values
[exit 1]
$ iothreaddel tuned 7
[exit 0]
$ iothreaddel tuned 2
error: invalid argument: cannot remove IOThread 2 since it is being used by disk 'vda'
[exit 1]
$ qemu-monitor-command tuned --hmp qom-get /objects/iothread3 poll-max-ns
1000
[exit 0]
$ qemu-monitor-command tuned --hmp qom-get /objects/iothread3 thread-pool-max
1
[exit 0]
$ qemu-monitor-command tuned --hmp qom-get /objects/iothread7 poll-max-ns
Error: Device '/objects/iothread7' not found
[exit 0]
$ destroy tuned
Domain 'tuned' destroyed
[exit 0]
$ undefine tuned
Domain 'tuned' has been undefined
[exit 0]
-- tuned.xml --
<domain type='qemu'>
  <name>tuned</name>
  <uuid>00000000-0000-4000-8000-0000000000d7</uuid>
  <memory unit='MiB'>16</memory>
  <vcpu>1</vcpu>
  <iothreads>2</iothreads>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <devices>
    <disk type='file' device='disk'><driver name='qemu' type='raw' iothread='2'/><source file='ROOT/work/disk.img'/><target dev='vda' bus='virtio'/></disk>
  </devices>
</domain>
