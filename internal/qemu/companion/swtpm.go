package companion

import (
	"strconv"
	"strings"

	"taproom/internal/host"
)

// TPMDir is the name of the directory that holds the state of a TPM of a version, below that of its guest: a guest may
// change from one to the other, and keeps both.
func TPMDir(version string) string {
	if version == "2.0" {
		return "tpm2"
	}
	return "tpm" + version
}

// SWTPM is the program that is a guest's TPM, with its state in dir. It runs as the guest's user and may open nothing
// but that directory and its own libraries; swtpm's own filter of system calls comes on top.
func SWTPM(program, version, dir string, uid uint32, exists func(string) bool) Program {
	args := []string{program, "socket"}
	if version == "2.0" {
		args = append(args, "--tpm2")
	}
	args = append(args, "--ctrl", "type=unixio,fd="+strconv.Itoa(SocketFD), "--tpmstate", "dir=.,mode=0600", "--seccomp", "action=kill", "--terminate")
	l := &host.Landlock{ScopeAbstract: true, ScopeSignals: true, ReadWrite: []string{dir}}
	for _, rule := range []struct {
		to    *[]string
		paths []string
	}{
		{&l.ReadExec, []string{"/usr", "/lib", "/lib64", "/bin"}},
		{&l.ReadOnly, []string{"/etc/ld.so.cache", "/etc/localtime", "/etc/ssl", "/dev/urandom", "/dev/random"}},
		{&l.ReadWrite, []string{"/dev/null"}},
	} {
		for _, p := range rule.paths {
			if exists(p) {
				*rule.to = append(*rule.to, p)
			}
		}
	}
	return Program{Name: "swtpm", Args: args, Dir: dir, UID: uid, GID: uid, Landlock: l}
}

// Maker is the program that makes a new TPM: keys and certificates of this host's authority, in dir. The authority belongs
// to a user of the distribution's, which therefore makes it; no guest runs yet, and none of its data is read. The
// configuration in /etc may name any other tool as the authority, so what it may open is not limited.
func Maker(program, version, dir, id string, banks []string, uid, gid uint32) Program {
	args := []string{program, "--tpm-state", ".", "--vmid", id, "--createek", "--create-ek-cert", "--create-platform-cert", "--lock-nvram", "--not-overwrite"}
	return Program{Name: "swtpm_setup", Args: withBanks(args, version, banks), Env: []string{"TMPDIR=."}, Dir: dir, UID: uid, GID: gid}
}

// Authority is the program that writes a user's own configuration for Maker, where there is none: the user's authority is
// below $XDG_CONFIG_HOME then.
func Authority(program, dir string, uid, gid uint32) Program {
	return Program{
		Name: "swtpm_setup", Args: []string{program, "--create-config-files", "skip-if-exist"}, Dir: dir, UID: uid, GID: gid,
	}
}

// Reconfigurer changes the banks of a TPM that was made before.
func Reconfigurer(program, dir string, banks []string, uid uint32) Program {
	args := withBanks([]string{program, "--tpm-state", ".", "--reconfigure"}, "2.0", banks)
	return Program{Name: "swtpm_setup", Args: args, Env: []string{"TMPDIR=."}, Dir: dir, UID: uid, GID: uid}
}

func withBanks(args []string, version string, banks []string) []string {
	if version == "2.0" {
		args = append(args, "--tpm2")
	}
	if len(banks) > 0 {
		args = append(args, "--pcr-banks", strings.Join(banks, ","))
	}
	return args
}
