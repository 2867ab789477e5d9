package nwfilter

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"taproom/internal/spec"
)

// languageTable is the table of protocols in docs/filters.md.
func languageTable() string {
	var b strings.Builder
	rows := map[string][]string{}
	var order []string
	for _, p := range Protocols() {
		layer := "frame"
		if p.Layer() == PacketLayer {
			layer = "packet"
		}
		key := layer + " | `" + strings.Join(AttributesOf(p), "`, `") + "`"
		if rows[key] == nil {
			order = append(order, key)
		}
		rows[key] = append(rows[key], "`"+string(p)+"`")
	}
	for _, key := range order {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(rows[key], " "), key)
	}
	return b.String()
}

func TestTheDocumentSaysWhatTheLanguageIs(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../docs/filters.md")
	if err != nil {
		t.Fatal(err)
	}
	if table := languageTable(); !strings.Contains(string(doc), table) {
		t.Errorf("docs/filters.md has another table of protocols than this:\n%s", table)
	}
	for _, name := range []string{"stp", "mac", "vlan", "ipv4", "ipv6", "arp", "rarp"} {
		if _, priority := chainProtocol(name); !strings.Contains(string(doc), fmt.Sprint(" ", priority, " |")) {
			t.Errorf("docs/filters.md does not say that chain %s has priority %d", name, priority)
		}
	}
	set := shipped(t)
	examples := 0
	for i, block := range strings.Split(string(doc), "```xml\n") {
		block, _, _ = strings.Cut(block, "```")
		if i == 0 {
			continue
		}
		f, err := spec.ParseFilter([]byte(block))
		if err != nil {
			t.Errorf("%v\n%s", err, block)
			continue
		}
		set[f.Name] = f
		compiled(t, set, f.Name, Params{"MAC": {"52:54:00:00:00:01"}, "IP": {"10.0.0.1"}, "CLIENTS": {"10.0.0.2", "10.0.0.3"}, "PORTS": {"80"}})
		examples++
	}
	if examples != 2 {
		t.Errorf("%d examples", examples)
	}
}
