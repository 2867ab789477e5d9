package explain

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"taproom/internal/network/nwfilter"
	"taproom/internal/spec"
)

// Question is a frame with all that the simulator wants to know of it.
type Question struct {
	Direction nwfilter.Direction
	Frame     []byte
	Flow      nwfilter.Flow
}

// Ask is a question as a person puts it. Exactly one of Frame, TCP, UDP, ICMP and ARP is given. Fields are only added.
type Ask struct {
	In          bool            `json:"in,omitempty"`          // to the guest; else from it
	Frame       string          `json:"frame,omitempty"`       // hexadecimal digits; blanks, colons and newlines are passed over
	TCP         string          `json:"tcp,omitempty"`         // SRC:PORT,DST:PORT[,FLAG…]; SYN where no flag is given
	UDP         string          `json:"udp,omitempty"`         // SRC:PORT,DST:PORT
	ICMP        string          `json:"icmp,omitempty"`        // SRC,DST[,TYPE[/CODE]]; an echo request where no type is given
	ARP         string          `json:"arp,omitempty"`         // request,SRC,DST or reply,SRC,DST
	SrcMAC      string          `json:"src_mac,omitempty"`     // where it is not the guest's own, or the other side's
	DstMAC      string          `json:"dst_mac,omitempty"`     // likewise
	State       string          `json:"state,omitempty"`       // new, established, related or invalid; new where it is empty
	Reply       bool            `json:"reply,omitempty"`       // it goes against the direction of the connection
	Connections uint32          `json:"connections,omitempty"` // that there are, this one included
	Sets        map[string]bool `json:"sets,omitempty"`        // whether it is in an ipset
}

// otherMAC stands for whoever the guest talks to: locally administered (IEEE 802 8.2.2), so that no card has it.
const otherMAC = "02:00:00:00:00:01"

// Question makes the frame. guest is the MAC address of the NIC.
func (a Ask) Question(guest string) (Question, error) {
	q := Question{Flow: nwfilter.Flow{Reply: a.Reply, Connections: a.Connections, Sets: a.Sets}}
	if a.In {
		q.Direction = nwfilter.In
	}
	states := map[string]nwfilter.State{"": nwfilter.New, "new": nwfilter.New, "established": nwfilter.Established, "related": nwfilter.Related, "invalid": nwfilter.Invalid}
	state, ok := states[strings.ToLower(a.State)]
	if !ok {
		return q, fmt.Errorf("state %q is not known; use new, established, related or invalid", a.State)
	}
	q.Flow.State = state
	var given []string
	for _, one := range [][2]string{{"frame", a.Frame}, {"tcp", a.TCP}, {"udp", a.UDP}, {"icmp", a.ICMP}, {"arp", a.ARP}} {
		if one[1] != "" {
			given = append(given, one[0])
		}
	}
	if len(given) != 1 {
		return q, fmt.Errorf("say what the frame is by one of frame, tcp, udp, icmp and arp; here are %d", len(given))
	}
	var err error
	if a.Frame != "" {
		q.Frame, err = octets(a.Frame)
		return q, err
	}
	src, dst, err := a.addresses(guest)
	if err != nil {
		return q, err
	}
	switch given[0] {
	case "arp":
		q.Frame, err = arp(a.ARP, src, dst, a.DstMAC == "")
	case "icmp":
		q.Frame, err = icmp(a.ICMP, src, dst, a.DstMAC == "")
	case "tcp":
		q.Frame, err = tcp(a.TCP, src, dst, a.DstMAC == "")
	case "udp":
		q.Frame, err = udp(a.UDP, src, dst, a.DstMAC == "")
	}
	return q, err
}

// addresses returns the MAC addresses of the frame.
func (a Ask) addresses(guest string) (src, dst net.HardwareAddr, err error) {
	s, d := guest, otherMAC
	if a.In {
		s, d = d, s
	}
	if a.SrcMAC != "" {
		s = a.SrcMAC
	}
	if a.DstMAC != "" {
		d = a.DstMAC
	}
	if src, err = spec.ParseMAC(s); err != nil {
		return nil, nil, err
	}
	dst, err = spec.ParseMAC(d)
	return src, dst, err
}

func octets(s string) ([]byte, error) {
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "\n", "", "\t", "", ":", "").Replace(s))
	if err != nil {
		return nil, fmt.Errorf("frame: %w; give its octets from the destination's MAC address on, two hexadecimal digits each", err)
	}
	if len(b) < 14 || len(b) > 65535 {
		return nil, &nwfilter.FrameError{Length: len(b)}
	}
	return b, nil
}

// endpoints reads SRC:PORT,DST:PORT and what follows.
func endpoints(what, s string) (src, dst netip.AddrPort, rest []string, err error) {
	parts := strings.Split(s, ",")
	if len(parts) < 2 {
		return src, dst, nil, fmt.Errorf("%s %q: want SRC:PORT,DST:PORT, as in 10.0.0.1:40000,10.0.0.2:80 or [fe80::1]:40000,[fe80::2]:80", what, s)
	}
	if src, err = netip.ParseAddrPort(parts[0]); err == nil {
		dst, err = netip.ParseAddrPort(parts[1])
	}
	if err != nil {
		return src, dst, nil, fmt.Errorf("%s %q: %w", what, s, err)
	}
	return src, dst, parts[2:], family(what, src.Addr(), dst.Addr())
}

func family(what string, src, dst netip.Addr) error {
	if src.Is4() != dst.Is4() || src.Zone() != "" || dst.Zone() != "" || src.Is4In6() || dst.Is4In6() {
		return fmt.Errorf("%s from %s to %s: both are IPv4 addresses, or both IPv6, without a zone", what, src, dst)
	}
	return nil
}

func tcp(s string, src, dst net.HardwareAddr, chosen bool) ([]byte, error) {
	from, to, words, err := endpoints("tcp", s)
	if err != nil {
		return nil, err
	}
	var flags byte
	for _, w := range words {
		bit, ok := map[string]byte{"FIN": 1, "SYN": 2, "RST": 4, "PSH": 8, "ACK": 16, "URG": 32}[strings.ToUpper(w)]
		if !ok {
			return nil, fmt.Errorf("tcp %q: %q is not a flag; use SYN, ACK, URG, PSH, FIN and RST", s, w)
		}
		flags |= bit
	}
	if len(words) == 0 {
		flags = 2
	}
	h := make([]byte, 20)
	put16(h, 0, from.Port())
	put16(h, 2, to.Port())
	h[12], h[13] = 5<<4, flags
	put16(h, 14, 65535)
	return ip(src, dst, chosen, from.Addr(), to.Addr(), 6, h, 16), nil
}

func udp(s string, src, dst net.HardwareAddr, chosen bool) ([]byte, error) {
	from, to, words, err := endpoints("udp", s)
	if err == nil && len(words) > 0 {
		err = fmt.Errorf("udp %q: nothing may follow the second port", s)
	}
	if err != nil {
		return nil, err
	}
	h := make([]byte, 8)
	put16(h, 0, from.Port())
	put16(h, 2, to.Port())
	put16(h, 4, 8)
	return ip(src, dst, chosen, from.Addr(), to.Addr(), 17, h, 6), nil
}

func icmp(s string, src, dst net.HardwareAddr, chosen bool) ([]byte, error) {
	from, to, rest, err := two("icmp", s, strings.Split(s, ","))
	if err != nil {
		return nil, err
	}
	protocol, h := byte(1), []byte{8, 0, 0, 0, 0, 1, 0, 1}
	if from.Is6() {
		protocol, h[0] = 58, 128
	}
	if len(rest) == 1 {
		kind, code, _ := strings.Cut(rest[0], "/")
		for i, number := range []string{kind, code} {
			if number == "" && i == 1 {
				continue
			}
			n, err := strconv.ParseUint(number, 10, 8)
			if err != nil {
				return nil, fmt.Errorf("icmp %q: %q is not a number from 0 to 255", s, number)
			}
			h[i] = byte(n)
		}
	} else if len(rest) > 1 {
		return nil, fmt.Errorf("icmp %q: want SRC,DST,TYPE/CODE", s)
	}
	return ip(src, dst, chosen, from, to, protocol, h, 2), nil
}

// two reads two addresses from the beginning of a list.
func two(what, s string, parts []string) (src, dst netip.Addr, rest []string, err error) {
	if len(parts) < 2 {
		return src, dst, nil, fmt.Errorf("%s %q: want two addresses with a comma between", what, s)
	}
	if src, err = netip.ParseAddr(parts[0]); err == nil {
		dst, err = netip.ParseAddr(parts[1])
	}
	if err != nil {
		return src, dst, nil, fmt.Errorf("%s %q: %w", what, s, err)
	}
	return src, dst, parts[2:], family(what, src, dst)
}

func arp(s string, src, dst net.HardwareAddr, chosen bool) ([]byte, error) {
	parts := strings.Split(s, ",")
	opcode, ok := map[string]byte{"request": 1, "reply": 2}[strings.ToLower(parts[0])]
	from, to, rest, err := two("arp", s, parts[1:])
	if err != nil || !ok || len(rest) > 0 || !from.Is4() {
		return nil, fmt.Errorf("arp %q: want request,SRC,DST or reply,SRC,DST with IPv4 addresses, as in request,10.0.0.1,10.0.0.2", s)
	}
	target := dst
	if opcode == 1 {
		target = make(net.HardwareAddr, 6) // it is what is asked for
		if chosen {
			dst = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		}
	}
	b := append(append(append([]byte{}, dst...), src...), 0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, opcode)
	b = append(append(b, src...), from.AsSlice()...)
	return append(append(b, target...), to.AsSlice()...), nil
}
