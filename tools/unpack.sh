#!/bin/sh
# tools/unpack.sh RELEASE DEST PACKAGE…
#
# Unpacks packages of the distribution, and what they need beyond this machine's packages, below DEST. RELEASE is "stable"
# for the release that this machine runs, with its updates, or "backports" for its backports. Nothing is installed and
# nothing of the machine is changed: apt works on a root of its own in DEST/.apt. Archive and key are those that the
# machine already uses. A second run with the same packages does nothing.
set -eu

if [ $# -lt 3 ]; then
	echo "usage: $0 stable|backports DEST PACKAGE…" >&2
	exit 2
fi
. /etc/os-release
suite=$VERSION_CODENAME
case $1 in
stable) target=$suite ;;
backports) target=$suite-backports ;;
*)
	echo "$0: $1 is neither stable nor backports" >&2
	exit 2
	;;
esac
mkdir -p "$2"
dest=$(cd "$2" && pwd)
shift 2
if [ "$(cat "$dest/.unpacked" 2>/dev/null)" = "$*" ]; then
	exit 0
fi
apt=$dest/.apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/parts"

# The machine's own sources, in either of apt's formats.
archive= key=
for f in /etc/apt/sources.list.d/*.sources; do
	[ -e "$f" ] || continue
	# A paragraph for each archive, its lines in any order; the key is that of the same paragraph.
	read -r archive key <<-END
		$(awk -v s="$suite" -v RS= '{
			uri = key = found = ""
			n = split($0, line, "\n")
			for (i = 1; i <= n; i++) {
				m = split(line[i], word, /[ \t]+/)
				if (word[1] == "URIs:") uri = word[2]
				if (word[1] == "Signed-By:") key = word[2]
				if (word[1] == "Suites:") for (j = 2; j <= m; j++) if (word[j] == s) found = 1
			}
			if (found && uri) { print uri, key; exit }
		}' "$f")
	END
	[ -z "$archive" ] || break
done
if [ -z "$archive" ]; then
	archive=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | awk -v s="$suite" '$1 == "deb" {
		i = 2; if ($2 ~ /^\[/) while ($i !~ /\]$/) i++; if ($2 ~ /^\[/) i++
		if ($(i + 1) == s) {print $i; exit}}')
fi
if [ -z "$archive" ]; then
	echo "$0: none of apt's sources has the suite $suite, so the archive to ask is unknown; add one" >&2
	exit 1
fi
key=${key:-/usr/share/keyrings/debian-archive-keyring.gpg}
for s in "$suite" "$suite-updates" "$target"; do
	echo "deb [signed-by=$key] $archive $s main"
done | sort -u >"$apt/sources.list"

# The machine's list of installed packages says what need not be fetched; those that are named are fetched all the same.
cp /var/lib/dpkg/status "$apt/status"
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
find "$dest" -path "$apt" -prune -o -type l -lname '/*' -print | while read -r link; do
	to=$(readlink "$link")
	if [ -e "$dest$to" ]; then
		ln -sfn "$dest$to" "$link"
	fi
done
rm -rf "$apt"
echo "$*" >"$dest/.unpacked"
