package nwfilter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"

	"taproom/internal/spec"
)

// read returns a value of the attribute's kind, in network byte order and of its field's width. Kinds that are no values
// of a field are read elsewhere.
func (a *attribute) read(s string) ([]byte, error) {
	switch a.kind {
	case kindMAC:
		return spec.ParseMAC(s)
	case kindMACMask:
		m, err := spec.ParseMAC(s)
		if err == nil && !contiguous(m) {
			err = fmt.Errorf("mask %s has ones after zeros", s)
		}
		return m, err
	case kindIPv4, kindIPv6:
		return readAddress(s, a.kind == kindIPv6)
	case kindIPv4Mask:
		return readIPMask(s, 4)
	case kindIPv6Mask:
		return readIPMask(s, 16)
	case kindTCPFlags:
		_, flags, err := readTCPFlags(s)
		return []byte{flags}, err
	case kindBool:
		switch strings.ToLower(s) {
		case "true", "yes", "1":
			return []byte{1}, nil
		case "false", "no", "0":
			return nil, nil
		}
		return nil, fmt.Errorf("%q is neither true nor false", s)
	}
	n, err := a.readNumber(s)
	if err != nil {
		return nil, err
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(n))
	return b[4-a.width():], nil
}

func (a *attribute) width() int {
	if a.role == roleConnLimit {
		return 4
	}
	return a.field.Width()
}

func (a *attribute) readNumber(s string) (uint64, error) {
	if a.words != nil {
		if n := a.words(strings.ToLower(s)); n >= 0 {
			return uint64(n), nil
		}
	}
	digits, base := s, 10
	if d, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		digits, base = d, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		if a.words != nil {
			return 0, fmt.Errorf("%q is neither a number nor a name that is known here", s)
		}
		return 0, fmt.Errorf("%q is not a number", s)
	}
	if err != nil || n > a.most || n < a.least {
		return 0, fmt.Errorf("%s is outside of %d to %d", s, a.least, a.most)
	}
	return n, nil
}

func readAddress(s string, v6 bool) ([]byte, error) {
	ip, err := netip.ParseAddr(s)
	switch {
	case err != nil || ip.Zone() != "":
		return nil, fmt.Errorf("%q is not an IP address", s)
	case v6 && !ip.Is6():
		return nil, fmt.Errorf("%s is not an IPv6 address", s)
	case !v6 && !ip.Is4():
		return nil, fmt.Errorf("%s is not an IPv4 address", s)
	}
	return ip.AsSlice(), nil
}

// readIPMask reads the length of a prefix, or a mask that looks like an address.
func readIPMask(s string, octets int) ([]byte, error) {
	if n, err := strconv.ParseUint(s, 10, 32); err == nil {
		if n > uint64(octets)*8 {
			return nil, fmt.Errorf("a prefix has at most %d bits, not %d", octets*8, n)
		}
		m := make([]byte, octets)
		for i := range int(n) {
			m[i/8] |= 0x80 >> (i % 8)
		}
		return m, nil
	}
	m, err := readAddress(s, octets == 16)
	if err != nil {
		return nil, fmt.Errorf("%q is neither the length of a prefix nor a mask", s)
	}
	if !contiguous(m) {
		return nil, fmt.Errorf("mask %s has ones after zeros", s)
	}
	return m, nil
}

// contiguous reports whether b is ones and then zeros.
func contiguous(b []byte) bool {
	ended := false
	for _, o := range b {
		if ended && o != 0 || bits.LeadingZeros8(^o) != bits.OnesCount8(o) {
			return false
		}
		ended = ended || o != 0xff
	}
	return true
}

// readTCPFlags reads MASK/FLAGS, both lists of names with commas.
func readTCPFlags(s string) (mask, flags uint8, err error) {
	before, after, ok := strings.Cut(s, "/")
	if !ok {
		return 0, 0, fmt.Errorf("%q is not of the form MASK/FLAGS, as in SYN,ACK/SYN", s)
	}
	if mask, err = flagList(before); err != nil {
		return 0, 0, err
	}
	if flags, err = flagList(after); err != nil {
		return 0, 0, err
	}
	if flags&^mask != 0 {
		return 0, 0, fmt.Errorf("%s asks for flags that its mask leaves out, so it can never be met", s)
	}
	return mask, flags, nil
}

func flagList(s string) (uint8, error) {
	var all uint8
	for word := range strings.SplitSeq(s, ",") {
		switch strings.ToUpper(strings.TrimSpace(word)) {
		case "FIN":
			all |= 1
		case "SYN":
			all |= 2
		case "RST":
			all |= 4
		case "PSH":
			all |= 8
		case "ACK":
			all |= 16
		case "URG":
			all |= 32
		case "ALL":
			all |= 63
		case "NONE":
		default:
			return 0, fmt.Errorf("%q is not a flag of TCP (SYN, ACK, URG, PSH, FIN, RST, ALL or NONE)", word)
		}
	}
	return all, nil
}

// readStates reads a list of connection states. NONE, which goes before the others, is explicit: no state is looked at, and
// no rule for answers is implied.
func readStates(s string) (State, error) {
	var all State
	none := false
	for word := range strings.SplitSeq(s, ",") {
		switch strings.ToUpper(strings.TrimSpace(word)) {
		case "NEW":
			all |= New
		case "ESTABLISHED":
			all |= Established
		case "RELATED":
			all |= Related
		case "INVALID":
			all |= Invalid
		case "NONE":
			none = true
		default:
			return 0, fmt.Errorf("%q is not a state (NEW, ESTABLISHED, RELATED, INVALID or NONE)", word)
		}
	}
	if none {
		all = 0
	}
	return all, nil
}

// readSetName holds names to what the kernel and libvirt take (IPSET_MAXNAMELEN is 32 with the final zero).
func readSetName(s string) error {
	if s == "" || len(s) > 31 || strings.ContainsFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("_-.:+", c)
	}) {
		return fmt.Errorf("%q cannot be the name of an ipset (1 to 31 letters, digits, '_', '-', '.', ':' and '+')", s)
	}
	return nil
}

func readSetFlags(s string) ([]string, error) {
	var all []string
	for word := range strings.SplitSeq(strings.ToLower(s), ",") {
		if word != "src" && word != "dst" || len(all) == 6 {
			return nil, fmt.Errorf("%q is not a list of one to six src and dst, as in src,src,dst", s)
		}
		all = append(all, word)
	}
	return all, nil
}
