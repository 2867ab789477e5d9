package ebtables

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taproom/internal/network/nwfilter"
)

// script is what a program's restore is given.
type script struct {
	strings.Builder

	tool tool
	seen *sight
}

func (w *script) add(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// chain declares a chain, which empties it.
func (w *script) chain(name string) {
	if w.tool == frames {
		w.add(":%s RETURN", name)
		return
	}
	w.add(":%s - [0:0]", name)
}

// bases puts in what leads to our chains, or takes it away.
func (w *script) bases(table string, want bool) {
	for _, b := range basesOf(w.tool) {
		switch there := w.seen.has(w.tool, b); {
		case b.table != table:
		case want && !there:
			w.add("-I %s 1 %s", b.chain, b.rule)
		case !want && there:
			w.add("-D %s %s", b.chain, b.rule)
		}
	}
}

// remove takes chains away. What led to them is gone by then.
func (w *script) remove(table string, names []string) {
	there := w.seen[w.tool][table]
	names = slices.DeleteFunc(names, func(n string) bool { _, ok := there[n]; return !ok })
	for _, n := range names {
		w.add("-F %s", n)
	}
	for _, n := range names {
		w.add("-X %s", n)
	}
}

// end ends a table: only iptables wants it said.
func (w *script) end() {
	if w.tool != frames {
		w.add("COMMIT")
	}
}

// asks are the rules that lead to a port's chains.
func asks(t tool, d nwfilter.Direction, port string) string {
	to := "-j " + nameOf(d, 0, port)
	switch {
	case t == frames && d == nwfilter.Out:
		return "-i " + port + " " + to
	case t == frames:
		return "-o " + port + " " + to
	case d == nwfilter.Out:
		return "-m physdev --physdev-in " + port + " " + to
	}
	return "-m physdev --physdev-out " + port + " --physdev-is-bridged " + to
}

// write makes the script that leads a program from what was seen to the ports, of which those in changes are new or other than
// they were. Text of marks is by port.
func write(t tool, seen *sight, ports map[string]string, changes map[string]rules) string {
	w := &script{tool: t, seen: seen}
	table := tableOf(t)
	w.add("*%s", table)
	there := seen[t][table]
	stays := map[string]bool{}
	if len(ports) > 0 {
		w.dispatch(ports, changes)
		stays[fromGuests], stays[toGuests], stays[marks] = true, true, true
	}
	for _, port := range slices.Sorted(maps.Keys(changes)) {
		r := changes[port]
		for _, c := range r[t] {
			stays[c.name] = true
			w.chain(c.name)
		}
		for _, c := range r[t] {
			for _, l := range c.lines {
				w.add("-A %s %s", c.name, l.text)
			}
		}
	}
	var gone []string
	for name := range there {
		port := portOf(name)
		_, kept := ports[port]
		_, changed := changes[port]
		own := port != "" && (!kept || changed) || name == fromGuests || name == toGuests || name == marks && t == packets4
		if own && !stays[name] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	w.bases(table, len(ports) > 0)
	w.remove(table, gone)
	w.end()
	if t == frames {
		w.links(ports)
	}
	return w.String()
}

// dispatch writes the chains that ask for ports, and the marks.
func (w *script) dispatch(ports map[string]string, changes map[string]rules) {
	w.chain(fromGuests)
	w.chain(toGuests)
	if w.tool == packets4 {
		w.chain(marks)
	}
	for _, port := range slices.Sorted(maps.Keys(changes)) { // what is led to must be there
		w.chain(nameOf(nwfilter.Out, 0, port))
		w.chain(nameOf(nwfilter.In, 0, port))
	}
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		for _, d := range []nwfilter.Direction{nwfilter.Out, nwfilter.In} {
			from := fromGuests
			if d == nwfilter.In {
				from = toGuests
			}
			_, there := w.seen[w.tool][tableOf(w.tool)][nameOf(d, 0, port)]
			if _, new := changes[port]; new || there {
				w.add("-A %s %s", from, asks(w.tool, d, port))
			}
		}
		if w.tool == packets4 {
			w.add("-A %s %s", marks, ports[port])
		}
	}
}

// links writes what keeps IP and ARP to the addresses that a bridge does not forward (IEEE 802.1Q 8.6.3) from the host.
func (w *script) links(ports map[string]string) {
	w.add("*filter")
	if len(ports) > 0 {
		w.chain(noHost)
		w.chain(linkLocal)
		for _, kind := range []string{"0x0800", "0x0806", "0x86dd"} {
			w.add("-A %s -p %s -j DROP", noHost, kind)
		}
		for _, port := range slices.Sorted(maps.Keys(ports)) {
			w.add("-A %s -d 01:80:c2:00:00:00/ff:ff:ff:ff:ff:f0 -i %s -j %s", linkLocal, port, noHost)
		}
	}
	w.bases("filter", len(ports) > 0)
	if len(ports) == 0 {
		w.remove("filter", []string{linkLocal, noHost})
	}
	w.end()
}
