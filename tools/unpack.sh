#!/bin/sh
# tools/unpack.sh RELEASE DEST PACKAGE…
#
# Unpacks packages of the distribution, and what they need beyond this machine's packages, below DEST. RELEASE is "stable"
# for the release that this machine runs, with its updates, "backports" for its backports, or the name of another release.
# What is from another one is unpacked with all it needs, down to the loader that it is to be run with. Nothing is installed
# and nothing of the machine is changed: apt works on a root of its own in DEST/.apt. Archive and key are those that the
# machine already uses. A second run with the same packages does nothing.
set -eu

if [ $# -lt 3 ]; then
	echo "usage: $0 stable|backports|RELEASE DEST PACKAGE…" >&2
	exit 2
fi
release=$1
mkdir -p "$2"
dest=$(cd "$2" && pwd)
shift 2
if [ "$(cat "$dest/.unpacked" 2>/dev/null)" = "$*" ]; then
	exit 0
fi
found=$("$(dirname "$0")/archive.sh")
read -r suite archive key <<-END
	$found
END
case $release in
stable) target=$suite ;;
backports) target=$suite-backports ;;
*) suite=$release target=$release ;;
esac
apt=$dest/.apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/parts"

for s in "$suite" "$suite-updates" "$target"; do
	echo "deb [signed-by=$key] $archive $s main"
done | sort -u >"$apt/sources.list"

# The machine's list of installed packages says what need not be fetched; those that are named are fetched all the same.
if [ "$release" = stable ] || [ "$release" = backports ]; then
	cp /var/lib/dpkg/status "$apt/status"
else
	: >"$apt/status"
fi
options="-qq -o Dir::Etc::sourcelist=$apt/sources.list -o Dir::Etc::sourceparts=$apt/parts -o Dir::State::lists=$apt/lists
 -o Dir::State::status=$apt/status -o Dir::State::extended_states=$apt/extended -o Dir::Cache=$apt/cache -o Dir::Log=$apt
 -o Debug::NoLocking=1 -o APT::Install-Recommends=0 -o APT::Sandbox::User=root"
# shellcheck disable=SC2086 # the options are words
apt-get $options update
# shellcheck disable=SC2086
apt-get $options -y --download-only --reinstall --allow-downgrades -t "$target" install "$@" >&2

for deb in "$apt"/cache/archives/*.deb; do
	[ -e "$deb" ] || continue
	dpkg -x "$deb" "$dest"
done
# What was unpacked stays found from its own place: absolute links of the packages lead into DEST as well.
find "$dest" \( -path "$apt" -o -path "$dest/libguestfs" \) -prune -o -type l -lname '/*' -print | while read -r link; do
	to=$(readlink "$link")
	if [ -e "$dest$to" ]; then
		ln -sfn "$dest$to" "$link"
	fi
done
rm -rf "$apt"
echo "$*" >"$dest/.unpacked"
