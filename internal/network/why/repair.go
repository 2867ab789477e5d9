package why

import (
	"fmt"
	"slices"
	"strings"
)

// Repair is a change of somebody else's rules that is known to help and that can be taken back.
type Repair struct {
	Do   [][]string `json:"do"`   // programs with arguments, in order
	Undo [][]string `json:"undo"` // the same; Look says of each whether there is something to remove
}

// Look is a program that succeeds while what a command of Undo removes is there, and ends with status 1 when it is not; nil
// where the command itself succeeds either way, as with ufw.
func Look(undo []string) []string {
	i := slices.Index(undo, "-D")
	if i < 0 {
		return nil
	}
	look := slices.Clone(undo)
	look[i] = "-C"
	return look
}

// String is the repair as it would be typed.
func (r Repair) String() string { return commands(r.Do) }

func commands(all [][]string) string {
	lines := make([]string, len(all))
	for i, c := range all {
		words := make([]string, len(c))
		for n, w := range c {
			if words[n] = w; strings.ContainsAny(w, " '\"$&;") {
				words[n] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
			}
		}
		lines[i] = strings.Join(words, " ")
	}
	return strings.Join(lines, " && ")
}

// docker lets a bridge's traffic through in the chain that Docker calls first and leaves to the administrator. label is the
// comment that the rules carry; without one they are as an administrator would type them.
func docker(t *Table, bridge, label string) Repair {
	out := []string{"-i", bridge}
	back := []string{"-o", bridge, "-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED"}
	var r Repair
	for _, match := range [][]string{out, back} {
		if label != "" {
			match = append(match, "-m", "comment", "--comment", label)
		}
		rule := append(append([]string{"DOCKER-USER"}, match...), "-j", "ACCEPT")
		r.Do = append(r.Do, append([]string{t.program(), "-w", "-I"}, rule...))
		r.Undo = append(r.Undo, append([]string{t.program(), "-w", "-D"}, rule...))
	}
	return r
}

// ufwRoute has ufw route what comes from a bridge; answers it lets through by itself.
func ufwRoute(bridge, label string) Repair {
	rule := []string{"allow", "in", "on", bridge}
	do := append([]string{"ufw", "route"}, rule...)
	if label != "" {
		do = append(do, "comment", label)
	}
	return Repair{Do: [][]string{do}, Undo: [][]string{append([]string{"ufw", "route", "delete"}, rule...)}}
}

// ufwServices has ufw let guests ask for addresses and names.
func ufwServices(bridge, label string) Repair {
	var r Repair
	for _, to := range [][]string{{"port", "67", "proto", "udp"}, {"port", "53"}} {
		rule := append([]string{"allow", "in", "on", bridge, "to", "any"}, to...)
		do := append([]string{"ufw"}, rule...)
		if label != "" {
			do = append(do, "comment", label)
		}
		r.Do = append(r.Do, do)
		r.Undo = append(r.Undo, append([]string{"ufw", "delete"}, rule...))
	}
	return r
}

// remedy is what lets a bridge's traffic past a place, as a command, and as a repair where that can be carried out and
// taken back.
func remedy(at Place, hook, bridge, label string) (string, *Repair) {
	t := at.Table
	var known *Repair
	var plain string
	switch {
	case t.Name == "firewalld":
		return fmt.Sprintf("firewall-cmd --permanent --zone=trusted --add-interface=%[1]s && firewall-cmd --zone=trusted --add-interface=%[1]s", bridge), nil
	case hook == "forward" && t.Name == "filter" && t.has("DOCKER-USER"):
		r := docker(t, bridge, label)
		known, plain = &r, docker(t, bridge, "").String()
	case hook == "forward" && t.chainsOf(UFW):
		r := ufwRoute(bridge, label)
		known, plain = &r, ufwRoute(bridge, "").String()
	case hook == "input" && t.chainsOf(UFW):
		r := ufwServices(bridge, label)
		known, plain = &r, ufwServices(bridge, "").String()
	case t.Tool == ToolNFT:
		plain = native(at, hook, bridge)
	default:
		plain = iptables(t, at.Chain, hook, bridge)
	}
	return plain, known
}

// base is the chain that the kernel calls at a hook; rules go there, before whatever loses the packet.
func (t *Table) base(hook, otherwise string) string {
	for _, c := range t.Chains {
		if c.Hook == hook && c.Type != "nat" {
			return c.Name
		}
	}
	return otherwise
}

func native(at Place, hook, bridge string) string {
	t := at.Table
	insert := func(match string) string {
		return fmt.Sprintf("nft insert rule %s %s %s %s accept", t.Family, t.Name, t.base(hook, at.Chain), match)
	}
	if hook == "forward" {
		return insert("iifname "+bridge) + " && " + insert("oifname "+bridge+" ct state established,related")
	}
	return insert("iifname " + bridge)
}

func iptables(t *Table, chain, hook, bridge string) string {
	table := ""
	if t.Name != "filter" {
		table = " -t " + t.Name
	}
	insert := func(match string) string {
		return fmt.Sprintf("%s -w%s -I %s %s -j ACCEPT", t.program(), table, t.base(hook, chain), match)
	}
	if hook == "forward" {
		return insert("-i "+bridge) + " && " + insert("-o "+bridge+" -m conntrack --ctstate RELATED,ESTABLISHED")
	}
	return insert("-i " + bridge)
}
