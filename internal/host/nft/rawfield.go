package nft

import (
	"fmt"
	"strconv"
	"strings"
)

// Raw is a run of 1, 2, 4, 6 or 16 bytes of a frame as part of a key, in family bridge: `@nh,64,48`. It is for bytes that no other Field
// names at this place of the rule; a Raw where a name exists is refused, since the dump shows the name. Its set is of
// RawType: the kernel would accept any type of that size, nft 1.0.6 as input no other.
func Raw(base Base, offset, size int) Field {
	return Field(fmt.Sprintf("@%s,%d,%d", base, 8*offset, 8*size))
}

// FieldAt returns the Field of a run of bytes for a key that follows these expressions in a rule of family bridge. ok is false where
// there is none.
func FieldAt(before []Expr, base Base, offset, size int) (f Field, ok bool) {
	e := &ruleEncoder{family: Bridge}
	for _, x := range before {
		if err := x.encode(e); err != nil {
			return "", false
		}
		e.prev = x
	}
	f = Raw(base, offset, size)
	i, ok := f.raw()
	if name, named := i.named(e.l3, e.l4); ok && named {
		x, _ := name.info()
		return name, x.kind.size() == size
	}
	return f, ok
}

// raw parses a Field of Raw.
func (f Field) raw() (fieldInfo, bool) {
	parts := strings.Split(strings.TrimPrefix(string(f), "@"), ",")
	if len(parts) != 3 || !strings.HasPrefix(string(f), "@") {
		return fieldInfo{}, false
	}
	base, known := bases()[Base(parts[0])]
	offset, err1 := strconv.ParseUint(parts[1], 10, 11)
	bits, err2 := strconv.ParseUint(parts[2], 10, 8)
	kind := rawKind(int(bits / 8))
	if !known || err1 != nil || err2 != nil || offset%8 != 0 || bits%8 != 0 || kind == 0 {
		return fieldInfo{}, false
	}
	return fieldInfo{field: f, kind: kind, base: base, offset: uint32(offset / 8), raw: true}, true
}

// rawKind is a type with values of that many bytes, 0 where there is none.
func rawKind(size int) scalar {
	return map[int]scalar{1: typeL4, 2: typePort, 4: typeIPv4, 6: typeEther, 16: typeIPv6}[size]
}

// rawAt is the Field of bytes that were loaded without a name.
func rawAt(at *place, size int) (fieldInfo, bool) {
	if at == nil {
		return fieldInfo{}, false
	}
	for name, base := range bases() {
		if base == at.base {
			return Raw(name, at.offset, size).raw()
		}
	}
	return fieldInfo{}, false
}

// named reports whether bytes at that place have a Field that needs no more than the protocols matched so far.
func (i fieldInfo) named(l3, l4 string) (Field, bool) {
	for _, x := range fields() {
		if !x.isMeta && x.base == i.base && x.offset == i.offset && (x.l3 == "" || x.l3 == l3) && (x.l4 == "" || x.l4 == l4) &&
			(x.kind.size() == i.kind.size() || x.isAddress() && i.kind.size() < x.kind.size()) {
			return x.field, true // of a port, that of the protocol comes before that of any
		}
	}
	return "", false
}

// requireRaw holds that raw bytes are looked at where they read back as they were sent.
func (e *ruleEncoder) requireRaw(i fieldInfo) error {
	if e.family != Bridge {
		return fmt.Errorf("%s is not to be had in family %s", i.field, e.family)
	}
	if name, ok := i.named(e.l3, e.l4); ok {
		return fmt.Errorf("use %q for %s", string(name), i.field)
	}
	return nil
}

// rawTerm reads a Raw at the beginning of a line, whose words end at commas.
func rawTerm(line []token) (Term, []token, bool) {
	if len(line) < 5 || line[1].text != "," || line[3].text != "," || line[0].quoted {
		return Term{}, nil, false
	}
	f := Field(line[0].text + "," + line[2].text + "," + line[4].text)
	if _, ok := f.raw(); !ok {
		return Term{}, nil, false
	}
	return Term{Field: f}, line[5:], true
}
