# Keeps a place for the libvirtd below $1: a mount namespace in which its state is in memory, so that nothing is written to
# the machine's folders and nobody else sees what is mounted. It does what standard input says, a line each: "start" answers
# with the process number, "stop" with "stopped". At the end of the input everything in the place ends.
set -e
mount --make-rprivate /
for d in /run /var/lib /var/cache /var/log; do mount -t tmpfs tmpfs "$d"; done
mkdir -p /run/lock /run/libvirt /run/etc/upper /run/etc/work /var/lib/libvirt /var/cache/libvirt /var/log/libvirt
mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/etc/upper,workdir=/run/etc/work /etc
mount -t overlay overlay -o "lowerdir=$1/usr/share:/usr/share" /usr/share
# dnsmasq tells libvirt of leases through a program at a place of its own.
[ ! -d "$1/usr/lib/libvirt" ] || mount -t overlay overlay -o "lowerdir=$1/usr/lib:/usr/lib" /usr/lib
mkdir -p /etc/libvirt
# Nothing that costs it time and that the comparison is not about.
cat >/etc/libvirt/qemu.conf <<'C'
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
stdio_handler = "file"
C
cat >/etc/libvirt/libvirtd.conf <<'C'
unix_sock_rw_perms = "0777"
auth_unix_rw = "none"
auth_unix_ro = "none"
log_level = 3
log_outputs = "3:file:/var/log/libvirt/libvirtd.log"
C
printf 'libvirt-qemu:x:64055:64055::/var/lib/libvirt:/bin/false\nlibvirt-dnsmasq:x:64057:64057::/var/lib/libvirt/dnsmasq:/bin/false\n' >>/etc/passwd
printf 'kvm:x:64056:\nlibvirt-qemu:x:64055:\nlibvirt-dnsmasq:x:64057:\n' >>/etc/group
export PATH="$1/usr/sbin:$PATH" # of dnsmasq
export LIBVIRT_DRIVER_DIR="$1/usr/lib/x86_64-linux-gnu/libvirt/connection-driver"
export LD_LIBRARY_PATH="$1/usr/lib/x86_64-linux-gnu:$1/lib/x86_64-linux-gnu"
set +e
pid=
stop() {
	[ -z "$pid" ] || { kill "$pid"; wait "$pid"; }
	pid=
}
while read -r verb; do
	case $verb in
	start)
		"$1/usr/sbin/libvirtd" </dev/null >/dev/null &
		pid=$!
		echo "$pid"
		;;
	stop)
		stop
		echo stopped
		;;
	esac
done
stop
for f in /run/libvirt/qemu/*.pid /run/libvirt/network/*.pid; do
	[ ! -e "$f" ] || kill -KILL "$(cat "$f")" 2>/dev/null || true # some outlive what they name
done
