package nft

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// scalar is one of nft's data types.
type scalar uint8

const (
	typeIPv4      scalar = 7
	typeIPv6      scalar = 8
	typeEther     scalar = 9
	typeEtherType scalar = 10
	typeL4        scalar = 12 // inet_proto
	typePort      scalar = 13 // inet_service
	typeIfName    scalar = 41
)

const ifNameSize = 16

// udata byte orders, as nft writes them beside a set so that its listing decodes the keys.
const (
	orderInvalid = 0
	orderHost    = 1
	orderBig     = 2
)

type scalarInfo struct {
	kind scalar
	name string
	size int
}

func scalars() []scalarInfo {
	return []scalarInfo{
		{typeIPv4, "ipv4_addr", 4},
		{typeIPv6, "ipv6_addr", 16},
		{typeEther, "ether_addr", 6},
		{typeEtherType, "ether_type", 2},
		{typeL4, "inet_proto", 1},
		{typePort, "inet_service", 2},
		{typeIfName, "ifname", ifNameSize},
	}
}

func (s scalar) info() (scalarInfo, bool) {
	if s&rawScalar != 0 {
		return scalarInfo{s, "integer", int(s &^ rawScalar)}, true
	}
	for _, i := range scalars() {
		if i.kind == s {
			return i, true
		}
	}
	return scalarInfo{}, false
}

func (s scalar) size() int {
	i, _ := s.info()
	return i.size
}

// padded is the room a field takes in a key: registers are 4 bytes.
func padded(n int) int { return (n + 3) &^ 3 }

// keyType is the type of a set's keys: one scalar, or several laid one after another.
type keyType []scalar

func parseType(s string) (keyType, error) {
	if t, ok := rawKeys(s); ok {
		return t, nil
	}
	parts := strings.Split(s, " . ")
	if len(parts) > 5 {
		return nil, fmt.Errorf("set type %q: at most 5 fields", s)
	}
	var t keyType
	total := 0
	for _, p := range parts {
		found := false
		for _, i := range scalars() {
			if i.name == p {
				t, found = append(t, i.kind), true
				total += padded(i.size)
			}
		}
		if !found {
			return nil, fmt.Errorf("set type %q: %q is outside the subset (ifname, ipv4_addr, ipv6_addr, ether_addr, ether_type, inet_proto, inet_service)", s, p)
		}
	}
	if total > 64 {
		return nil, fmt.Errorf("set type %q: a key of %d bytes does not fit the 64 the kernel has", s, total)
	}
	return t, nil
}

// typeFromKernel undoes id.
func typeFromKernel(id uint32) (keyType, error) {
	var t keyType
	for ; id != 0; id >>= 6 {
		s := scalar(id & 0x3f)
		if _, ok := s.info(); !ok {
			return nil, fmt.Errorf("key type %d is outside the subset", s)
		}
		t = append(keyType{s}, t...)
	}
	if len(t) == 0 {
		return nil, errors.New("set without a key type")
	}
	return t, nil
}

func (t keyType) String() string {
	if t.raw() {
		return RawType(t[1].size())
	}
	names := make([]string, len(t))
	for i, s := range t {
		info, _ := s.info()
		names[i] = info.name
	}
	return strings.Join(names, " . ")
}

// id is how nft numbers the type: six bits per field.
func (t keyType) id() uint32 {
	var id uint32
	for _, s := range t {
		if s&rawScalar != 0 {
			s = typeInteger
		}
		id = id<<6 | uint32(s)
	}
	return id
}

func (t keyType) size() int {
	if len(t) == 1 {
		return t[0].size()
	}
	n := 0
	for _, s := range t {
		n += padded(s.size())
	}
	return n
}

func (t keyType) byteOrder() uint32 {
	switch {
	case len(t) > 1:
		return orderInvalid
	case t[0] == typeIfName:
		return orderHost
	}
	return orderBig
}

func (t keyType) split(key string) ([]string, error) {
	parts := strings.Split(key, " . ")
	if len(parts) != len(t) {
		return nil, fmt.Errorf("element %q: want %d fields of type %s", key, len(t), t)
	}
	return parts, nil
}

func (t keyType) encode(key string) ([]byte, error) {
	parts, err := t.split(key)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, t.size())
	for i, p := range parts {
		b, err := t[i].encode(p)
		if err != nil {
			return nil, fmt.Errorf("element %q: %w", key, err)
		}
		out = append(out, b...)
		if len(t) > 1 {
			out = append(out, make([]byte, padded(len(b))-len(b))...)
		}
	}
	return out, nil
}

func (t keyType) decode(b []byte) (string, error) {
	if len(b) != t.size() && (len(t) > 1 || len(b) != padded(t.size())) {
		return "", fmt.Errorf("key of %d bytes for type %s", len(b), t)
	}
	parts := make([]string, len(t))
	for i, s := range t {
		p, err := s.decode(b[:s.size()])
		if err != nil {
			return "", err
		}
		parts[i] = p
		if len(t) > 1 {
			b = b[padded(s.size()):]
		}
	}
	return strings.Join(parts, " . "), nil
}

// quote writes a key as nft's language wants it: names of interfaces in quotes.
func (t keyType) quote(key string) string {
	parts, err := t.split(key)
	if err != nil {
		return strconv.Quote(key)
	}
	for i := range parts {
		parts[i] = t[i].quote(parts[i])
	}
	return strings.Join(parts, " . ")
}

func (s scalar) quote(v string) string {
	if s == typeIfName {
		return `"` + v + `"`
	}
	return v
}

func (s scalar) encode(v string) ([]byte, error) {
	if s&rawScalar != 0 {
		return encodeRaw(v, s.size())
	}
	switch s {
	case typeIfName:
		if err := checkIfName(v); err != nil {
			return nil, err
		}
		b := make([]byte, ifNameSize)
		copy(b, v)
		return b, nil
	case typeIPv4, typeIPv6:
		a, err := netip.ParseAddr(v)
		if err != nil || a.Is4() != (s == typeIPv4) || a.Zone() != "" {
			info, _ := s.info()
			return nil, fmt.Errorf("%q is no %s", v, info.name)
		}
		return a.AsSlice(), nil
	case typePort:
		n, err := strconv.ParseUint(v, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%q is no port number", v)
		}
		return binary.BigEndian.AppendUint16(nil, uint16(n)), nil
	case typeEther:
		return encodeEther(v)
	case typeEtherType:
		return encodeEtherType(v)
	case typeL4:
		for n, name := range protocols() {
			if name == v {
				return []byte{n}, nil
			}
		}
		n, err := strconv.ParseUint(v, 10, 8)
		if err != nil {
			return nil, fmt.Errorf("%q is no protocol of the subset", v)
		}
		return []byte{byte(n)}, nil
	}
	return nil, fmt.Errorf("data type %d is outside the subset", s)
}

func encodeEther(v string) ([]byte, error) {
	parts := strings.Split(v, ":")
	b := make([]byte, 0, 6)
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 16, 8)
		if err != nil || len(p) != 2 {
			return nil, fmt.Errorf("%q is no MAC address", v)
		}
		b = append(b, byte(n))
	}
	if len(b) != 6 {
		return nil, fmt.Errorf("%q is no MAC address", v)
	}
	return b, nil
}

func (s scalar) decode(b []byte) (string, error) {
	if len(b) != s.size() {
		return "", fmt.Errorf("value of %d bytes, want %d", len(b), s.size())
	}
	if s&rawScalar != 0 {
		return rawText(b), nil
	}
	switch s {
	case typeIfName:
		name, rest, ok := bytes.Cut(b, []byte{0})
		if !ok || len(bytes.Trim(rest, "\x00")) != 0 {
			return "", fmt.Errorf("%q is no interface name", b)
		}
		return string(name), checkIfName(string(name))
	case typeIPv4, typeIPv6:
		a, _ := netip.AddrFromSlice(b)
		return a.String(), nil
	case typePort:
		return strconv.Itoa(int(binary.BigEndian.Uint16(b))), nil
	case typeEtherType:
		return etherTypeText(b), nil
	case typeEther:
		return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]), nil
	}
	if name, ok := protocols()[b[0]]; ok {
		return name, nil
	}
	return strconv.Itoa(int(b[0])), nil
}

func protocols() map[uint8]string {
	return map[uint8]string{1: "icmp", 6: "tcp", 17: "udp", 58: "ipv6-icmp"}
}

// checkIfName holds the kernel's rule for interface names and nft's for what can be written in quotes.
func checkIfName(s string) error {
	if s == "" || len(s) >= ifNameSize {
		return fmt.Errorf("interface name %q: 1 to %d bytes", s, ifNameSize-1)
	}
	for _, r := range s {
		if r <= ' ' || r > '~' || strings.ContainsRune(`"\/:*`, r) {
			return fmt.Errorf("interface name %q: only printable ASCII without blanks, quotes and \\ / : *", s)
		}
	}
	return nil
}
