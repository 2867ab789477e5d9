# Runs in a guest, as its first process, on the host's programs. What udev and systemd do on a distribution is done
# first; then each line of /out/packages names a package's folder below the repo, and its test binary.
set -u
# How long the machine took until here bounds what it may take: on the host, and here for each package.
read -r up _ </proc/uptime
up=${up%.*}
if [ $((boots * up)) -gt "$limit" ]; then limit=$((boots * up)); fi
echo "$up" >/out/booted
d=/lib/modules/$(uname -r)
# A device's node is there before its module: opening it loads that.
while read -r module name device; do
	case $module in '#'*) continue ;; esac
	kind=${device%%[0-9]*}
	device=${device#?}
	mkdir -p "$(dirname "/dev/$name")"
	[ -e "/dev/$name" ] || mknod -m 0600 "/dev/$name" "$kind" "${device%:*}" "${device#*:}"
done <"$d/modules.devname"
chmod 0666 /dev/net/tun
# The drivers of what the machine has.
find /sys/devices -name modalias -exec cat {} + | sort -u | xargs modprobe -qab
mount -t ext4 /dev/vda /tmp && chmod 1777 /tmp
mkdir -p "$repo"
mount -o bind "/host$repo" "$repo" # it may be below /tmp
for c in $(cat /sys/fs/cgroup/cgroup.controllers); do
	echo "+$c" >/sys/fs/cgroup/cgroup.subtree_control
done
ip link set lo up
while read -r folder binary flags; do
	# shellcheck disable=SC2086 # the flags are words
	(cd "$repo/$folder" && exec "$repo/build/lab/tests/$binary" $flags -test.timeout="$((limit / 2))s") </dev/null >"/out/$binary.log" 2>&1
	echo $? >"/out/$binary.rc"
	sync
done </out/packages
uname -r >/out/done
sync
echo b >/proc/sysrq-trigger
sleep 60
