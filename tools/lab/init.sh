#!/busybox sh
# The first process of a guest: the host's root, read-only below an overlay in memory, with the modules of the kernel that
# runs; a filesystem of its own in /tmp; /out, which the host reads. Then run.sh of the host takes over.
# The kernel's command line says where the host has the repo and the modules: repo=, modules=.
b=/busybox
p=trans=virtio,version=9p2000.L,msize=512000
fail() {
	echo "lab: $*" >/dev/console
	$b poweroff -f
}
$b mount -t devtmpfs dev /dev || fail "no /dev"
$b mount -t proc proc /proc
while read -r m; do
	$b insmod "/modules/$m" || fail "no module $m"
done </modules/order
$b mount -t 9p -o "ro,cache=loose,$p" root /host || fail "no root of the host"
$b mount -t tmpfs tmpfs /upper
$b mkdir /upper/new /upper/work
$b mount -t overlay -o lowerdir=/host,upperdir=/upper/new,workdir=/upper/work overlay /root || fail "no overlay"
cd /root || fail "no new root"
$b mount -t devtmpfs dev dev
$b mkdir -p dev/pts dev/shm host out usr/lib/modules
$b mount -o bind /host host
$b mount -t devpts devpts dev/pts
$b mount -t proc proc proc
$b mount -t sysfs sysfs sys
$b mount -t cgroup2 cgroup2 sys/fs/cgroup
$b mount -t tmpfs tmpfs dev/shm
$b mount -t tmpfs tmpfs run
$b mount -t 9p -o "$p" out out || fail "no share for results"
# shellcheck disable=SC2154 # from the kernel's command line
$b mount -o bind "/host$modules" usr/lib/modules || fail "no modules"
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root repo
exec $b switch_root /root /bin/sh /out/run.sh >/dev/console 2>&1
