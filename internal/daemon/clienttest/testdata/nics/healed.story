# The guest goes on without the tap that somebody deleted, and so does everything else.
$ domstate nics
paused
[exit 0]
$ domiflist nics
 Interface   Type      Source   Model     MAC
-------------------------------------------------------------
 vnet0       network   lab      virtio    52:54:00:00:00:01
 vnet1       bridge    br8      e1000     52:54:00:00:00:03
 -           bridge    br8      rtl8139   52:54:00:00:00:04
[exit 0]
$ domif-getlink nics vnet0
vnet0 up
[exit 0]
$ domif-getlink nics vnet2
error: Interface (dev: vnet2) not found.
[exit 1]
$ domifstat nics vnet2
error: Failed to get interface stats nics vnet2
error: operation failed: NIC vnet2 of domain 'nics' (52:54:00:00:00:04) was deleted by somebody, and QEMU's end of it cannot be connected again: the guest runs without it; detach it and attach it again (virsh detach-interface, attach-interface)
[exit 1]
$ domstats nics --interface
Domain: 'nics'
  net.count=3
  net.0.name=vnet0
  net.0.rx.bytes=<n>
  net.0.rx.pkts=<n>
  net.0.rx.errs=0
  net.0.rx.drop=0
  net.0.tx.bytes=0
  net.0.tx.pkts=0
  net.0.tx.errs=0
  net.0.tx.drop=0
  net.1.name=vnet1
  net.1.rx.bytes=<n>
  net.1.rx.pkts=<n>
  net.1.rx.errs=0
  net.1.rx.drop=0
  net.1.tx.bytes=0
  net.1.tx.pkts=0
  net.1.tx.errs=0
  net.1.tx.drop=0
[exit 0]
$ destroy nics
Domain 'nics' destroyed
[exit 0]
$ start nics --paused
Domain 'nics' started
[exit 0]
$ domiflist nics
 Interface   Type      Source   Model     MAC
-------------------------------------------------------------
 vnet3       network   lab      virtio    52:54:00:00:00:01
 vnet4       bridge    br8      e1000     52:54:00:00:00:03
 vnet5       bridge    br8      rtl8139   52:54:00:00:00:04
[exit 0]
$ destroy nics
Domain 'nics' destroyed
[exit 0]
$ undefine nics
Domain 'nics' has been undefined
[exit 0]
$ net-destroy lab
Network lab destroyed
[exit 0]
$ net-undefine lab
Network lab has been undefined
[exit 0]
