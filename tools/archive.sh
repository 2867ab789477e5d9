#!/bin/sh
# tools/archive.sh [SUITE]
#
# Prints where this machine's packages come from: the suite of its release, or SUITE, the archive's address, and the key that
# signs it. It asks apt's own sources, in either of their formats.
set -eu

. /etc/os-release
suite=${1:-$VERSION_CODENAME}
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
echo "$suite $archive ${key:-/usr/share/keyrings/debian-archive-keyring.gpg}"
