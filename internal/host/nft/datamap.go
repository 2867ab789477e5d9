package nft

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// dataType is what the keys of a map lead to: an address, or an address and a port, or with interval a range of each.
type dataType struct {
	interval bool
	fields   keyType
	verdict  bool // and nothing else
}

// parseData reads a map's data type in nft's words: "ipv4_addr", "interval ipv4_addr . inet_service".
func parseData(s string) (dataType, error) {
	if s == verdictData {
		return dataType{verdict: true}, nil
	}
	rest, interval := strings.CutPrefix(s, "interval ")
	t, err := parseType(rest)
	if err != nil {
		return dataType{}, err
	}
	d := dataType{interval: interval, fields: t}
	if t[0] != typeIPv4 && t[0] != typeIPv6 || len(t) > 2 || len(t) == 2 && t[1] != typePort {
		return dataType{}, fmt.Errorf("data type %q is outside the subset: use an address, or an address . inet_service", s)
	}
	if interval && len(t) == 2 && t[0] == typeIPv6 { // nft 1.0.6 reads the wrong registers, and the kernel refuses its rule
		return dataType{}, fmt.Errorf("data type %q is outside the subset: ranges of ports go with IPv4 only", s)
	}
	return d, nil
}

// String is the type in nft's words.
func (d dataType) String() string {
	if d.verdict {
		return verdictData
	}
	if d.interval {
		return "interval " + d.fields.String()
	}
	return d.fields.String()
}

// size is the bytes of one value: first and last, where it is a range.
func (d dataType) size() int {
	if d.interval {
		return 2 * d.fields.size()
	}
	return d.fields.size()
}

func (d dataType) ports() bool { return len(d.fields) == 2 }

// encode reads a value as nft writes it; a range may also be written as first-last, or as one value.
func (d dataType) encode(v string) ([]byte, error) {
	if !d.interval {
		return d.fields.encode(v)
	}
	parts, err := d.fields.split(v)
	if err != nil {
		return nil, err
	}
	var first, last []byte
	for i, p := range parts {
		a, b, err := d.fields[i].span(p)
		if err != nil {
			return nil, fmt.Errorf("element %q: %w", v, err)
		}
		first, last = appendPadded(first, a), appendPadded(last, b)
	}
	return append(first, last...), nil
}

func appendPadded(out, b []byte) []byte {
	return append(append(out, b...), make([]byte, padded(len(b))-len(b))...)
}

// decode gives a value as nft lists it.
func (d dataType) decode(b []byte) (string, error) {
	if !d.interval {
		return d.fields.decode(b)
	}
	if len(b) != d.size() {
		return "", fmt.Errorf("value of %d bytes for type %s", len(b), d)
	}
	first, last := b[:len(b)/2], b[len(b)/2:]
	parts := make([]string, len(d.fields))
	for i, s := range d.fields {
		p, err := s.spanText(first[:s.size()], last[:s.size()], len(d.fields) == 1)
		if err != nil {
			return "", err
		}
		parts[i] = p
		first, last = first[padded(s.size()):], last[padded(s.size()):]
	}
	return strings.Join(parts, " . "), nil
}

// span reads first-last, an address with a prefix length, or one value, which is a range of one.
func (s scalar) span(v string) (first, last []byte, err error) {
	if p, perr := netip.ParsePrefix(v); perr == nil && p == p.Masked() {
		if first, err = s.encode(p.Addr().String()); err != nil {
			return nil, nil, err
		}
		last = append([]byte(nil), first...)
		for i := p.Bits(); i < 8*len(last); i++ {
			last[i/8] |= 0x80 >> (i % 8)
		}
		return first, last, nil
	}
	low, high, ranged := strings.Cut(v, "-")
	if !ranged {
		high = low
	}
	if first, err = s.encode(low); err != nil {
		return nil, nil, err
	}
	if last, err = s.encode(high); err != nil {
		return nil, nil, err
	}
	if string(first) > string(last) {
		return nil, nil, fmt.Errorf("range %s ends before it begins", v)
	}
	return first, last, nil
}

// spanText undoes span: a range of addresses that is a prefix is listed as one, a single value alone, except that of an
// address which is all there is (alone).
func (s scalar) spanText(first, last []byte, alone bool) (string, error) {
	low, err := s.decode(first)
	if err != nil {
		return "", err
	}
	high, err := s.decode(last)
	switch {
	case err != nil:
		return "", err
	case string(first) > string(last):
		return "", fmt.Errorf("range %s-%s ends before it begins", low, high)
	case low == high && !alone:
		return low, nil
	case s == typePort:
		return low + "-" + high, nil
	}
	bits := 0
	for bits < 8*len(first) && bit(first, bits) == bit(last, bits) {
		bits++
	}
	for i := bits; i < 8*len(first); i++ {
		if bit(first, i) != 0 || bit(last, i) == 0 {
			return low + "-" + high, nil
		}
	}
	return low + "/" + strconv.Itoa(bits), nil
}

// bit is bit n, counted from the highest, at its place in its byte.
func bit(b []byte, n int) byte { return b[n/8] & (0x80 >> (n % 8)) }

// input is a value as nft's language takes it: where the map has ranges there must be one to be seen.
func (d dataType) input(v string) string {
	if !d.interval || strings.ContainsAny(v, "-/") {
		return v
	}
	parts := strings.Split(v, " . ")
	parts[0] += "/" + strconv.Itoa(8*d.fields[0].size())
	return strings.Join(parts, " . ")
}

// elementType is the type of a set's elements: of keys, and in a map of what they lead to.
type elementType struct {
	key   keyType
	data  dataType
	isMap bool
}

func (s Set) elementType() (t elementType, err error) {
	if t.key, err = parseType(s.Type); err != nil || s.Data == "" {
		return t, err
	}
	t.isMap = true
	t.data, err = parseData(s.Data)
	return t, err
}

// splitElement takes "key : value" apart.
func splitElement(e string) (key, value string) {
	key, value, _ = strings.Cut(e, " : ")
	return key, value
}

// encode gives the bytes of the key, and in a map those of the value.
func (t elementType) encode(e string) (key, value []byte, err error) {
	if !t.isMap {
		key, err = t.key.encode(e)
		return key, nil, err
	}
	k, v := splitElement(e)
	if v == "" {
		return nil, nil, fmt.Errorf("element %q: a map's is written KEY : VALUE", e)
	}
	if key, err = t.key.encode(k); err != nil {
		return nil, nil, err
	}
	if t.data.verdict {
		if _, err = parseVerdict(v); err != nil {
			err = fmt.Errorf("element %q: %w", e, err)
		}
		return key, nil, err
	}
	value, err = t.data.encode(v)
	return key, value, err
}

func (t elementType) decode(key, value []byte) (string, error) {
	k, err := t.key.decode(key)
	if err != nil || !t.isMap {
		return k, err
	}
	v, err := t.data.decode(value)
	return k + " : " + v, err
}

// quote writes an element as nft's language wants it; listed is how nft writes it itself.
func (t elementType) quote(e string, listed bool) string {
	if !t.isMap {
		return t.key.quote(e)
	}
	k, v := splitElement(e)
	if !listed {
		v = t.data.input(v)
	}
	return t.key.quote(k) + " : " + v
}

// Canonical is an element as a dump shows it, however it was written: a range that is a prefix as one, a range of one as
// its only member.
func (s Set) Canonical(element string) (string, error) {
	t, err := s.elementType()
	if err != nil {
		return "", err
	}
	key, value, err := t.encode(element)
	if err != nil {
		return "", err
	}
	if t.data.verdict {
		return element, nil
	}
	return t.decode(key, value)
}

// mapUserdata is what nft leaves beside a map, so that its listing decodes the values.
func (d dataType) mapUserdata() []byte {
	if d.verdict {
		return udata(udataDataOrder, binary.NativeEndian.AppendUint32(nil, orderInvalid))
	}
	order := binary.NativeEndian
	interval := uint32(0)
	if d.interval {
		interval = 1
	}
	u := udata(udataDataOrder, order.AppendUint32(nil, d.fields.byteOrder()))
	return append(u, udata(udataDataInterval, order.AppendUint32(nil, interval))...)
}
