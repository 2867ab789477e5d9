package lanfiles

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Where NetworkManager keeps profiles: the administrator's, and those that it made itself until the next boot.
const (
	profileDir = "etc/NetworkManager/system-connections"
	volatile   = "run/NetworkManager/system-connections"
)

// secretMode is that of profiles, which may hold passwords; NetworkManager passes over those that others may read.
const secretMode fs.FileMode = 0o600

// networkManager is for NetworkManager. The NIC's profile no longer starts by itself, and two of ours do: the bridge's, with
// the addresses, and the NIC's as its port.
func networkManager(root fs.FS, m Move) (Result, bool, error) {
	state, there, err := read(root, "run/NetworkManager/devices/"+strconv.Itoa(m.Index))
	if err != nil || !there {
		return Result{}, false, err
	}
	is := sections(state)
	uuid := get(is, "device", "connection-uuid")
	if managed := get(is, "device", "managed"); uuid == "" || managed == "0" || managed == "false" {
		return Result{}, false, nil
	}
	r := Result{Manager: NetworkManager, Then: "nmcli connection reload && nmcli connection up " + mine + m.Bridge + "-port"}
	if _, err := fs.Stat(root, "usr/bin/nmcli"); err != nil {
		return r, true, fmt.Errorf("NetworkManager manages %s, and there is no /usr/bin/nmcli to have it take up another configuration: %w", m.NIC, ErrUnmanaged)
	}
	file, text, mode, err := profile(root, uuid)
	if err != nil {
		return r, true, err
	}
	switch {
	case file == "":
		return r, true, fmt.Errorf("NetworkManager configures %s by the profile %s, which is no file in /%s: run nmcli connection modify uuid %s connection.autoconnect yes, which writes one: %w", m.NIC, uuid, profileDir, uuid, ErrUnwritten)
	case strings.HasPrefix(path.Base(file), "netplan-"):
		r.Manager, r.Then = Netplan, "netplan apply"
		return r, true, fmt.Errorf("netplan manages %s (/%s), and taproom does not write its files: make %s in /etc/netplan, with the addresses that %s has there: %w", m.NIC, file, m.Bridge, m.NIC, ErrUnwritten)
	}
	old := sections(text)
	for _, f := range []struct{ name, text string }{{m.Bridge, bridgeProfile(m, old, uuid)}, {m.Bridge + "-port", portProfile(m, old, uuid)}} {
		c, err := newFile(root, path.Join(profileDir, mine+f.name+".nmconnection"), secretMode, note(m)+"\n"+f.text)
		if err != nil {
			return r, true, err
		}
		r.Changes = append(r.Changes, c)
	}
	if strings.HasPrefix(file, profileDir) {
		r.Changes = append(r.Changes, Change{Path: file, Mode: mode, Before: text, After: noAutoconnect(text)})
	} else {
		r.Notes = append(r.Notes, fmt.Sprintf("/%s is NetworkManager's own, and does not count as long as there is a profile of taproom's with a higher priority", file))
	}
	return r, true, nil
}

// profile finds the file of a profile.
func profile(root fs.FS, uuid string) (file, text string, mode fs.FileMode, err error) {
	for _, dir := range []string{profileDir, volatile} {
		files, err := fs.Glob(root, dir+"/*")
		if err != nil {
			return "", "", 0, err
		}
		for _, f := range files {
			b, err := fs.ReadFile(root, f)
			if err != nil {
				return "", "", 0, fmt.Errorf("read the profile /%s: %w", f, err)
			}
			if get(sections(string(b)), "connection", "uuid") == uuid {
				info, err := fs.Stat(root, f)
				if err != nil {
					return "", "", 0, err
				}
				return f, string(b), info.Mode().Perm(), nil
			}
		}
	}
	return "", "", 0, nil
}

// derived is a UUID for a profile of ours, the same each time.
func derived(from, what string) string {
	b := sha256.Sum256([]byte(from + " " + what))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8: of an application's own making
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// Keys and sections of a profile that belong to who talks IP.
var (
	whoTalks = among("zone metered permissions dns-over-tls llmnr mdns")
	talking  = among("ipv4 ipv6 proxy hostname")
)

func bridgeProfile(m Move, old []section, uuid string) string {
	head := section{name: "connection", lines: []string{
		"id=" + mine + m.Bridge, "uuid=" + derived(uuid, m.Bridge), "type=bridge", "interface-name=" + m.Bridge,
	}}
	out := ""
	for _, s := range old {
		switch {
		case s.name == "connection":
			head.lines = append(head.lines, s.only(whoTalks).lines...)
		case talking(s.name):
			out += s.text()
		}
	}
	mtu := ""
	if m.MTU != 1500 {
		mtu = fmt.Sprintf("[ethernet]\nmtu=%d\n\n", m.MTU)
	}
	return strings.TrimRight(head.text()+"[bridge]\nmac-address="+strings.ToUpper(m.MAC)+"\nstp=false\n\n"+mtu+out, "\n") + "\n"
}

// highest is the highest priority among profiles that start by themselves.
const highest = 999

func portProfile(m Move, old []section, uuid string) string {
	head := section{name: "connection", lines: []string{
		"id=" + mine + m.Bridge + "-port", "uuid=" + derived(uuid, m.Bridge+" port"), "type=" + get(old, "connection", "type"), "interface-name=" + m.NIC,
		"master=" + derived(uuid, m.Bridge), "slave-type=bridge", fmt.Sprintf("autoconnect-priority=%d", highest),
	}}
	out := head.text()
	for _, s := range old {
		if s.name != "" && s.name != "connection" && !talking(s.name) && !s.empty() {
			out += s.text()
		}
	}
	return strings.TrimRight(out, "\n") + "\n"
}

// noAutoconnect is the profile, which no longer starts by itself.
func noAutoconnect(text string) string {
	out, done := []string{}, false
	in := ""
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		if len(t) > 2 && t[0] == '[' && t[len(t)-1] == ']' {
			in = t
		}
		if k, _ := key(line); in == "[connection]" && k == "autoconnect" {
			continue
		}
		out = append(out, line)
		if t == "[connection]" && !done {
			if !strings.HasSuffix(line, "\n") {
				out = append(out, "\n")
			}
			out, done = append(out, "autoconnect=false\n"), true
		}
	}
	return strings.Join(out, "")
}
