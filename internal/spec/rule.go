package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// finding is what a rule says of a value: nothing, that libvirt has no such value, or that taproom does not do it yet.
type finding struct {
	unsupported bool
	reason      string
}

// rule judges an attribute's value, a leaf's text, or an element by its presence and, where it has no type of its own,
// its content. For an element, value is empty; e is nil where the element has a type.
type rule func(value string, e *Element) finding

// refuse is for what would make another guest than the document asks for.
func refuse(reason string) rule {
	return func(string, *Element) finding { return finding{true, reason} }
}

// values allows the words of ok; those of known are libvirt's and not implemented, and all others are mistakes.
func values(ok, known string) rule {
	oks, knowns := strings.Fields(ok), strings.Fields(known)
	return func(v string, _ *Element) finding {
		switch {
		case slices.Contains(oks, v):
			return finding{}
		case slices.Contains(knowns, v):
			return finding{true, fmt.Sprintf("%q is not implemented; use %s", v, list(oks))}
		}
		return finding{false, fmt.Sprintf("%q is not known; use %s", v, list(oks))}
	}
}

// just allows the words of ok. Any other value asks for something that is not implemented.
func just(ok, reason string) rule {
	oks := strings.Fields(ok)
	return func(v string, _ *Element) finding {
		if slices.Contains(oks, v) {
			return finding{}
		}
		return finding{true, fmt.Sprintf("%q: %s", v, reason)}
	}
}

// number allows decimal numbers from least to most.
func number(least, most uint64) rule {
	return func(v string, _ *Element) finding {
		n, err := ParseDecimal(v, most)
		if err == nil && n < least {
			err = fmt.Errorf("%s is too small (at least %d)", v, least)
		}
		if err != nil {
			return finding{false, err.Error()}
		}
		return finding{}
	}
}

// place allows the numbers of an address, which may be hexadecimal.
func place(most uint64) rule {
	return func(v string, _ *Element) finding {
		if _, err := ParseNumber(v, most); err != nil {
			return finding{false, err.Error()}
		}
		return finding{}
	}
}

// pattern allows what matches; want describes it.
func pattern(expr, want string) rule {
	re := regexp.MustCompile(`\A(?:` + expr + `)\z`)
	return func(v string, _ *Element) finding {
		if re.MatchString(v) {
			return finding{}
		}
		return finding{false, fmt.Sprintf("%q is not %s", v, want)}
	}
}

// off allows an element on which every attribute is a no, such as <acceleration accel3d='no'/>.
func off(reason string) rule {
	return func(_ string, e *Element) finding {
		for _, a := range e.Attrs {
			if a.Value != "no" && a.Value != "off" {
				return finding{true, reason}
			}
		}
		return finding{}
	}
}

func yesNo() rule { return values("yes no", "") }
func onOff() rule { return values("on off", "") }

func list(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
