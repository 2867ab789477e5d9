package lanfiles

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// networkdDir is where the administrator's files of systemd-networkd lie.
const networkdDir = "etc/systemd/network"

// ours begins the names of our files: networkd takes the first file that matches a link, by its name.
const ours = "00-" + mine

// networkd is for systemd-networkd. The file that a NIC is configured by stays as it is: a file of ours comes before it.
func networkd(root fs.FS, m Move) (Result, bool, error) {
	state, there, err := read(root, "run/systemd/netif/links/"+strconv.Itoa(m.Index))
	if err != nil || !there {
		return Result{}, false, err
	}
	is := sections(state)
	file := get(is, "", "NETWORK_FILE")
	if admin := get(is, "", "ADMIN_STATE"); admin == "unmanaged" || file == "" {
		return Result{}, false, nil
	}
	r := Result{Manager: Networkd, Then: "networkctl reload"}
	if base := path.Base(file); strings.Contains(base, "netplan") {
		r.Manager, r.Then = Netplan, "netplan apply"
		return r, true, fmt.Errorf("netplan manages %s (%s), and taproom does not write its files: make %s in /etc/netplan, with the addresses that %s has there, and run netplan apply: %w", m.NIC, file, m.Bridge, m.NIC, ErrUnwritten)
	}
	if path.Base(file) <= ours {
		return r, true, fmt.Errorf("systemd-networkd configures %s by %s, and no file of taproom's would come before that one: give it a later name: %w", m.NIC, file, ErrUnwritten)
	}
	text, err := networkdText(root, file, get(is, "", "NETWORK_FILE_DROPINS"))
	if err != nil {
		return r, true, fmt.Errorf("read how systemd-networkd configures %s: %w", m.NIC, err)
	}
	for _, f := range []struct{ name, text string }{
		{m.Bridge + ".netdev", bridgeNetdev(m)},
		{m.Bridge + ".network", bridgeNetwork(m, text)},
		{m.Bridge + "-port.network", portNetwork(m, text)},
	} {
		c, err := newFile(root, path.Join(networkdDir, ours+f.name), 0o644, note(m)+"\n"+f.text)
		if err != nil {
			return r, true, err
		}
		r.Changes = append(r.Changes, c)
	}
	r.Notes = append(r.Notes, fmt.Sprintf("%s stays as it is, and does not count as long as the files of taproom's come before it", file))
	if slices.ContainsFunc(sections(text), func(s section) bool {
		dhcp := get([]section{s}, "Network", "DHCP")
		return dhcp != "" && dhcp != "no" && dhcp != "false" && dhcp != "0"
	}) && !strings.Contains(text, "ClientIdentifier=mac") {
		r.Notes = append(r.Notes, fmt.Sprintf("networkd's DHCP client names itself by the link as well as by the machine: on %s it may be given another address, unless the server goes by MAC addresses", m.Bridge))
	}
	return r, true, nil
}

// networkdText is a file with its drop-ins behind it, as networkd reads them.
func networkdText(root fs.FS, file, dropins string) (string, error) {
	text, err := fs.ReadFile(root, strings.TrimPrefix(file, "/"))
	if err != nil {
		return "", err
	}
	out := string(text)
	more := strings.FieldsFunc(strings.Trim(dropins, `"`), func(r rune) bool { return r == ':' || r == ' ' })
	if len(more) == 0 {
		if more, err = fs.Glob(root, strings.TrimPrefix(file, "/")+".d/*.conf"); err != nil {
			return "", err
		}
	}
	for _, d := range more {
		b, err := fs.ReadFile(root, strings.TrimPrefix(d, "/"))
		if err != nil {
			return "", err
		}
		out += "\n# of " + path.Base(d) + ":\n" + string(b)
	}
	return out, nil
}

func bridgeNetdev(m Move) string {
	mtu := ""
	if m.MTU != 1500 {
		mtu = fmt.Sprintf("MTUBytes=%d\n", m.MTU)
	}
	return fmt.Sprintf("[NetDev]\nName=%s\nKind=bridge\nMACAddress=%s\n%s\n[Bridge]\nSTP=no\nForwardDelaySec=0\n", m.Bridge, m.MAC, mtu)
}

// Keys of networkd that belong to one of the two.
var (
	stays     = among("VLAN MACVLAN MACVTAP IPVLAN IPVTAP IPoIB VXLAN LLDP EmitLLDP")
	isOnline  = among("RequiredForOnline RequiredFamilyForOnline")
	portParts = among("SR-IOV QDisc NetworkEmulator TokenBucketFilter CAKE FlowQueuePIE FQ_CoDel")
)

// bridgeNetwork is the NIC's file for the bridge.
func bridgeNetwork(m Move, text string) string {
	out := fmt.Sprintf("[Match]\nName=%s\n\n", m.Bridge)
	for _, s := range sections(text) {
		switch {
		case s.name == "" || s.name == "Match" || portParts(s.name):
			continue
		case s.name == "Link":
			s = s.only(isOnline)
		case s.name == "Network":
			s = s.without(stays)
		}
		if !s.empty() {
			out += s.text()
		}
	}
	return strings.TrimRight(out, "\n") + "\n"
}

// portNetwork is what stays with the NIC.
func portNetwork(m Move, text string) string {
	out := fmt.Sprintf("[Match]\nName=%s\n\n", m.NIC)
	network := section{name: "Network", lines: []string{"Bridge=" + m.Bridge, "LinkLocalAddressing=no"}}
	for _, s := range sections(text) {
		switch {
		case s.name == "Link":
			s = s.without(isOnline)
		case s.name == "Network":
			network.lines = append(network.lines, s.only(stays).lines...)
			continue
		case !portParts(s.name):
			continue
		}
		if !s.empty() {
			out += s.text()
		}
	}
	return strings.TrimRight(out+network.text(), "\n") + "\n"
}
