package lanfiles

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// interfaces is ifupdown's file; others are named in it.
const interfaces = "etc/network/interfaces"

// ifupdown is for ifupdown (interfaces(5)). The stanzas of the NIC become those of the bridge, with the commands that make it.
func ifupdown(root fs.FS, m Move) (Result, bool, error) {
	files, err := sourced(root, interfaces, map[string]bool{})
	if err != nil {
		return Result{}, false, err
	}
	r := Result{Manager: Ifupdown}
	found := false
	for _, f := range files {
		stanzas := parseInterfaces(f.text)
		if !slices.ContainsFunc(stanzas, func(s stanza) bool { return s.of(m.NIC) }) && !names(stanzas, m.NIC) {
			continue
		}
		has := slices.ContainsFunc(stanzas, func(s stanza) bool { return s.of(m.NIC) })
		if err := understood(stanzas, m); err != nil {
			return r, true, fmt.Errorf("/%s: %w: %w", f.path, err, ErrUnwritten)
		}
		after := rewrite(stanzas, m, !found)
		found = found || has
		if after != f.text {
			r.Changes = append(r.Changes, Change{Path: f.path, Mode: f.mode, Before: f.text, After: after})
		}
	}
	if !found {
		return Result{}, false, nil
	}
	for _, f := range files {
		if slices.ContainsFunc(parseInterfaces(f.text), func(s stanza) bool { return s.of(m.Bridge) }) {
			return r, true, fmt.Errorf("/%s has a stanza of %s already: %w", f.path, m.Bridge, ErrUnwritten)
		}
	}
	r.Notes = append(r.Notes, fmt.Sprintf("ifup and ifdown know %s from the next boot on; until then leave both alone", m.Bridge))
	return r, true, nil
}

type interfacesFile struct {
	path, text string
	mode       fs.FileMode
}

// sourced reads a file and those that it names, in their order.
func sourced(root fs.FS, file string, seen map[string]bool) ([]interfacesFile, error) {
	if seen[file] {
		return nil, nil
	}
	seen[file] = true
	text, there, err := read(root, file)
	if err != nil || !there {
		return nil, err
	}
	info, err := fs.Stat(root, file)
	if err != nil {
		return nil, err
	}
	out := []interfacesFile{{path: file, text: text, mode: info.Mode().Perm()}}
	for _, s := range parseInterfaces(text) {
		words := strings.Fields(s.head())
		if len(words) < 2 {
			continue
		}
		for _, pattern := range words[1:] {
			more, err := expand(root, words[0], path.Dir(file), pattern)
			if err != nil {
				return nil, err
			}
			for _, f := range more {
				below, err := sourced(root, f, seen)
				if err != nil {
					return nil, err
				}
				out = append(out, below...)
			}
		}
	}
	return out, nil
}

// plainName is what a file has to be called that source-directory finds.
var plainName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// expand is what a line with source or source-directory names.
func expand(root fs.FS, keyword, dir, pattern string) ([]string, error) {
	if keyword != "source" && keyword != "source-directory" {
		return nil, nil
	}
	if path.IsAbs(pattern) {
		pattern = strings.TrimPrefix(path.Clean(pattern), "/")
	} else {
		pattern = path.Join(dir, pattern)
	}
	found, err := fs.Glob(root, pattern)
	if err != nil || keyword == "source" {
		return found, err
	}
	var out []string
	for _, d := range found {
		entries, err := fs.ReadDir(root, d)
		if err != nil {
			continue // no folder
		}
		for _, e := range entries {
			if plainName.MatchString(e.Name()) && !e.IsDir() {
				out = append(out, path.Join(d, e.Name()))
			}
		}
	}
	return out, nil
}

// stanza is lines of the file that belong together: a first one with a keyword, and options. Lines that continue are one.
type stanza struct{ lines []string }

// head is the first line, joined and without a comment.
func (s stanza) head() string {
	if len(s.lines) == 0 || comment(s.lines[0]) {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(s.lines[0], "\\\n", " "))
}

// of reports whether it is an iface stanza of the link, or of an alias of it such as eth0:1.
func (s stanza) of(link string) bool {
	w := strings.Fields(s.head())
	return len(w) >= 2 && w[0] == "iface" && (w[1] == link || strings.HasPrefix(w[1], link+":"))
}

func starts(line string) bool {
	w := strings.Fields(line)
	if len(w) == 0 || w[0][0] == '#' {
		return false
	}
	return slices.Contains([]string{"iface", "mapping", "template", "auto", "source", "source-directory", "no-auto-down", "no-scripts", "rename"}, w[0]) || strings.HasPrefix(w[0], "allow-")
}

// parseInterfaces splits a file; all lines together are the file again.
func parseInterfaces(text string) []stanza {
	out := []stanza{{}}
	open := false
	for line := range strings.Lines(text) {
		last := &out[len(out)-1]
		switch {
		case open:
			last.lines[len(last.lines)-1] += line
		case starts(line):
			out = append(out, stanza{lines: []string{line}})
		default:
			last.lines = append(last.lines, line)
		}
		open = strings.HasSuffix(strings.TrimRight(line, "\n"), `\`) && !comment(line)
	}
	return out
}

// brings reports whether a line with auto or allow-… names the link.
func (s stanza) brings(link string) bool {
	w := strings.Fields(s.head())
	return len(w) > 1 && (w[0] == "auto" || strings.HasPrefix(w[0], "allow-")) && slices.Contains(w[1:], link)
}

func names(all []stanza, link string) bool {
	return slices.ContainsFunc(all, func(s stanza) bool { return s.brings(link) })
}

// understood refuses what cannot be handed on.
func understood(all []stanza, m Move) error {
	for _, s := range all {
		w := strings.Fields(s.head())
		if len(w) > 1 && w[0] == "mapping" && slices.Contains(w[1:], m.NIC) {
			return fmt.Errorf("%s has a mapping, which is not understood", m.NIC)
		}
		if !s.of(m.NIC) {
			continue
		}
		if m.Kind == "vlan" || m.Kind == "bond" || m.Kind == "team" {
			return fmt.Errorf("the stanza of %s also makes it (a %s), and a bridge's cannot", m.NIC, m.Kind)
		}
		for _, l := range s.lines[1:] {
			option, _, _ := strings.Cut(strings.TrimSpace(l), " ")
			for _, makes := range []string{"bond", "vlan", "bridge", "team"} {
				if strings.HasPrefix(option, makes+"-") || strings.HasPrefix(option, makes+"_") {
					return fmt.Errorf("the stanza of %s has %s, with which it is made, and a bridge's cannot", m.NIC, option)
				}
			}
		}
	}
	return nil
}

// rewrite gives the NIC's stanzas to the bridge. In the first file that has one the bridge is made.
func rewrite(all []stanza, m Move, makes bool) string {
	word := regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(m.NIC) + `($|[^\w.-])`)
	var out strings.Builder
	for _, s := range all {
		switch {
		case s.brings(m.NIC):
			out.WriteString(bringing(s, m))
			continue
		case !s.of(m.NIC):
			out.WriteString(strings.Join(s.lines, ""))
			continue
		}
		first := strings.Fields(s.head())[1] == m.NIC
		if makes && first {
			fmt.Fprintf(&out, "iface %s inet manual\n\n", m.NIC)
		}
		for i, l := range s.lines {
			if !comment(l) {
				l = word.ReplaceAllString(l, "${1}"+m.Bridge+"${2}")
			}
			out.WriteString(l)
			if i == 0 && makes && first {
				if !strings.HasSuffix(l, "\n") {
					out.WriteString("\n")
				}
				out.WriteString(making(m))
				makes = false
			}
		}
	}
	return out.String()
}

// bringing is a line with auto or allow-… that names the bridge instead. Nothing plugs a bridge in, so it is auto's.
func bringing(s stanza, m Move) string {
	w := strings.Fields(s.head())
	if w[0] == "auto" {
		for i := range w[1:] {
			if w[1+i] == m.NIC {
				w[1+i] = m.Bridge
			}
		}
		return strings.Join(w, " ") + "\n" + strings.Join(s.lines[1:], "")
	}
	w = slices.DeleteFunc(w, func(x string) bool { return x == m.NIC })
	out := "auto " + m.Bridge + "\n"
	if len(w) > 1 {
		out = strings.Join(w, " ") + "\n" + out
	}
	return out + strings.Join(s.lines[1:], "")
}

// making are the options with which ifup makes the bridge and ifdown removes it. The program is iproute2's, which ifupdown needs
// itself.
func making(m Move) string {
	mtu := ""
	if m.MTU != 1500 {
		mtu = fmt.Sprintf(" mtu %d", m.MTU)
	}
	return "    # Written by taproom. It goes with: taproom net bridge --undo " + m.Bridge + "\n" +
		fmt.Sprintf("    pre-up test -e /sys/class/net/%s || ip link add name %s address %s%s type bridge forward_delay 0 stp_state 0\n", m.Bridge, m.Bridge, m.MAC, mtu) +
		fmt.Sprintf("    pre-up ip link set dev %s master %s up\n", m.NIC, m.Bridge) +
		fmt.Sprintf("    post-down ip link delete dev %s\n", m.Bridge)
}
