#!/bin/sh
# tools/debian-guest.sh DEST
#
# Makes a guest of this machine's release with debootstrap: DEST/disk.img, which has an ext4 filesystem and no partitions,
# and the kernel and initrd to boot it with. It has systemd, the guest agent, DHCP on every NIC, a login on the first serial
# port, and root's password is "taproom". A second run with the same script does nothing. It needs root, and mounts
# only where nobody else sees it.
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
mkdir -p "$1"
dest=$(cd "$1" && pwd)
found=$("$here/archive.sh")
read -r suite archive key <<-END
	$found
END
root=$dest/.root
rm -rf "$root" "$dest/.made"
trap 'rm -rf "$root"' EXIT
mkdir "$root"
mount -t tmpfs -o mode=0755 debian-guest "$root"

echo "$0: debootstrap $suite" >&2
debootstrap --variant=minbase --keyring="$key" \
	--include=systemd-sysv,udev,dbus,qemu-guest-agent,initramfs-tools,linux-image-cloud-amd64,iproute2 \
	"$suite" "$root" "$archive" >"$dest/debootstrap.log" 2>&1 ||
	{ tail -n 30 "$dest/debootstrap.log" >&2; exit 1; }

echo debian >"$root/etc/hostname"
echo '127.0.0.1 localhost debian' >"$root/etc/hosts"
echo '/dev/vda / ext4 defaults 0 1' >"$root/etc/fstab"
printf '[Match]\nType=ether\n[Network]\nDHCP=yes\n[DHCPv4]\nClientIdentifier=mac\n' >"$root/etc/systemd/network/all.network"
echo 'root:taproom' | chroot "$root" chpasswd
systemctl --quiet --root="$root" enable systemd-networkd serial-getty@ttyS0
# What takes its time at every boot, and is of no use to a guest that is made anew each time.
systemctl --quiet --root="$root" mask getty@tty1 systemd-timesyncd apt-daily.timer apt-daily-upgrade.timer \
	dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap fstrim.timer systemd-networkd-wait-online \
	systemd-journal-flush systemd-update-utmp
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/archives/* "$root"/usr/share/doc/* "$root"/usr/share/locale/*

# The initrd has the drivers of its disk and nothing else.
sed -i 's/^MODULES=.*/MODULES=list/; s/^COMPRESS=.*/COMPRESS=gzip/' "$root/etc/initramfs-tools/initramfs.conf"
printf 'virtio_pci\nvirtio_blk\next4\n' >"$root/etc/initramfs-tools/modules"
chroot "$root" update-initramfs -u >>"$dest/debootstrap.log" 2>&1
cp "$root"/boot/vmlinuz-* "$dest/vmlinuz"
cp "$root"/boot/initrd.img-* "$dest/initrd.img"
rm -rf "$root"/boot/*

rm -f "$dest/disk.img"
mkfs.ext4 -q -d "$root" -L debian "$dest/disk.img" 1200M
umount "$root"
chmod 0644 "$dest/disk.img" "$dest/vmlinuz" "$dest/initrd.img"
echo "${want%% *}" >"$dest/.made"
