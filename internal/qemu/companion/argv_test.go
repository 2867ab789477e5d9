package companion

import (
	"strings"
	"testing"
)

func TestAFolderIsSharedWithTheOptionsOfEitherProgram(t *testing.T) {
	t.Parallel()
	all := Share{
		Binary: "/v", Dir: `/a,b\c`, XAttr: "on", Cache: "none", Sandbox: "chroot", POSIX: "off", Flock: "on", Threads: "4", Files: "1024",
	}
	separate := all
	separate.Separate = true
	for _, c := range []struct {
		share Share
		want  string
	}{
		{Share{Binary: "/v", Dir: "/srv"}, "/v --fd=3 -o source=/srv"},
		{Share{Binary: "/v", Dir: "/srv", Separate: true}, "/v --fd=3 --shared-dir /srv"},
		{all, `/v --fd=3 -o source=/a\,b\\c -o xattr -o flock -o no_posix_lock -o cache=none -o sandbox=chroot --thread-pool-size=4 --rlimit-nofile=1024`},
		{separate, `/v --fd=3 --shared-dir /a,b\c --cache never --xattr --sandbox chroot --thread-pool-size=4 --rlimit-nofile=1024`},
	} {
		p := VirtioFSD(c.share)
		if got := strings.Join(p.Args, " "); got != c.want || p.UID != 0 {
			t.Errorf("got  %s (user %d)\nwant %s", got, p.UID, c.want)
		}
	}
}

func TestDescriptionsAndCapabilitiesThatAreNoneSayNothing(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"description": "x", "type": "fs", "binary": "/usr/lib/qemu/virtiofsd"}`: "/usr/lib/qemu/virtiofsd",
		`{"type": "gpu", "binary": "/x"}`:                                         "", `{"type": "fs", "binary": "x"}`: "", `{"type": "fs"}`: "", `{`: "", ``: "",
	} {
		if got := VirtioFSBinary([]byte(doc)); got != want {
			t.Errorf("%s: got %q, want %q", doc, got, want)
		}
	}
	for answer, want := range map[string]bool{
		`{"type": "fs", "features": ["migrate-precopy", "separate-options"]}`: true,
		`{"type": "fs"}`: false, `{"features": 1}`: false, ``: false,
	} {
		if got := VirtioFSCapabilities([]byte(answer)); got != want {
			t.Errorf("%s: got %v", answer, got)
		}
	}
}

// Whoever can write a description of a program decides what is run, so what it says is taken apart with care.
func FuzzVirtioFSBinary(f *testing.F) {
	f.Add([]byte(`{"type": "fs", "binary": "/usr/lib/qemu/virtiofsd"}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if got := VirtioFSBinary(doc); got != "" && got[0] != '/' {
			t.Errorf("%q is no path", got)
		}
	})
}

func TestATPMKnowsItsVersionItsBanksAndNothingOfTheHost(t *testing.T) {
	t.Parallel()
	p := SWTPM("/usr/bin/swtpm", "2.0", "/state", 7, func(path string) bool { return path == "/usr" || path == "/dev/null" })
	if got, want := strings.Join(p.Args, " "), "/usr/bin/swtpm socket --tpm2 --ctrl type=unixio,fd=3 --tpmstate dir=.,mode=0600 --seccomp action=kill --terminate"; got != want {
		t.Errorf("got %s", got)
	}
	if strings.Join(p.Landlock.ReadWrite, " ") != "/state /dev/null" || strings.Join(p.Landlock.ReadExec, " ") != "/usr" || p.Landlock.ReadOnly != nil || p.UID != 7 || p.Dir != "/state" {
		t.Errorf("got %+v, %+v", p, p.Landlock)
	}
	if p := SWTPM("/usr/bin/swtpm", "1.2", "/state", 7, func(string) bool { return false }); strings.Contains(strings.Join(p.Args, " "), "--tpm2") {
		t.Errorf("a TPM 1.2 is started as %q", p.Args)
	}
	m := Maker("/m", "2.0", "/new", "guest:uuid", []string{"sha1", "sha256"}, 8, 9)
	if got := strings.Join(m.Args, " "); !strings.Contains(got, "--vmid guest:uuid") || !strings.HasSuffix(got, "--tpm2 --pcr-banks sha1,sha256") || m.UID != 8 || m.GID != 9 {
		t.Errorf("got %+v", m)
	}
	if got := strings.Join(Reconfigurer("/m", "/d", []string{"sha512"}, 7).Args, " "); got != "/m --tpm-state . --reconfigure --tpm2 --pcr-banks sha512" {
		t.Errorf("got %s", got)
	}
}
