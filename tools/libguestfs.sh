#!/bin/sh
# tools/libguestfs.sh DEST
#
# Makes a tree of this machine's release below DEST, with debootstrap, in which libguestfs is installed, and has it build its
# appliance there, which is in no package: supermin makes it of the files of installed ones. Nothing is installed on the
# machine, and what is mounted nobody else sees. `taproom bench boot --peers` runs guestfish in the tree. A second run with the same script
# does nothing. It needs root.
set -eu

if [ $# -ne 1 ]; then
	echo "usage: $0 DEST" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
want=$(sha256sum "$here/$(basename "$0")")
if [ "$(cat "$1/.made" 2>/dev/null)" = "${want%% *}" ]; then
	exit 0
fi
if [ -z "${TAPROOM_UNSHARED:-}" ]; then
	TAPROOM_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
command -v debootstrap >/dev/null || { echo "$0: debootstrap is missing; install it: apt-get install debootstrap" >&2; exit 1; }
rm -rf "$1"
mkdir -p "$1"
dest=$(cd "$1" && pwd)
found=$("$here/archive.sh")
read -r suite archive key <<-END
	$found
END
log=$dest.log
fail() {
	tail -n 30 "$log" >&2
	exit 1
}
echo "$0: debootstrap $suite" >&2
debootstrap --variant=minbase --keyring="$key" "$suite" "$dest" "$archive" >"$log" 2>&1 || fail
mount -t proc proc "$dest/proc"
mount --bind /dev "$dest/dev"
cp /etc/resolv.conf "$dest/etc/resolv.conf"

echo "$0: libguestfs and what it needs" >&2
# debootstrap does not know which packages provide what others need; apt does. Nothing is started in the tree.
printf '#!/bin/sh\nexit 101\n' >"$dest/usr/sbin/policy-rc.d"
chmod +x "$dest/usr/sbin/policy-rc.d"
chroot "$dest" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o APT::Sandbox::User=root --no-install-recommends install \
	guestfish linux-image-amd64 qemu-system-x86 e2fsprogs >>"$log" 2>&1 || fail
rm -rf "$dest"/var/lib/apt/lists/* "$dest"/var/cache/apt/archives/* "$dest"/usr/share/doc/* "$dest"/usr/share/locale/*

echo "$0: libguestfs builds its appliance" >&2
chroot "$dest" env LIBGUESTFS_BACKEND=direct LIBGUESTFS_BACKEND_SETTINGS=force_tcg guestfish -a /dev/null run >>"$log" 2>&1 || fail
echo "${want%% *}" >"$dest/.made"
