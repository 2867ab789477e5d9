#!/bin/sh
# tools/fresh.sh RELEASE TARGET… [NAME=VALUE…]
#
# Makes a new root of Debian RELEASE (bookworm, trixie), clones the commit that is checked out into it, installs git, make
# and ca-certificates there, as README.md says, and runs each TARGET of the Makefile, with the variables. Of this machine
# the root has the kernel, /dev, the network, and the settings of the package registries; tools/fresh-root.sh mounts these.
# The output of a target stays in build/fresh/RELEASE-TARGET.log. The exit code is 1 when a target failed.
#
# The root is removed at the end, its processes, mounts and cgroups too; KEEP=1 keeps the files. What debootstrap made is
# kept for 30 days in /var/cache/taproom/fresh.
set -eu

fail() {
	echo "fresh: $*" >&2
	exit 1
}

# contain runs a command in namespaces of its own for mounts, processes, IPC, the host name and cgroups, and returns its
# status. The command inherits no open files but the standard ones. A killed script takes it along: by the trap below, and
# by the kernel where the script gets SIGKILL.
contain() {
	(
		if [ -n "$cgroup" ]; then
			mkdir "$cgroup" && echo 0 >"$cgroup/cgroup.procs" || exit
		fi
		exec setpriv --pdeathsig KILL unshare --mount-proc --pid --kill-child --ipc --uts --cgroup "$@" 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
	) &
	child=$!
	status=0
	wait "$child" || status=$?
	child=
	remove_cgroup "$cgroup"
	return "$status"
}

# end_child kills the first process of the namespace, so the kernel kills the others, and waits for unshare, its parent.
# shellcheck disable=SC2317 # the trap calls it
end_child() {
	if [ -n "$child" ]; then
		# shellcheck disable=SC2046 # at most one number
		kill -KILL $(cat "/proc/$child/task/$child/children") 2>/dev/null || kill -KILL "$child" 2>/dev/null || true
		wait "$child" || true
		child=
	fi
}

remove_cgroup() {
	if [ -n "$1" ] && [ -d "$1" ]; then
		find "$1" -depth -type d -exec rmdir {} +
	fi
}

remove_run() {
	remove_cgroup "${cgroup2:+$cgroup2/taproom-fresh-${1##*.}}"
	rm -rf --one-file-system "$1"
}

# finish removes the run when the script ends, however it ends.
# shellcheck disable=SC2317 # the trap calls it
finish() {
	status=$?
	trap - EXIT
	trap '' INT TERM HUP
	end_child
	remove_cgroup "$cgroup"
	if [ -n "$run" ] && [ -n "${KEEP:-}" ] && [ -d "$run/root" ]; then
		: >"$run/kept"
		echo "fresh: kept the root in $run/root"
	elif [ -n "$run" ]; then
		remove_run "$run"
	fi
	rm -rf --one-file-system "${making:-}"
	exit "$status"
}

# make_bare has debootstrap make the release's root, and keeps it as $bare.
make_bare() {
	echo "fresh: debootstrap $release"
	making=$(mktemp -d "$cache/making.XXXXXX")
	chmod 0755 "$making"
	contain debootstrap --variant=minbase --keyring="$key" "$release" "$making" "$archive" >"$logs/$release-debootstrap.log" 2>&1 ||
		{ tail -n 20 "$logs/$release-debootstrap.log" >&2; fail "debootstrap could not make $release; it said what is above"; }
	rm -rf "$making"/var/cache/apt/archives/*.deb "$making"/var/lib/apt/lists/*
	tar -C "$making" --numeric-owner --xattrs --acls -cf "$bare.new" .
	mv "$bare.new" "$bare"
	rm -rf --one-file-system "$making"
	making=
}

# settings gives the root the registries' settings of this machine, and what every machine has.
settings() {
	{
		source_of "$archive" "$release $release-updates"
		# A machine may do without security updates, or have them from the archive of the rest.
		if found=$("$here/archive.sh" "$suite-security" 2>/dev/null); then
			found=${found#* }
			source_of "${found% *}" "$release-security"
		fi
	} >"$root/etc/apt/sources.list.d/debian.sources"
	rm -f "$root/etc/apt/sources.list"
	apt-config dump | grep -E '^Acquire::(https?::|Retries|Check-|Force)' | grep -v Auto-Detect >"$root/etc/apt/apt.conf.d/90registries" || true
	for f in "$key" /etc/resolv.conf /etc/pip.conf /etc/npmrc /usr/local/share/ca-certificates/*.crt; do
		if [ -e "$f" ] && [ ! -e "$root$f" ]; then
			mkdir -p "$root${f%/*}"
			cat "$f" >"$root$f"
		fi
	done
	if [ -x "$root/usr/sbin/update-ca-certificates" ]; then # debootstrap installs it where the archive speaks HTTPS
		contain "$here/fresh-root.sh" "$root" update-ca-certificates >"$logs/$release-setup.log" 2>&1
	fi
	# A service that a package starts would run in this machine's network namespace: firewalld, NetworkManager, Open vSwitch.
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 0755 "$root/usr/sbin/policy-rc.d"
	echo debian >"$root/etc/hostname"
	printf '127.0.0.1 localhost\n127.0.1.1 debian\n' >"$root/etc/hosts"
}

source_of() {
	printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n\n' "$1" "$2" "$key"
}

# registries are the variables with which registries are reached, as NAME=VALUE. Proxies' addresses have no spaces.
registries() {
	env | grep -iE '^(http|https|ftp|all|no)_proxy=[^ ]*$' || true
	for name in GOPROXY GONOPROXY GOPRIVATE GOSUMDB GONOSUMDB GOINSECURE GOVCS; do
		value=$(go env "$name" 2>/dev/null || printenv "$name" || true)
		[ -z "$value" ] || echo "$name=$value"
	done
}

enter() {
	set -f # no_proxy may have an asterisk
	# shellcheck disable=SC2046 # words
	set -- "$root" $(registries) "$@"
	set +f
	contain "$here/fresh-root.sh" "$@"
}

# run_target runs make in the root, and adds a line to the report, and one for each test that was skipped for a missing package:
# go test names them with -v only.
run_target() {
	log=$logs/$release-$1.log
	echo "fresh: make $1 on $release; its output is in ${log#"$repo"/}"
	begin=$(date +%s)
	# shellcheck disable=SC2086 # words
	if enter GOFLAGS=-v make -C /root/taproom "$1" $variables >"$log" 2>&1; then
		result=ok
	else
		result=FAILED failed=1
		grep -B 10 '^ *--- FAIL' "$log" || true
		tail -n 20 "$log"
	fi
	lines=$(
		printf '%-8s %-18s %-6s %5d s\n' "$release" "$1" "$result" $(($(date +%s) - begin))
		sed -n 's/^ *\([^ ]*_test\.go:[0-9]*: .*(Debian: .*)\)/  skipped: \1/p' "$log"
	)
	report="$report$lines
"
}

# read_arguments sets release, targets and variables, and refuses those that cannot be run.
read_arguments() {
	release=${1:-}
	[ $# -eq 0 ] || shift
	for word; do
		case $word in
		*=*) variables="$variables $word" ;;
		*) targets="$targets $word" ;;
		esac
	done
	if [ -z "$release" ] || [ -z "$targets" ]; then
		echo "usage: $0 RELEASE TARGET… [NAME=VALUE…]" >&2
		exit 2
	fi
	case $release in
	bookworm | trixie) ;;
	*) fail "unknown release \"$release\": taproom runs on bookworm (Debian 12) and trixie (Debian 13)" ;;
	esac
	commit=$(git -C "$repo" describe --tags --always) || fail "$repo has no commit to clone: run this in a clone of the repository"
	makefile=$(git -C "$repo" show HEAD:Makefile)
	for target in $targets; do
		echo "$makefile" | grep -q "^$target:" || fail "the Makefile of commit $commit has no target \"$target\""
	done
	[ "$(id -u)" = 0 ] || fail "debootstrap and mounts need root: run this as root"
	command -v debootstrap >/dev/null || fail "debootstrap is missing: run tools/setup.sh fresh"
	if [ -n "$(git -C "$repo" status --porcelain)" ]; then
		echo "fresh: the tree has changes that are not committed; they are not tested, commit $commit is"
	fi
}

# begin_run makes the directory of this run, and the bare root where there is none. One run at a time does that, and
# removes what a killed one left: a directory that is locked has its run.
begin_run() {
	mkdir -p "$logs" "$cache"
	chmod 0700 "$cache"
	exec 8<"$cache"
	flock 8
	rm -rf --one-file-system "$cache"/making.*
	for old in "$cache"/run.*; do
		if [ -d "$old" ] && [ ! -e "$old/kept" ] && flock -n "$old" true; then
			remove_run "$old"
		fi
	done
	run=$(mktemp -d "$cache/run.XXXXXX")
	exec 9<"$run"
	flock 9
	cgroup=${cgroup2:+$cgroup2/taproom-fresh-${run##*.}}
	bare=$cache/$release.tar
	find "$bare" -mtime +30 -delete 2>/dev/null || true
	[ -e "$bare" ] || make_bare
	exec 8<&-
}

# make_root unpacks the bare root, clones the commit, and installs what README.md says.
make_root() {
	root=$run/root
	mkdir "$root"
	tar -C "$root" --numeric-owner --xattrs --acls -xpf "$bare"
	settings
	git clone --quiet --no-local --single-branch "$repo" "$root/root/taproom"
	git -C "$root/root/taproom" remote remove origin
	enter sh -euc 'apt-get update; apt-get install -y git make ca-certificates' >"$logs/$release-setup.log" 2>&1 ||
		{ tail -n 20 "$logs/$release-setup.log" >&2; fail "apt-get could not install git, make and ca-certificates; it said what is above"; }
}

# The shell has read all of main before it begins, and does not read on: while a run lasts, this file may be edited.
main() {
	here=$(cd "$(dirname "$0")" && pwd)
	repo=$(dirname "$here")
	logs=$repo/build/fresh
	cache=/var/cache/taproom/fresh
	cgroup2=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
	targets='' variables='' run='' cgroup='' child='' making='' report='' failed=''
	read_arguments "$@"
	found=$("$here/archive.sh")
	read -r suite archive key <<-END
		$found
	END
	trap finish EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	begin_run
	make_root
	for target in $targets; do
		run_target "$target"
	done
	echo
	printf '%s' "$report"
	exit "${failed:-0}"
}

main "$@"
