package why

import (
	"fmt"
	"strconv"
	"strings"
)

// hookOf is what the kernel calls by itself in iptables' tables, by the names of chains.
func hookOf(chain string) string {
	switch chain {
	case "PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING":
		return strings.ToLower(chain)
	}
	return ""
}

// priorityOf is the order of iptables' tables at a hook (linux/netfilter_ipv4.h).
func priorityOf(table, hook string) int {
	switch table {
	case "raw":
		return -300
	case "mangle":
		return -150
	case "nat":
		if hook == "prerouting" || hook == "output" {
			return -100
		}
		return 100
	case "security":
		return 50
	}
	return 0
}

// ParseSave reads what iptables-save, or ip6tables-save, of one of its two kinds wrote, with or without counters.
func ParseSave(tool, family, text string) ([]Table, error) {
	var out []Table
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line == "COMMIT":
			continue
		case line[0] == '*':
			out = append(out, Table{Tool: tool, Family: family, Name: line[1:]})
			continue
		case len(out) == 0:
			return nil, fmt.Errorf("iptables-save: a line before any table: %q", line)
		}
		if err := out[len(out)-1].saveLine(line); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// saveLine reads a chain (":FORWARD DROP [0:0]") or a rule ("[0:0] -A FORWARD -j ACCEPT").
func (t *Table) saveLine(line string) error {
	if line[0] == ':' {
		f := strings.Fields(line[1:])
		if len(f) < 2 {
			return fmt.Errorf("iptables-save: no policy in %q", line)
		}
		c := Chain{Name: f[0], Hook: hookOf(f[0])}
		if c.Hook != "" {
			c.Type, c.Policy, c.Priority = "filter", strings.ToLower(f[1]), priorityOf(t.Name, c.Hook)
			if t.Name == "nat" {
				c.Type = "nat"
			}
		}
		if len(f) > 2 {
			c.Packets = packets(f[2])
		}
		t.Chains = append(t.Chains, c)
		return nil
	}
	var r Rule
	if line[0] == '[' {
		counters, rest, _ := strings.Cut(line, " ")
		r.Packets, line = packets(counters), rest
	}
	words, err := split(line)
	if err != nil {
		return err
	}
	if len(words) < 2 || words[0] != "-A" {
		return fmt.Errorf("iptables-save: %q is no rule", line)
	}
	c, ok := t.Chain(words[1])
	if !ok {
		return fmt.Errorf("iptables-save: a rule of chain %s, which there is none of", words[1])
	}
	r.Text = line
	r.options(words[2:])
	c.Rules = append(c.Rules, r)
	return nil
}

// packets reads the first number of "[12:345]".
func packets(s string) uint64 {
	n, _, _ := strings.Cut(strings.Trim(s, "[]"), ":")
	v, _ := strconv.ParseUint(n, 10, 64) // not written: 0
	return v
}

// split takes a line apart as a shell would; iptables-save quotes with " and escapes with \.
func split(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	quoted, escaped, began := false, false, false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\':
			escaped, began = true, true
		case c == '"':
			quoted, began = !quoted, true
		case c == ' ' && !quoted:
			if began {
				out = append(out, word.String())
				word.Reset()
			}
			began = false
		default:
			word.WriteRune(c)
			began = true
		}
	}
	if quoted || escaped {
		return nil, fmt.Errorf("iptables-save: the quotes in %q do not end", line)
	}
	if began {
		out = append(out, word.String())
	}
	return out, nil
}

// options reads what a rule looks for and does.
func (r *Rule) options(words []string) {
	for i := 0; i < len(words); {
		not := words[i] == "!"
		if not {
			i++
		}
		if i >= len(words) {
			return
		}
		name := words[i]
		i++
		var values []string
		for i < len(words) && !strings.HasPrefix(words[i], "-") && words[i] != "!" {
			values = append(values, words[i])
			i++
		}
		value := strings.Join(values, " ")
		switch name {
		case "-m", "--comment": // the module's options follow; a comment is no condition
		case "-j", "-g":
			r.target(name, value)
			return // what follows are the target's options
		default:
			r.Conds = append(r.Conds, Cond{Key: keyOf(name), Not: not, Value: value})
		}
	}
}

func keyOf(option string) string {
	switch option {
	case "-i":
		return "in"
	case "-o":
		return "out"
	case "-s":
		return "src"
	case "-d":
		return "dst"
	case "-p":
		return "proto"
	case "--dport", "--dports":
		return "dport"
	case "--sport", "--sports":
		return "sport"
	case "--ctstate", "--state":
		return "state"
	}
	return option
}

// target reads what a rule does. One that the packet comes out of again does nothing here.
func (r *Rule) target(option, name string) {
	switch name {
	case "ACCEPT":
		r.Verdict = "accept"
	case "DROP", "REJECT":
		r.Verdict = "drop"
	case "RETURN":
		r.Verdict = "return"
	case "MASQUERADE", "SNAT":
		r.Verdict = "masquerade"
	case "DNAT", "REDIRECT", "NETMAP", "QUEUE", "NFQUEUE", "TPROXY":
		r.Unsure = true
	case "LOG", "NFLOG", "ULOG", "MARK", "CONNMARK", "CT", "NOTRACK", "TRACE", "TCPMSS", "DSCP", "TOS", "CLASSIFY", "CHECKSUM",
		"SET", "AUDIT", "SECMARK", "CONNSECMARK", "TEE", "TTL", "HL", "RATEEST":
	default:
		r.Verdict, r.To = "jump", name
		if option == "-g" {
			r.Verdict = "goto"
		}
	}
}
