package spec

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// DHCPOption is an option as it goes to clients, those of an architecture or, without Arch, all. An empty Value means that
// the option is not sent, also where the server would.
type DHCPOption struct {
	IPv6  bool
	Code  uint16
	Value []byte
	Arch  []uint16
}

// optionForm is how the words of a line become an option's bytes.
type optionForm int

const (
	formGuess   optionForm = iota // by what the words look like
	formAddrs                     // addresses one after another
	formText                      // as it is written
	formNames                     // DNS names in their wire form (RFC 1035, 3.1)
	form8                         // numbers of 8, 16 and 32 bits
	form16                        //
	form32                        //
	formRoutes                    // PREFIX,ROUTER… (RFC 3442)
	formNTP6                      // addresses, each a suboption (RFC 5908)
	formStrings                   // each with its length before it (RFC 5970, 3.2)
	formOwn                       // the server's own affair
)

type optionInfo struct {
	code  uint16
	form  optionForm
	names string
}

// options4 are the options of DHCPv4 that dnsmasq has names for (RFC 2132 and later), and how each is written.
func options4() []optionInfo {
	return []optionInfo{
		{1, formAddrs, "netmask"},
		{2, form32, "time-offset"},
		{3, formAddrs, "router"},
		{6, formAddrs, "dns-server"},
		{7, formAddrs, "log-server"},
		{9, formAddrs, "lpr-server"},
		{12, formText, "hostname"},
		{13, form16, "boot-file-size"},
		{15, formText, "domain-name"},
		{16, formAddrs, "swap-server"},
		{17, formText, "root-path"},
		{18, formText, "extension-path"},
		{19, form8, "ip-forward-enable"},
		{20, form8, "non-local-source-routing"},
		{21, formAddrs, "policy-filter"},
		{22, form16, "max-datagram-reassembly"},
		{23, form8, "default-ttl"},
		{26, form16, "mtu"},
		{27, form8, "all-subnets-local"},
		{28, formAddrs, "broadcast"},
		{31, form8, "router-discovery"},
		{32, formAddrs, "router-solicitation"},
		{33, formAddrs, "static-route"},
		{34, form8, "trailer-encapsulation"},
		{35, form32, "arp-timeout"},
		{36, form8, "ethernet-encap"},
		{37, form8, "tcp-ttl"},
		{38, form32, "tcp-keepalive"},
		{40, formText, "nis-domain"},
		{41, formAddrs, "nis-server"},
		{42, formAddrs, "ntp-server"},
		{44, formAddrs, "netbios-ns"},
		{45, formAddrs, "netbios-dd"},
		{46, form8, "netbios-nodetype"},
		{47, formText, "netbios-scope"},
		{48, formAddrs, "x-windows-fs"},
		{49, formAddrs, "x-windows-dm"},
		{50, formOwn, "requested-address"},
		{51, formOwn, "lease-time"},
		{52, formOwn, "option-overload"},
		{53, formOwn, "message-type"},
		{54, formOwn, "server-identifier"},
		{55, formOwn, "parameter-request"},
		{57, formOwn, "max-message-size"},
		{58, formOwn, "T1"},
		{59, formOwn, "T2"},
		{60, formText, "vendor-class"},
		{61, formOwn, "client-id"},
		{64, formText, "nis+-domain"},
		{65, formAddrs, "nis+-server"},
		{66, formText, "tftp-server"},
		{67, formText, "bootfile-name"},
		{68, formAddrs, "mobile-ip-home"},
		{69, formAddrs, "smtp-server"},
		{70, formAddrs, "pop3-server"},
		{71, formAddrs, "nntp-server"},
		{74, formAddrs, "irc-server"},
		{80, formOwn, "rapid-commit"},
		{81, formOwn, "FQDN"},
		{82, formOwn, "agent-id"},
		{93, formOwn, "client-arch"},
		{100, formText, "posix-timezone"},
		{101, formText, "tzdb-timezone"},
		{108, form32, "ipv6-only"},
		{118, formOwn, "subnet-select"},
		{119, formNames, "domain-search"},
		{121, formRoutes, "classless-static-route"},
		{150, formAddrs, "tftp-server-address"},
		{255, formOwn, "server-ip-address"},
	}
}

// options6 are those of DHCPv6 (RFC 8415, 3646, 3898, 4075, 4833, 5908, 5970).
func options6() []optionInfo {
	out := []optionInfo{
		{21, formNames, "sip-server-domain"},
		{22, formAddrs, "sip-server"},
		{23, formAddrs, "dns-server"},
		{24, formNames, "domain-search"},
		{27, formAddrs, "nis-server"},
		{28, formAddrs, "nis+-server"},
		{29, formNames, "nis-domain"},
		{30, formNames, "nis+-domain"},
		{31, formAddrs, "sntp-server"},
		{32, form32, "information-refresh-time"},
		{39, formOwn, "FQDN"},
		{41, formText, "posix-timezone"},
		{42, formText, "tzdb-timezone"},
		{56, formNTP6, "ntp-server"},
		{59, formText, "bootfile-url"},
		{60, formStrings, "bootfile-param"},
	}
	for _, own := range []uint16{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 18, 19, 20, 25, 26, 61, 62} {
		out = append(out, optionInfo{own, formOwn, ""})
	}
	return out
}

// option reads [tag:TAG,](N|option:NAME|option6:N|option6:NAME)[,VALUE…].
func (d *dnsmasq) option(value string) error {
	const form = "[tag:TAG,]N|option:NAME|option6:NAME[,VALUE]"
	f := strings.Split(value, ",")
	six := slices.ContainsFunc(f[:min(len(f), 2)], func(s string) bool { return strings.HasPrefix(s, "option6:") })
	arch, f, err := d.tagged("dhcp-option", f, six)
	if err != nil {
		return err
	}
	if len(f) == 0 {
		return d.unlike("dhcp-option", value, form)
	}
	table, most, name := options4(), uint64(254), strings.TrimPrefix(f[0], "option:")
	if six {
		table, most, name = options6(), 65535, strings.TrimPrefix(f[0], "option6:")
	}
	info := optionInfo{}
	if n, err := ParseDecimal(name, most); err == nil && n > 0 && !strings.HasPrefix(f[0], "option:") {
		info.code = uint16(n)
	}
	for _, o := range table {
		if o.code == info.code || o.names == name && name != f[0] {
			info = o
		}
	}
	switch {
	case info.code == 0:
		return d.unlike("dhcp-option", value, form)
	case info.form == formOwn:
		return unsupported(dnsmasqAt, "dhcp-option=%s: the server decides that option by itself (lease times are in <lease>, boot files by <bootp> or dhcp-boot)", value)
	}
	o := DHCPOption{IPv6: six, Code: info.code, Arch: slices.Clone(arch)}
	if len(f) > 1 {
		if o.Value, err = d.encode(info.form, f[1:], six); err != nil {
			return invalid(dnsmasqAt, "dhcp-option=%.200s: %s", value, err)
		}
	}
	if !six && len(o.Value) > 255 {
		return invalid(dnsmasqAt, "dhcp-option=%.200s: %d bytes are too long (limit 255)", value, len(o.Value))
	}
	d.out.Options = append(d.out.Options, o)
	return nil
}

func (d *dnsmasq) encode(form optionForm, words []string, six bool) ([]byte, error) {
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	text := strings.Join(words, ",")
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		words, form = []string{text[1 : len(text)-1]}, max(form, formText)
		text = words[0]
	}
	switch form {
	case formAddrs:
		return d.encodeAddrs(words, six)
	case formText:
		return []byte(text), nil
	case formNames:
		return encodeNames(words)
	case form8, form16, form32:
		return encodeNumbers(words, 1<<(form-form8))
	case formRoutes:
		return d.encodeRoutes(words)
	case formNTP6, formStrings:
		var out []byte
		for _, w := range words {
			b := []byte(w)
			if form == formNTP6 {
				a, err := d.addr(w, true)
				if err != nil {
					return nil, err
				}
				out, b = append(out, 0, 1), a.AsSlice() // NTP_SUBOPTION_SRV_ADDR
			}
			out = append(binary.BigEndian.AppendUint16(out, uint16(len(b))), b...)
		}
		return out, nil
	}
	return d.guess(words, text, six)
}

// guess takes the words of an option without a name for addresses, octets with colons, a number in as few bytes as hold
// it, or else a text, as dnsmasq does.
func (d *dnsmasq) guess(words []string, text string, six bool) ([]byte, error) {
	if b, err := d.encodeAddrs(words, six); err == nil {
		return b, nil
	}
	if len(words) > 1 {
		return []byte(text), nil
	}
	if strings.Contains(text, ":") {
		if b, err := ParseClientID(text); err == nil {
			return b, nil
		}
	}
	for _, size := range []int{1, 2, 4} {
		if b, err := encodeNumbers(words, size); err == nil {
			return b, nil
		}
	}
	return []byte(text), nil
}

// addr reads an address; 0.0.0.0 and [::] are the bridge's own.
func (d *dnsmasq) addr(s string, six bool) (netip.Addr, error) {
	if six {
		inner, ok := strings.CutPrefix(s, "[")
		if !ok || !strings.HasSuffix(inner, "]") {
			return netip.Addr{}, fmt.Errorf("%q is no IPv6 address in brackets", s)
		}
		s = strings.TrimSuffix(inner, "]")
	}
	a, err := parseAddr(s)
	switch {
	case err != nil || a.Is6() != six:
		return a, fmt.Errorf("%q is no address of the option's family", s)
	case a.IsUnspecified() && six:
		a = d.self6
	case a.IsUnspecified():
		a = d.self
	}
	if !a.IsValid() {
		return a, fmt.Errorf("%s stands for the bridge's address, and it has none", s)
	}
	return a, nil
}

func (d *dnsmasq) encodeAddrs(words []string, six bool) ([]byte, error) {
	var out []byte
	for _, w := range words {
		a, err := d.addr(w, six)
		if err != nil {
			return nil, err
		}
		out = append(out, a.AsSlice()...)
	}
	return out, nil
}

func encodeNames(words []string) ([]byte, error) {
	var out []byte
	for _, w := range words {
		if !hostName(w) {
			return nil, fmt.Errorf("%q is no DNS name", w)
		}
		for label := range strings.SplitSeq(w, ".") {
			out = append(append(out, byte(len(label))), label...)
		}
		out = append(out, 0)
	}
	return out, nil
}

func encodeNumbers(words []string, size int) ([]byte, error) {
	var out []byte
	for _, w := range words {
		n, err := ParseNumber(w, 1<<(8*size)-1)
		if err != nil {
			return nil, err
		}
		b := binary.BigEndian.AppendUint32(nil, uint32(n))
		out = append(out, b[4-size:]...)
	}
	return out, nil
}

// encodeRoutes writes pairs of prefix and router; of a prefix only the bytes that count (RFC 3442).
func (d *dnsmasq) encodeRoutes(words []string) ([]byte, error) {
	if len(words)%2 != 0 {
		return nil, fmt.Errorf("%d words are no pairs of PREFIX,ROUTER", len(words))
	}
	var out []byte
	for i := 0; i < len(words); i += 2 {
		p, err := netip.ParsePrefix(words[i])
		if err != nil || !p.Addr().Is4() || p.Masked() != p {
			return nil, fmt.Errorf("%q is no IPv4 prefix", words[i])
		}
		router, err := parseAddr(words[i+1])
		if err != nil || !router.Is4() {
			return nil, fmt.Errorf("%q is no IPv4 address", words[i+1])
		}
		out = append(out, byte(p.Bits()))
		out = append(out, p.Addr().AsSlice()[:(p.Bits()+7)/8]...)
		out = append(out, router.AsSlice()...)
	}
	return out, nil
}
