package xtables

import (
	"net/netip"
	"slices"
	"strings"
)

// Rule is a rule taken apart: its options with their values, "!" before an option that is negated. Matches that iptables-save adds
// by itself, and that the options name anyway, are left out.
type Rule []string

// ParseRule takes a rule apart. Two rules that mean the same, written by different versions of the programs, give equal
// Rules: options are sorted, states and protocols have one name each, and an address has its prefix length.
func ParseRule(text string) Rule {
	var out Rule
	words := Words(text)
	for i := 0; i < len(words); {
		option := ""
		if words[i] == "!" {
			option, i = "! ", i+1
		}
		if i == len(words) {
			break
		}
		name := words[i]
		i++
		var values []string
		for i < len(words) && words[i] != "!" && (!strings.HasPrefix(words[i], "-") || len(words[i]) == 1) {
			values = append(values, words[i])
			i++
		}
		value := strings.Join(values, " ")
		if name == "-m" && implied(value) {
			continue
		}
		out = append(out, strings.TrimSpace(option+name+" "+canonical(name, value)))
	}
	slices.Sort(out)
	return out
}

// implied reports whether a match says nothing that its own options do not.
func implied(match string) bool {
	switch match {
	case "tcp", "udp", "conntrack":
		return true
	}
	return false
}

func canonical(option, value string) string {
	switch option {
	case "--ctstate":
		states := strings.Split(value, ",")
		slices.Sort(states)
		return strings.Join(states, ",")
	case "-p":
		switch value {
		case "6":
			return "tcp"
		case "17":
			return "udp"
		case "58", "icmpv6":
			return "ipv6-icmp"
		}
	case "-s", "-d":
		if a, err := netip.ParseAddr(value); err == nil {
			return netip.PrefixFrom(a, a.BitLen()).String()
		}
	}
	return value
}

// Get is the value of an option that is not negated; empty without it.
func (r Rule) Get(option string) string {
	for _, o := range r {
		if name, value, _ := strings.Cut(o, " "); name == option {
			return value
		}
	}
	return ""
}

// Target is the chain or target that a packet goes to.
func (r Rule) Target() string {
	if t := r.Get("-j"); t != "" {
		return t
	}
	return r.Get("-g")
}

// String is the rule in its one form.
func (r Rule) String() string { return strings.Join(r, " ") }
