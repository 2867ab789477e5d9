package inspect

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// nixProfile is NixOS's current system: /etc is made from it when the system starts.
const nixProfile = "nix/var/nix/profiles/system"

// releaseFiles say which distribution it is, the best first.
var releaseFiles = []string{
	"etc/os-release", "usr/lib/os-release", nixProfile + "/etc/os-release",
	"etc/lsb-release", "etc/redhat-release", "etc/SuSE-release", "etc/alpine-release", "etc/arch-release", "etc/gentoo-release", "etc/slackware-version", "etc/debian_version",
}

// release reads which distribution it is.
func (s *System) release(t *tree) {
	for _, name := range releaseFiles[:3] {
		if !t.exists(name) {
			continue
		}
		values := shellValues(t.text(name))
		s.Distribution, s.Version = strings.ToLower(values["ID"]), values["VERSION_ID"]
		s.Name, s.Codename = values["PRETTY_NAME"], values["VERSION_CODENAME"]
		s.Like = strings.Fields(values["ID_LIKE"])
		if s.Name == "" {
			s.Name = values["NAME"]
		}
		if s.Distribution == "" && s.OS == "linux" {
			s.Distribution = "linux" // the default of os-release(5)
		}
		break
	}
	if s.Distribution == "debian" && s.Version == "" { // testing and unstable
		s.Version = t.line("etc/debian_version")
	}
	if s.Distribution == "" && s.OS == "linux" {
		s.before(t)
	}
}

var versionIn = regexp.MustCompile(`[0-9]+(\.[0-9]+)*`)

// before reads what distributions had before os-release(5).
func (s *System) before(t *tree) {
	for _, f := range []struct{ name, id string }{
		{"etc/alpine-release", "alpine"},
		{"etc/SuSE-release", "suse"},
		{"etc/arch-release", "arch"},
		{"etc/gentoo-release", "gentoo"},
		{"etc/slackware-version", "slackware"},
		{"etc/redhat-release", "rhel"},
		{"etc/debian_version", "debian"},
	} {
		if !t.exists(f.name) {
			continue
		}
		line := t.line(f.name)
		s.Distribution, s.Name, s.Version = f.id, line, versionIn.FindString(line)
		if f.id == "rhel" {
			s.Distribution = relatives(line)
			s.Like = []string{"rhel", "fedora"}
		}
		break
	}
	if values := shellValues(t.text("etc/lsb-release")); values["DISTRIB_ID"] != "" {
		s.Distribution, s.Version = strings.ToLower(values["DISTRIB_ID"]), values["DISTRIB_RELEASE"]
		s.Codename, s.Name = values["DISTRIB_CODENAME"], values["DISTRIB_DESCRIPTION"]
	}
	if s.Distribution == "" && t.exists(nixProfile) {
		s.Distribution = "nixos"
	}
}

// relatives are those whose redhat-release begins with another name.
func relatives(line string) string {
	for _, r := range []struct{ begins, id string }{
		{"CentOS", "centos"}, {"Fedora", "fedora"}, {"Rocky", "rocky"}, {"AlmaLinux", "almalinux"}, {"Oracle", "ol"}, {"Scientific", "scientific"},
	} {
		if strings.HasPrefix(line, r.begins) {
			return r.id
		}
	}
	return "rhel"
}

// shellValues reads lines NAME=value of a file that a shell could read, with quotes as os-release(5) has them. Of a name that comes
// several times the last one counts.
func shellValues(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
		if !ok || name == "" || name[0] == '#' || len(out) >= 1000 {
			continue
		}
		out[clip(name)] = clip(unquote(strings.TrimSpace(value)))
	}
	return out
}

func shellValue(text, name string) string { return shellValues(text)[name] }

// unquote takes the quotes off a shell's word. Unquoted, a comment ends it.
func unquote(s string) string {
	if s == "" {
		return ""
	}
	quote := s[0]
	if quote != '"' && quote != '\'' {
		word, _, _ := strings.Cut(s, " #")
		return strings.TrimSpace(word)
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return b.String()
		case s[i] == '\\' && quote == '"' && i+1 < len(s) && strings.IndexByte("\"\\$`", s[i+1]) >= 0:
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// hostname is the name that a system gives itself.
func hostname(t *tree) string {
	if name := t.line("etc/hostname"); name != "" {
		return name
	}
	for _, f := range []struct{ name, key string }{
		{"etc/conf.d/hostname", "hostname"}, {"etc/sysconfig/network", "HOSTNAME"}, {"etc/rc.conf", "HOSTNAME"},
	} {
		if name := shellValue(t.text(f.name), f.key); name != "" {
			return name
		}
	}
	if name := t.line("etc/HOSTNAME"); name != "" { // SUSE's
		return name
	}
	return nixHostname(t)
}

// nixHostname is in the name of NixOS's system, /nix/store/HASH-nixos-system-HOST-VERSION.
func nixHostname(t *tree) string {
	real, ok := t.resolve(nixProfile)
	if !ok {
		return ""
	}
	_, rest, ok := strings.Cut(path.Base(real), "-nixos-system-")
	if i := strings.LastIndexByte(rest, '-'); ok && i > 0 {
		return rest[:i]
	}
	return ""
}

// timeZone is by what /etc/localtime links to.
func timeZone(t *tree) string {
	if _, zone, ok := strings.Cut(t.link("etc/localtime"), "zoneinfo/"); ok {
		return zone
	}
	return t.line("etc/timezone")
}

// initSystem is what starts the rest.
func initSystem(t *tree) string {
	real := ""
	for _, at := range []string{"sbin/init", "usr/sbin/init", "init", nixProfile + "/init"} {
		if real = t.link(at); real != "" {
			break
		}
	}
	for _, known := range []string{"systemd", "busybox", "openrc", "runit", "s6", "dinit", "upstart"} {
		if strings.Contains(real, known) {
			if known == "busybox" && t.first("sbin/openrc", "usr/sbin/openrc", "usr/bin/openrc") != "" {
				return "openrc"
			}
			return known
		}
	}
	for _, f := range []struct{ name, is string }{
		{"sbin/openrc", "openrc"},
		{"usr/bin/openrc", "openrc"},
		{"etc/runit/1", "runit"},
		{"etc/s6", "s6"},
		{"etc/dinit.d", "dinit"},
		{"etc/inittab", "sysvinit"},
		{"etc/init/rc.conf", "upstart"},
		{"lib/systemd/systemd", "systemd"},
		{"usr/lib/systemd/systemd", "systemd"},
		{nixProfile + "/systemd", "systemd"},
	} {
		if t.exists(f.name) {
			return f.is
		}
	}
	return ""
}

// defaultUnit is what systemd starts.
func defaultUnit(t *tree) string {
	for _, dir := range []string{"etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"} {
		if target := t.link(dir + "/default.target"); target != "" {
			return path.Base(target)
		}
	}
	return ""
}

// kernels are those in /boot, and those that have modules.
func kernels(t *tree) []Kernel {
	found := map[string]*Kernel{}
	of := func(version string) *Kernel {
		version = clip(version)
		if found[version] == nil {
			found[version] = &Kernel{Version: version}
		}
		return found[version]
	}
	for _, dir := range []string{"usr/lib/modules", "lib/modules"} {
		for _, name := range t.names(dir) {
			if len(name) > 0 && name[0] >= '0' && name[0] <= '9' && of(name).Modules == "" {
				of(name).Modules = "/" + dir + "/" + name
				if image := dir + "/" + name + "/vmlinuz"; t.exists(image) { // Fedora, Arch
					of(name).Image = "/" + image
				}
			}
		}
	}
	for _, name := range t.names("boot") {
		for _, begins := range []string{"vmlinuz-", "vmlinux-", "kernel-", "linux-", "Image-"} {
			if version, ok := strings.CutPrefix(name, begins); ok && version != "" && !strings.HasSuffix(version, ".old") {
				of(version).Image = "/boot/" + name
			}
		}
	}
	for _, name := range t.names("boot") {
		for version, k := range found {
			for _, is := range []string{"initrd.img-" + version, "initramfs-" + version + ".img", "initrd-" + version, "initramfs-" + version} {
				if name == is {
					k.Initramfs = "/boot/" + name
				}
			}
		}
	}
	if real, ok := t.resolve(nixProfile + "/kernel"); ok && len(found) == 0 {
		version := path.Base(path.Dir(real)) // HASH-linux-VERSION
		if _, after, ok := strings.Cut(version, "-linux-"); ok {
			version = after
		}
		of(version).Image = "/" + real
	}
	out := make([]Kernel, 0, len(found))
	for _, k := range found {
		out = append(out, *k)
	}
	slices.SortFunc(out, func(a, b Kernel) int { return strings.Compare(a.Version, b.Version) })
	return out
}
