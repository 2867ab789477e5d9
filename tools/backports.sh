#!/bin/sh
# tools/backports.sh DEST PACKAGE…
#
# Unpacks packages of the distribution's backports, and what they need, below DEST, as tools/unpack.sh says.
#
# Run what is in there with LD_LIBRARY_PATH=DEST/usr/lib/x86_64-linux-gnu, QEMU also with QEMU_MODULE_DIR and -L.
# For QEMU 10 name qemu-system-x86 qemu-utils qemu-system-modules-opengl qemu-system-modules-spice: it looks for a module
# that is missing in DEST in the system's own directory, and aborts when it finds one of another build there.
set -eu

if [ $# -lt 2 ]; then
	echo "usage: $0 DEST PACKAGE…" >&2
	exit 2
fi
exec "$(dirname "$0")/unpack.sh" backports "$@"
