package lanfiles

import "strings"

// section is one of a file of systemd or NetworkManager, with its lines as they stand there.
type section struct {
	name  string // "" is what comes before the first
	lines []string
}

// sections reads a file. Lines keep their comments; a line that continues (systemd's \ at its end) is one with newlines in it.
func sections(text string) []section {
	out := []section{{}}
	open := false // the last line continues
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		last := &out[len(out)-1]
		if open && len(last.lines) > 0 {
			last.lines[len(last.lines)-1] += "\n" + line
			open = continues(line)
			continue
		}
		if t := strings.TrimSpace(line); len(t) > 2 && t[0] == '[' && t[len(t)-1] == ']' {
			out = append(out, section{name: t[1 : len(t)-1]})
			continue
		}
		last.lines = append(last.lines, line)
		open = continues(line)
	}
	return out
}

func continues(line string) bool {
	t := strings.TrimSpace(line)
	return strings.HasSuffix(t, `\`) && !comment(t)
}

func comment(line string) bool {
	t := strings.TrimSpace(line)
	return t == "" || t[0] == '#' || t[0] == ';'
}

// key is what a line sets; "" for none.
func key(line string) (name, value string) {
	if comment(line) {
		return "", ""
	}
	name, value, ok := strings.Cut(line, "=")
	if !ok {
		return "", ""
	}
	return strings.TrimSpace(name), strings.TrimSpace(value)
}

// get is the value that counts of a key: the last, in sections of that name.
func get(all []section, name, wanted string) string {
	out := ""
	for _, s := range all {
		if s.name != name {
			continue
		}
		for _, l := range s.lines {
			if k, v := key(l); k == wanted {
				out = v
			}
		}
	}
	return out
}

// only keeps the lines that set one of the keys; without drops them.
func (s section) only(keep func(key string) bool) section {
	out := section{name: s.name}
	for _, l := range s.lines {
		if k, _ := key(l); k != "" && keep(k) {
			out.lines = append(out.lines, l)
		}
	}
	return out
}

// without drops lines that set one of the keys; comments stay.
func (s section) without(drop func(key string) bool) section {
	out := section{name: s.name}
	for _, l := range s.lines {
		if k, _ := key(l); k == "" || !drop(k) {
			out.lines = append(out.lines, l)
		}
	}
	return out
}

// empty reports whether a section sets nothing.
func (s section) empty() bool { return len(s.only(func(string) bool { return true }).lines) == 0 }

// text writes a section, with one empty line behind it.
func (s section) text() string {
	body := strings.TrimRight(strings.Join(s.lines, "\n"), "\n \t")
	if body != "" {
		body += "\n"
	}
	return "[" + s.name + "]\n" + body + "\n"
}

// words say what a list of words holds.
func among(list string) func(string) bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return func(w string) bool { return set[w] }
}
