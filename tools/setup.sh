#!/usr/bin/env bash
# setup.sh build|run|test|race|desktop|guest|lab|fresh|appliance|report: installs from the distribution what is missing for it, and nothing else. Running it again
# changes nothing. The services of these packages are neither started nor enabled: tests start their own, in namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build

run="qemu-system-x86 nftables iproute2 xz-utils zstd"
case ${1:-} in
  build) packages="ca-certificates git" ;;
  run) packages="ca-certificates git $run" ;;
  test) packages="ca-certificates git $run qemu-utils libvirt-clients python3-libvirt isc-dhcp-client udhcpc busybox bind9-dnsutils curl procps dbus-daemon iptables iputils-ping ndisc6 ipxe-qemu systemd qemu-guest-agent ovmf swtpm swtpm-tools passt nbdkit qemu-block-extra openvswitch-switch firewalld ifupdown network-manager e2fsprogs xfsprogs btrfs-progs dosfstools ntfs-3g exfatprogs f2fs-tools squashfs-tools erofs-utils cryptsetup-bin genisoimage fdisk" ;;
  desktop) packages="virtinst virt-manager genisoimage qemu-utils ovmf xvfb openbox xauth x11-utils imagemagick at-spi2-core gir1.2-atspi-2.0 gir1.2-spiceclientgtk-3.0 dbus-daemon fonts-dejavu-core adwaita-icon-theme" ;;
  guest) packages="debootstrap e2fsprogs util-linux" ;;
  lab) packages="kmod cpio e2fsprogs xz-utils" ;;
  fresh) packages="debootstrap git tar util-linux" ;;
  appliance) packages="gcc libc6-dev binutils make flex bison bc perl libelf-dev xz-utils squashfs-tools" ;;
  race) packages="gcc libc6-dev" ;;
  report) packages="chromium fonts-dejavu-core" ;;
  *) echo "usage: $0 build|run|test|race|desktop|guest|lab|fresh|appliance|report" >&2; exit 2 ;;
esac

# Debian 12 has these in qemu-system-common and qemu-system-gui.
# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
if [ "$1" = test ] && [ "$codename" != bookworm ]; then
  packages="$packages qemu-system-modules-spice qemu-system-modules-opengl virtiofsd"
fi

# While packages are installed, $policy answers those that start services (invoke-rc.d, deb-systemd-invoke). The machine's own
# is put aside meanwhile. What a killed run left is put right by the next one, which knows it by the mark.
policy=/usr/sbin/policy-rc.d
aside=$policy.before-taproom
mark="tools/setup.sh of taproom puts this here while it installs packages, and removes it"
exists() { [ -e "$1" ] || [ -L "$1" ]; }
is_left() { exists $aside || grep -qsF "$mark" $policy; }
start_nothing() {
  if exists $policy; then mv $policy $aside; fi
  printf '#!/bin/sh\n# %s.\nexit 101\n' "$mark" >$policy.taproom
  chmod 0755 $policy.taproom
  mv $policy.taproom $policy
}
start_as_before() {
  if grep -qsF "$mark" $policy; then rm -f $policy; fi
  rm -f $policy.taproom
  if exists $aside; then mv $aside $policy; fi
}

# enabled prints which units systemd starts at the next boot, where it runs the machine.
enabled() {
  if [ -d /run/systemd/system ]; then systemctl list-unit-files --no-legend --state=enabled | awk '{print $1}' | sort; fi
}
# units prints those of the packages that were missing.
units() {
  # shellcheck disable=SC2086
  { dpkg-query -L $missing 2>/dev/null || true; } | sed -n 's:^.*/systemd/system/\([^/]*\)$:\1:p' | sort
}
# finish comes after the installation, however that ended.
finish() {
  local new
  trap - EXIT
  trap '' INT TERM HUP
  start_as_before
  new=$(comm -13 <(echo "$before") <(enabled) | comm -12 - <(units) | tr '\n' ' ')
  [ -n "$new" ] || return 0
  # shellcheck disable=SC2086
  systemctl disable $new >>build/setup.log 2>&1 ||
    { cat build/setup.log >&2; echo "setup: systemctl could not disable ${new}which came with the packages; disable them; what it said is above" >&2; exit 1; }
  echo "setup: neither started nor enabled: $new"
}

# alone waits for other runs: the policy of one is not the machine's.
alone() {
  exec 9</usr/sbin
  flock 9
}

if is_left && [ "$(id -u)" = 0 ]; then
  alone
  start_as_before
  exec 9<&-
fi

missing=""
for p in $packages; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing="$missing $p"
done
if [ -n "$missing" ]; then
  [ "$(id -u)" = 0 ] || { echo "setup: these packages are missing:$missing; install them, or run this as root" >&2; exit 1; }
  echo "setup: installing$missing"
  alone
  start_as_before # another run was killed meanwhile
  before=$(enabled)
  trap finish EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  start_nothing
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >build/setup.log 2>&1 9<&- ||
    { cat build/setup.log >&2; echo "setup: apt-get could not install$missing; what it said is above" >&2; exit 1; }
  finish
  trap - INT TERM HUP
  exec 9<&-
fi

# Any Go from 1.21 on fetches the version that go.mod names. Debian 12's own is older, its backport is not.
export PATH="$PWD/build/toolchain/bin:$PATH"
go_is_new_enough() {
  local version
  version=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null) || return 1
  [ "$(printf '%s\n' go1.21 "$version" | sort -V | head -n 1)" = go1.21 ]
}
if ! go_is_new_enough; then
  echo "setup: fetching Go into build/toolchain"
  case $codename in
    bookworm) from=backports go=1.23 ;;
    *) from=stable go=1.24 ;;
  esac
  tools/unpack.sh $from build/toolchain/root golang-$go-go golang-$go-src
  mkdir -p build/toolchain/bin
  ln -sfn ../root/usr/lib/go-$go/bin/go build/toolchain/bin/go
  ln -sfn ../root/usr/lib/go-$go/bin/gofmt build/toolchain/bin/gofmt
fi
