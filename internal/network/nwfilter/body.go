package nwfilter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// body is what a rule demands, before its direction is seen to.
type body struct {
	matches []Match
	limit   *uint32
	sets    []IPSet
}

// lookup says what stands for a variable: a text, or a slot, or neither where that is not known yet.
type lookup func(*use) (text string, slot SlotName)

// build makes a rule's body. Without a value for some variable it checks what can be checked, and the body is worth nothing.
func (in *instance) build(of lookup) (body, error) {
	var b body
	for i := range in.uses {
		u := &in.uses[i]
		text, slot, known := given(u, of)
		if !known {
			continue
		}
		var err error
		switch u.role {
		case roleValue, roleFrom:
			err = in.condition(&b, u, text, slot, of)
		case roleConnLimit:
			var v []byte
			if v, err = u.read(text); err == nil {
				n := binary.BigEndian.Uint32(v)
				b.limit = &n
			}
		case roleSet:
			err = in.ipset(&b, u, text)
		}
		if err != nil {
			return b, in.fail(u, err)
		}
	}
	slices.SortStableFunc(b.matches, func(x, y Match) int { return int(x.Field) - int(y.Field) })
	return b, nil
}

func given(u *use, of lookup) (text string, slot SlotName, known bool) {
	if u.access == nil {
		return u.text, "", true
	}
	text, slot = of(u)
	return text, slot, text != "" || slot != ""
}

func (in *instance) fail(u *use, err error) error {
	reason := err.Error()
	if u.access != nil {
		reason = u.access.String() + ": " + reason
	}
	return &RuleError{Path: in.path, Rule: in.index, Attribute: string(in.protocol) + "/@" + u.name, Reason: reason}
}

func (in *instance) ipset(b *body, u *use, name string) error {
	if err := readSetName(name); err != nil {
		return err
	}
	flags := in.role(roleSetFlags)
	dimensions, err := readSetFlags(flags.text)
	if err != nil {
		return err
	}
	b.sets = append(b.sets, IPSet{Name: name, Flags: dimensions, Not: u.not})
	return nil
}

// condition adds what an attribute and those that belong to it demand of a field.
func (in *instance) condition(b *body, u *use, text string, slot SlotName, of lookup) error {
	m := Match{Field: u.field, Not: u.not, Slot: slot}
	if slot != "" {
		b.matches = append(b.matches, m)
		return nil
	}
	value, err := u.read(text)
	if err != nil || value == nil {
		return err // gratuitous='no' demands nothing
	}
	m.Value = value
	if u.kind == kindTCPFlags {
		mask, _, _ := readTCPFlags(text)
		m.Mask = []byte{mask}
	}
	maskRole, highRole := roleMask, roleHigh
	if u.role == roleFrom {
		maskRole, highRole = roleComment, roleTo // such a range has no mask
	}
	if mask := in.find(u.field, maskRole); mask != nil && maskRole == roleMask {
		t, _, known := given(mask, of)
		if !known {
			return nil
		}
		if m.Mask, err = mask.read(t); err != nil {
			return fmt.Errorf("%s: %w", mask.name, err)
		}
		m.Value = slices.Clone(m.Value)
		for i := range m.Value {
			m.Value[i] &= m.Mask[i]
		}
	}
	if high := in.find(u.field, highRole); high != nil {
		t, _, known := given(high, of)
		if !known {
			return nil
		}
		if m.High, err = high.read(t); err != nil {
			return fmt.Errorf("%s: %w", high.name, err)
		}
		if bytes.Compare(m.Value, m.High) > 0 {
			return fmt.Errorf("the range is the wrong way round: %s is above %s, which %s says", text, t, high.name)
		}
		if m.Mask != nil {
			return fmt.Errorf("a range cannot have a mask as well")
		}
	}
	b.matches = append(b.matches, m)
	return nil
}

// mirrored returns the body with source and destination exchanged.
func (b body) mirrored() body {
	m := body{matches: slices.Clone(b.matches), limit: b.limit, sets: slices.Clone(b.sets)}
	for i := range m.matches {
		m.matches[i].Field = m.matches[i].Field.Mirror()
	}
	for i := range m.sets {
		m.sets[i].Flags = slices.Clone(m.sets[i].Flags)
		for j, f := range m.sets[i].Flags {
			m.sets[i].Flags[j] = map[string]string{"src": "dst", "dst": "src"}[f]
		}
	}
	return m
}
