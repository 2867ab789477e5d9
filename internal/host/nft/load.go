package nft

import (
	"fmt"
	"strconv"
	"strings"
)

// Load parses a table as `nft list table` prints it (and Listing.String does), within the subset. So a test can start
// from what an administrator pasted.
func Load(text string) (*Listing, error) {
	lines, err := splitLines(text)
	if err != nil {
		return nil, err
	}
	p := &loader{lines: lines, l: &Listing{Elements: map[string][]string{}}}
	if err := p.table(); err != nil {
		return nil, fmt.Errorf("line %d: %w", min(p.at, len(lines)), err)
	}
	p.l.sortElements()
	return p.l, nil
}

type loader struct {
	lines [][]token
	at    int
	l     *Listing
	last  uint64 // handle given last
}

// token is a word; quoted tells "accept" from accept.
type token struct {
	text   string
	quoted bool
}

func (p *loader) handle() uint64 {
	p.last++
	return p.last
}

// next returns the next line that has something on it.
func (p *loader) next() ([]token, bool) {
	for p.at < len(p.lines) {
		line := p.lines[p.at]
		p.at++
		if len(line) > 0 {
			return line, true
		}
	}
	return nil, false
}

func splitLines(text string) ([][]token, error) {
	var out [][]token
	depth := 0 // a list of elements may run over lines
	var line []token
	for _, s := range strings.Split(text, "\n") {
		words, err := splitWords(s)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(out)+1, err)
		}
		line = append(line, words...)
		for i, w := range words {
			if w.quoted {
				continue
			}
			if w.text == "{" && i > 0 && words[i-1].text == "=" {
				depth++
			} else if w.text == "}" && depth > 0 {
				depth--
			}
		}
		if depth == 0 {
			out, line = append(out, line), nil
		}
	}
	return append(out, line), nil
}

func splitWords(s string) ([]token, error) {
	var out []token
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimLeft(s, " \t\r") {
		switch s[0] {
		case '"':
			inner, rest, ok := strings.Cut(s[1:], `"`)
			if !ok {
				return nil, fmt.Errorf("no closing quote: %s", s)
			}
			out, s = append(out, token{inner, true}), rest
		case '{', '}', ';', ',':
			out, s = append(out, token{s[:1], false}), s[1:]
		default:
			n := strings.IndexAny(s, " \t\r\"{};,")
			if strings.HasPrefix(s, "established,") || strings.HasPrefix(s, "invalid,") || strings.HasPrefix(s, "related,") || strings.HasPrefix(s, "new,") {
				n = strings.IndexAny(s, " \t\r\"{};") // a list of connection states is one word
			}
			if n < 0 {
				n = len(s)
			}
			out, s = append(out, token{s[:n], false}), s[n:]
		}
	}
	return out, nil
}

func plain(line []token) string {
	words := make([]string, len(line))
	for i, w := range line {
		words[i] = w.text
	}
	return strings.Join(words, " ")
}

func (p *loader) table() error {
	line, ok := p.next()
	if !ok || len(line) != 4 || line[0].text != "table" || line[3].text != "{" {
		return fmt.Errorf("want `table FAMILY NAME {`, got %q", plain(line))
	}
	f, err := ParseFamily(line[1].text)
	if err != nil {
		return err
	}
	p.l.Table = Table{Family: f, Name: line[2].text, Handle: p.handle()}
	for {
		line, ok := p.next()
		switch {
		case !ok:
			return fmt.Errorf("table %s is not closed", p.l.Table.Name)
		case len(line) == 1 && line[0].text == "}":
			if rest, ok := p.next(); ok {
				return fmt.Errorf("after the table: %q", plain(rest))
			}
			return p.l.Table.validate()
		case len(line) == 2 && line[0].text == "comment":
			p.l.Table.Comment = line[1].text
		case len(line) >= 2 && line[0].text == "flags":
			p.l.Table.Flags, err = parseFlags(plain(line[1:]))
		case len(line) == 3 && (line[0].text == "set" || line[0].text == "map") && line[2].text == "{":
			err = p.set(line[0].text, line[1].text)
		case len(line) == 3 && line[0].text == "chain" && line[2].text == "{":
			err = p.chain(line[1].text)
		default:
			err = fmt.Errorf("outside the subset: %q", plain(line))
		}
		if err != nil {
			return err
		}
	}
}

func (p *loader) set(word, name string) error {
	s := Set{Family: p.l.Table.Family, Table: p.l.Table.Name, Name: name, Handle: p.handle()}
	for {
		line, ok := p.next()
		switch {
		case !ok:
			return fmt.Errorf("%s %s is not closed", word, name)
		case plain(line) == "}":
			p.l.Sets = append(p.l.Sets, s)
			return s.validate()
		case line[0].text+" " == typeof && word == "set":
			s.Type = strings.ReplaceAll(plain(line), " , ", ",")
		case line[0].text == "type":
			s.Type = plain(line[1:])
			if word == "map" {
				s.Type, s.Data = splitElement(s.Type)
			}
		case line[0].text == "comment" && len(line) == 2:
			s.Comment = line[1].text
		case plain(line) == fmt.Sprintf("size %d", dynamicSize): // with the flag that follows
		case plain(line) == "flags dynamic":
			s.Dynamic = true
		case line[0].text == "elements" && s.Dynamic: // of packets
		case line[0].text == "elements" && len(line) > 4:
			keys := p.elements(line)
			if err := (Elements{Set: s, Keys: keys}).validate(); err != nil {
				return err
			}
			for i := range keys {
				var err error
				if keys[i], err = s.Canonical(keys[i]); err != nil {
					return err
				}
			}
			p.l.Elements[name] = keys
		default:
			return fmt.Errorf("in %s %s, outside the subset: %q", word, name, plain(line))
		}
	}
}

// elements reads `elements = { a . b, c . d }`.
func (p *loader) elements(line []token) []string {
	var keys []string
	var key []string
	for _, w := range line[3:] {
		if !w.quoted && (w.text == "," || w.text == "}") {
			if len(key) > 0 {
				keys = append(keys, strings.Join(key, " "))
			}
			key = nil
			continue
		}
		key = append(key, w.text)
	}
	return keys
}

func (p *loader) chain(name string) error {
	c := Chain{Family: p.l.Table.Family, Table: p.l.Table.Name, Name: name, Handle: p.handle()}
	for {
		line, ok := p.next()
		var err error
		switch {
		case !ok:
			return fmt.Errorf("chain %s is not closed", name)
		case plain(line) == "}":
			p.l.Chains = append(p.l.Chains, c)
			return c.validate()
		case line[0].text == "comment" && len(line) == 2:
			c.Comment = line[1].text
		case line[0].text == "type" && len(line) > 1:
			err = c.parseHook(plain(line))
		default:
			r := Rule{Family: c.Family, Table: c.Table, Chain: name, Handle: p.handle()}
			if r.Exprs, r.Comment, err = parseExprs(line); err == nil {
				p.l.giveData(r)
				err = r.validate()
			}
			p.l.Rules = append(p.l.Rules, r)
		}
		if err != nil {
			return fmt.Errorf("in chain %s, %q: %w", name, plain(line), err)
		}
	}
}

// parseHook reads `type filter hook forward priority filter; policy accept;`.
func (c *Chain) parseHook(s string) error {
	s = strings.ReplaceAll(s, " ;", ";")
	head, tail, ok := strings.Cut(s, "; policy ")
	words := strings.Fields(head)
	if !ok || len(words) < 6 || words[2] != "hook" || words[4] != "priority" {
		return fmt.Errorf("want `type TYPE hook HOOK priority N; policy P;`")
	}
	c.Type, c.Hook, c.Policy = words[1], words[3], strings.TrimSuffix(tail, ";")
	var sum int64
	sign := int64(1)
	for _, w := range words[5:] {
		switch w {
		case "+":
			sign = 1
			continue
		case "-":
			sign = -1
			continue
		}
		n, err := strconv.ParseInt(w, 10, 32)
		for _, p := range c.Family.priorities() {
			if p.name == w {
				n, err = int64(p.value), nil
			}
		}
		if err != nil {
			return fmt.Errorf("priority %q", w)
		}
		sum += sign * n
	}
	c.Priority = int32(sum)
	return nil
}

// giveData fills in what the text of a rule does not show: the data types of the maps it reads.
func (l *Listing) giveData(r Rule) {
	for i, x := range r.Exprs {
		if n, ok := x.(NAT); ok {
			m, _ := l.Set(n.Map)
			n.Data = m.Data
			r.Exprs[i] = n
		}
	}
}
