#!/bin/sh
# tools/peers.sh DEST
#
# Unpacks what taproom is measured against below DEST, as tools/unpack.sh says: the distribution's libvirtd with its QEMU
# driver, and dnsmasq. `taproom bench NAME --peers DEST` runs them in namespaces of their own. PEERS_RELEASE=backports takes the newer one.
# In DEST/libguestfs is a tree with libguestfs (tools/libguestfs.sh).
set -eu

if [ $# -ne 1 ]; then
	echo "usage: $0 DEST" >&2
	exit 2
fi
"$(dirname "$0")/unpack.sh" "${PEERS_RELEASE:-stable}" "$1" libvirt0 libvirt-daemon libvirt-daemon-driver-qemu dnsmasq-base
exec "$(dirname "$0")/libguestfs.sh" "$1/libguestfs"
