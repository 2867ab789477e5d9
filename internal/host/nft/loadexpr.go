package nft

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// parseExprs reads a rule in nft's language.
func parseExprs(line []token) (out []Expr, comment string, err error) {
	for len(line) > 0 {
		if line[0].quoted {
			return nil, "", fmt.Errorf("unexpected %q", line[0].text)
		}
		var x Expr
		rest := line[1:]
		switch word := line[0].text; word {
		case "comment":
			if len(rest) != 1 || !rest[0].quoted {
				return nil, "", errors.New("a comment is one quoted word at the end")
			}
			return out, rest[0].text, nil
		case "accept", "drop", "return":
			x = Verdict{Kind: word}
		case "jump", "goto":
			if len(rest) == 0 {
				return nil, "", fmt.Errorf("%s where to", word)
			}
			x, rest = Verdict{Kind: word, Chain: rest[0].text}, rest[1:]
		case "counter":
			x, rest, err = parseCounter(rest)
		case "reject":
			x, rest, err = parseReject(rest)
		case "masquerade":
			x, rest, err = parseMasquerade(rest)
		case "ct":
			x, rest, err = parseCT(rest)
		case "fib":
			x, rest, err = parseLocal(rest)
		case "update":
			x, rest, err = parseCount(rest)
		case "add":
			x, rest, err = parseOverLimit(rest)
		case "@ll", "@nh", "@th":
			x, rest, err = parseBytes(line)
		case "tcp":
			if len(rest) > 0 && rest[0].text == "option" {
				x, rest, err = parseTCPOption(rest[1:])
				break
			}
			x, rest, err = parseMatch(line)
		case "frag":
			x, rest, err = parseFragment(rest)
		case "snat", "dnat":
			x, rest, err = parseNAT(line)
		default:
			if len(line) > 1 && plain(line[:2]) == string(metaMarkID) {
				x, rest, err = parseMark(line)
				break
			}
			x, rest, err = parseMatch(line)
		}
		if err != nil {
			return nil, "", err
		}
		out, line = append(out, x), rest
	}
	return out, "", nil
}

func parseCounter(rest []token) (Expr, []token, error) {
	var c Counter
	if len(rest) < 4 || rest[0].text != "packets" || rest[2].text != "bytes" {
		return c, rest, nil
	}
	p, err1 := strconv.ParseUint(rest[1].text, 10, 64)
	b, err2 := strconv.ParseUint(rest[3].text, 10, 64)
	return Counter{p, b}, rest[4:], errors.Join(err1, err2)
}

func parseReject(rest []token) (Expr, []token, error) {
	if len(rest) < 3 || rest[0].text != "with" {
		return Reject{}, rest, nil
	}
	return Reject{With: rest[1].text + " " + rest[2].text}, rest[3:], nil
}

func parseMasquerade(rest []token) (Expr, []token, error) {
	if len(rest) < 2 || rest[0].text != "to" {
		return Masquerade{}, rest, nil
	}
	from, to, ranged := strings.Cut(strings.TrimPrefix(rest[1].text, ":"), "-")
	var m Masquerade
	n, err := strconv.ParseUint(from, 10, 16)
	m.Min = uint16(n)
	if ranged && err == nil {
		n, err = strconv.ParseUint(to, 10, 16)
		m.Max = uint16(n)
	}
	return m, rest[2:], err
}

func parseState(rest []token) (Expr, []token, error) {
	if len(rest) < 2 || rest[0].text != "state" {
		return nil, nil, errors.New("only ct state and ct status dnat are in the subset")
	}
	var state CTState
	for _, name := range strings.Split(rest[1].text, ",") {
		known := false
		for _, n := range ctNames() {
			if n.name == name {
				state, known = state|n.bit, true
			}
		}
		if !known {
			return nil, nil, fmt.Errorf("ct state %q", name)
		}
	}
	return state, rest[2:], nil
}

// parseTerm reads a field, and a mask where there is one.
func parseTerm(line []token) (Term, []token, error) {
	if t, rest, ok := rawTerm(line); ok {
		return t, rest, nil
	}
	for _, i := range fields() {
		words := strings.Fields(string(i.field))
		if len(line) < len(words) || plain(line[:len(words)]) != string(i.field) {
			continue
		}
		rest := line[len(words):]
		if len(rest) < 2 || rest[0].text != "&" || rest[0].quoted {
			return Term{Field: i.field}, rest, nil
		}
		a, err := netip.ParseAddr(rest[1].text)
		if err != nil {
			return Term{}, nil, fmt.Errorf("mask %q", rest[1].text)
		}
		bits, ok := maskBits(a.AsSlice())
		if !ok {
			return Term{}, nil, fmt.Errorf("mask %q has holes", rest[1].text)
		}
		return Term{Field: i.field, Bits: bits}, rest[2:], nil
	}
	return Term{}, nil, fmt.Errorf("outside the subset: %q", plain(line))
}

// parseKey reads terms, joined by dots.
func parseKey(line []token) (key []Term, rest []token, err error) {
	for {
		t, rest, err := parseTerm(line)
		if err != nil {
			return nil, nil, err
		}
		key = append(key, t)
		if len(rest) == 0 || rest[0].text != "." || rest[0].quoted {
			return key, rest, nil
		}
		line = rest[1:]
	}
}

// parseMatch reads a comparison with a value, or a look-up in a set.
func parseMatch(line []token) (Expr, []token, error) {
	key, line, err := parseKey(line)
	if err != nil {
		return nil, nil, err
	}
	not := false
	if len(line) > 0 && !line[0].quoted && (line[0].text == "!=" || line[0].text == "==") {
		not = line[0].text == "!="
		line = line[1:]
	}
	if len(line) == 0 {
		return nil, nil, errors.New("compared with what")
	}
	if len(line) > 1 && plain(line[:1]) == "vmap" && !not {
		return VerdictMap{Key: key, Map: strings.TrimPrefix(line[1].text, "@")}, line[2:], nil
	}
	value, rest := line[0], line[1:]
	if set, ok := strings.CutPrefix(value.text, "@"); ok && !value.quoted {
		return In{Key: key, Not: not, Set: set}, rest, nil
	}
	if len(key) != 1 || key[0].Bits != 0 {
		return nil, nil, errors.New("a key is looked up in a named set only")
	}
	return Match{Field: key[0].Field, Not: not, Value: value.text}, rest, nil
}
