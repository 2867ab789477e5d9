package qemu

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// FD is a property whose value is a descriptor. It names the file; Args puts the number in.
type FD string

// FDs are the descriptors of one property that takes several ("fds" of a tap with queues): numbers joined by colons.
type FDs []string

// FDPath is a property whose value is a path that opens what a descriptor has open. It names the file, as FD does.
type FDPath string

// Property is one name and its value: a string, bool, integer, float64, Props, []Props, []string, []any of these, FD,
// FDs, FDPath or nil for null.
type Property struct {
	Key   string
	Value any
}

// Props are properties in the order in which QEMU gets them. The order is part of the value: two descriptions of the same
// guest print the same line.
type Props []Property

// With returns p and one more property; p itself stays as it is.
func (p Props) With(key string, value any) Props {
	return append(p[:len(p):len(p)], Property{Key: key, Value: value})
}

// Get returns the value of a property, nil when it is not there.
func (p Props) Get(key string) any {
	for _, q := range p {
		if q.Key == key {
			return q.Value
		}
	}
	return nil
}

// Files returns the names of the descriptors in p, in order.
func (p Props) Files() []string {
	var names []string
	for _, q := range p {
		names = append(names, filesIn(q.Value)...)
	}
	return names
}

func filesIn(v any) []string {
	var names []string
	switch v := v.(type) {
	case FD:
		names = append(names, string(v))
	case FDPath:
		names = append(names, string(v))
	case FDs:
		names = append(names, v...)
	case Props:
		names = v.Files()
	case []Props:
		for _, p := range v {
			names = append(names, p.Files()...)
		}
	case []any:
		for _, e := range v {
			names = append(names, filesIn(e)...)
		}
	}
	return names
}

// MarshalJSON implements json.Marshaler, for QMP commands. It fails on a descriptor: over QMP these are passed with getfd
// and add-fd and named as strings.
func (p Props) MarshalJSON() ([]byte, error) { return p.appendJSON(nil, nil) }

// appendJSON writes p as one object. number resolves descriptors.
func (p Props) appendJSON(b []byte, number func(name string) (int, error)) ([]byte, error) {
	b = append(b, '{')
	for i, q := range p {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, q.Key), ':')
		var err error
		if b, err = appendValue(b, q.Value, number); err != nil {
			return nil, fmt.Errorf("property %s: %w", q.Key, err)
		}
	}
	return append(b, '}'), nil
}

func appendValue(b []byte, v any, number func(string) (int, error)) ([]byte, error) {
	switch v := v.(type) {
	case nil: // "backing": null keeps QEMU from following what an image names
		return append(b, "null"...), nil
	case Props:
		return v.appendJSON(b, number)
	case []Props:
		return appendList(b, len(v), func(b []byte, i int) ([]byte, error) { return v[i].appendJSON(b, number) })
	case []any:
		return appendList(b, len(v), func(b []byte, i int) ([]byte, error) { return appendValue(b, v[i], number) })
	case []string:
		return appendList(b, len(v), func(b []byte, i int) ([]byte, error) { return appendString(b, v[i]), nil })
	case FD, FDs, FDPath:
		s, err := scalar(v, number)
		return appendString(b, s), err
	case string:
		return appendString(b, v), nil
	case bool, int, int64, uint64, uint32, uint16, float64:
		j, err := json.Marshal(v)
		return append(b, j...), err
	}
	return nil, fmt.Errorf("a value of type %T has no form on the command line", v)
}

func appendList(b []byte, n int, element func([]byte, int) ([]byte, error)) ([]byte, error) {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = element(b, i); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendString quotes s, leaving <, > and & readable.
func appendString(b []byte, s string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// scalar is the form of a value in a key=value option.
func scalar(v any, number func(string) (int, error)) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		if v {
			return "on", nil
		}
		return "off", nil
	case int, int64, uint64, uint32, uint16, float64:
		return fmt.Sprint(v), nil
	case FD:
		return scalar(FDs{string(v)}, number)
	case FDPath:
		n, err := scalar(FD(v), number)
		return "/proc/self/fd/" + n, err
	case FDs:
		var numbers []string
		for _, name := range v {
			if number == nil {
				return "", fmt.Errorf("descriptor %q cannot be passed by number here", name)
			}
			n, err := number(name)
			if err != nil {
				return "", err
			}
			numbers = append(numbers, strconv.Itoa(n))
		}
		return strings.Join(numbers, ":"), nil
	}
	return "", fmt.Errorf("a value of type %T has no form in a key=value option", v)
}

// Option is an argument in QEMU's old form: "head,key=value,key=value".
type Option struct {
	Head  string // "" begins with the first property
	Props Props
}

// text renders o. QEMU takes a comma that was doubled as part of the value.
func (o Option) text(number func(string) (int, error)) (string, error) {
	var parts []string
	if o.Head != "" {
		parts = append(parts, escape(o.Head))
	}
	for _, p := range o.Props {
		v, err := scalar(p.Value, number)
		if err != nil {
			return "", fmt.Errorf("property %s: %w", p.Key, err)
		}
		parts = append(parts, p.Key+"="+escape(v))
	}
	return strings.Join(parts, ","), nil
}

func escape(s string) string { return strings.ReplaceAll(s, ",", ",,") }
