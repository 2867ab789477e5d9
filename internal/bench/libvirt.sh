# Runs the libvirtd below $1. The mount namespace is ours alone: what is mounted here nobody else sees.
set -e
mount --make-rprivate /
for d in /run /var/lib /var/cache /var/log; do mount -t tmpfs tmpfs "$d"; done
mkdir -p /run/libvirt /run/systemd /var/lib/libvirt /var/cache/libvirt /var/log/libvirt /run/up /run/work
mount -t tmpfs tmpfs /run/up
mkdir /run/up/upper /run/up/work
mount -t overlay overlay -o "lowerdir=$1/etc:/etc,upperdir=/run/up/upper,workdir=/run/up/work" /etc
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
C
echo 'libvirt-qemu:x:64055:64055::/var/lib/libvirt:/bin/false' >>/etc/passwd
printf 'kvm:x:64056:\nlibvirt-qemu:x:64055:\n' >>/etc/group
export LIBVIRT_DRIVER_DIR="$1/usr/lib/x86_64-linux-gnu/libvirt/connection-driver"
export LD_LIBRARY_PATH="$1/usr/lib/x86_64-linux-gnu:$1/lib/x86_64-linux-gnu"
mkdir -p /usr/share/libvirt && mount --bind "$1/usr/share/libvirt" /usr/share/libvirt
exec "$1/usr/sbin/libvirtd"
