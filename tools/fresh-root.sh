#!/bin/sh
# tools/fresh-root.sh ROOT [NAME=VALUE…] COMMAND…
#
# Makes ROOT the root of the filesystem and runs COMMAND in it as the user root who logged in, with the variables. It is for
# tools/fresh.sh, which starts it as the first process of new namespaces for mounts, processes, IPC, the host name and
# cgroups: what it mounts is gone when it ends.
set -eu

if [ $# -lt 2 ]; then
	echo "usage: $0 ROOT [NAME=VALUE…] COMMAND…" >&2
	exit 2
fi
if [ $$ != 1 ]; then
	echo "$0: it would mount on the machine itself; tools/fresh.sh runs it in namespaces" >&2
	exit 1
fi
root=$1
shift

mount --bind "$root" "$root" # pivot_root takes mounts only
cd "$root"
mount --rbind /dev dev
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t proc proc proc
mount -t tmpfs -o mode=0755 run run
mkdir -m 1777 run/lock
modules=lib/modules/$(uname -r)
if [ -d "/$modules" ]; then
	mkdir -p "$modules"
	mount --bind -o ro "/$modules" "$modules"
fi
# The cgroups of version 2 begin with that of this process: what is made in there is in there for the host too. A cgroup with
# processes cannot hand out controllers, so they move down by one.
mount --rbind /sys sys
cgroup2=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
if [ -n "$cgroup2" ]; then
	umount -l ".$cgroup2"
	mount -t cgroup2 cgroup2 ".$cgroup2"
	mkdir ".$cgroup2/init"
	echo 0 >".$cgroup2/init/cgroup.procs"
fi
hostname debian
pivot_root . mnt
cd /
umount -l /mnt

# This shell stays: it reaps processes whose parents are gone. It was started in the background, where the shell ignores the
# signals of a keyboard.
env -i --default-signal HOME=/root USER=root LOGNAME=root SHELL=/bin/bash TERM="${TERM:-dumb}" \
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
