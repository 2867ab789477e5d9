package why

import (
	"fmt"
	"strings"
)

// Names of those whose rules there are.
const (
	Docker     = "Docker"
	UFW        = "ufw"
	Firewalld  = "firewalld"
	Libvirt    = "libvirt"
	Kubernetes = "Kubernetes"
	Fail2ban   = "fail2ban"
	Ours       = "taproom"
	Unknown    = "somebody else"
)

// Whose says who made what is at a place, by names that no other program uses. ours is the name of our own tables.
func Whose(at Place, ours string) string {
	t := at.Table
	switch {
	case t.Name == ours && t.Tool == ToolNFT, strings.HasPrefix(at.Chain, ours+"-"):
		return Ours
	case t.Name == "firewalld":
		return Firewalld
	case strings.HasPrefix(t.Name, "libvirt"):
		return Libvirt
	case strings.HasPrefix(t.Name, "docker"):
		return Docker
	case strings.HasPrefix(t.Name, "f2b"):
		return Fail2ban
	case strings.HasPrefix(t.Name, "kube-proxy"):
		return Kubernetes
	}
	if who := byChain(at.Chain); who != "" {
		return who
	}
	if r, ok := at.rule(); ok && strings.Contains(r.Text, "docker0") {
		return Docker
	}
	if at.Rule < 0 { // both set the policy of FORWARD; ufw looks after it at each reload
		for _, who := range []string{UFW, Docker} {
			if t.chainsOf(who) {
				return who
			}
		}
	}
	if t.Tool == ToolLegacy {
		return "rules of iptables-legacy"
	}
	if t.Tool == ToolNew {
		return "rules of iptables"
	}
	return Unknown
}

// ofOurs reports whether rules of ours are in a table: it is ours, or has chains of ours (iptables).
func (t *Table) ofOurs(ours string) bool {
	if t.Name == ours && t.Tool == ToolNFT {
		return true
	}
	for _, c := range t.Chains {
		if strings.HasPrefix(c.Name, ours+"-") {
			return true
		}
	}
	return false
}

func byChain(chain string) string {
	for begin, who := range map[string]string{
		"DOCKER": Docker, "ufw-": UFW, "ufw6-": UFW, "LIBVIRT_": Libvirt, "KUBE-": Kubernetes, "cali-": Kubernetes, "CNI-": Kubernetes,
		"f2b-": Fail2ban,
	} {
		if strings.HasPrefix(chain, begin) {
			return who
		}
	}
	return ""
}

func (t *Table) chainsOf(who string) bool {
	for _, c := range t.Chains {
		if byChain(c.Name) == who {
			return true
		}
	}
	return false
}

// Where names a place as an administrator would look for it.
func (p Place) Where() string {
	t := p.Table
	where := fmt.Sprintf("table %s %s, chain %s", t.Family, t.Name, p.Chain)
	if t.Tool == ToolLegacy {
		where = fmt.Sprintf("%s, table %s, chain %s", t.Tool, t.Name, p.Chain)
	}
	if p.Rule < 0 {
		return where + ", its policy"
	}
	if r, ok := p.rule(); ok {
		return fmt.Sprintf("%s, rule %d (%s)", where, p.Rule+1, r.Text)
	}
	return where
}

// program is what changes a table of iptables.
func (t *Table) program() string {
	name := "iptables"
	if t.Family == "ip6" {
		name = "ip6tables"
	}
	switch t.Tool {
	case ToolLegacy:
		return name + "-legacy"
	case ToolNew:
		return name + "-nft"
	}
	return name
}
