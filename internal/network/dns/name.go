package dns

import (
	"errors"
	"fmt"
	"strings"

	"github.com/miekg/dns"
)

// maxName is the longest name on the wire (RFC 1035 section 2.3.4).
const maxName = 255

var errName = errors.New("a name that does not end, or points ahead")

// readName appends the name at off to dst, in lower case and without compression, and returns where it ends in msg.
func readName(dst, msg []byte, off int) (name []byte, next int, err error) {
	floor, next, from := off, -1, len(dst)
	for {
		if off >= len(msg) {
			return nil, 0, errName
		}
		c := int(msg[off])
		switch {
		case c < 0x40:
			if off+1+c > len(msg) || len(dst)-from+1+c > maxName {
				return nil, 0, errName
			}
			dst = append(dst, byte(c))
			for _, b := range msg[off+1 : off+1+c] {
				dst = append(dst, lower(b))
			}
			off += 1 + c
			if c == 0 {
				if next < 0 {
					next = off
				}
				return dst, next, nil
			}
		case c >= 0xc0:
			if off+1 >= len(msg) {
				return nil, 0, errName
			}
			to := (c&0x3f)<<8 | int(msg[off+1])
			if next < 0 {
				next = off + 2
			}
			// Every pointer must go below the place where the labels before it began, so no chain of them can loop.
			if to >= floor || to < headerLen {
				return nil, 0, errName
			}
			floor, off = to, to
		default:
			return nil, 0, errName // 01 and 10 were given back (RFC 6891 section 5)
		}
	}
}

// skipName returns where a name that was read before ends.
func skipName(msg []byte, off int) int {
	for {
		c := int(msg[off])
		switch {
		case c == 0:
			return off + 1
		case c >= 0xc0:
			return off + 2
		}
		off += 1 + c
	}
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// wireName returns a name as it is in messages, in lower case. Names of that form are the keys of this package.
func wireName(s string) (string, error) {
	name, err := packName(s)
	if err != nil {
		return "", err
	}
	for i, b := range name { // the lengths of labels are below 'A'
		name[i] = lower(b)
	}
	return string(name), nil
}

// packName is wireName for what is told and never looked up: the letters stay as they are.
func packName(s string) ([]byte, error) {
	buf := make([]byte, maxName+1)
	n, err := dns.PackDomainName(dns.Fqdn(s), buf, 0, nil, false)
	if err != nil {
		return nil, fmt.Errorf("%q is not a domain name", s)
	}
	return buf[:n], nil
}

// hostName is wireName for the name of a host: letters, digits, '-' and '_' in labels.
func hostName(s string) (string, error) {
	trimmed := strings.TrimSuffix(s, ".")
	if trimmed == "" {
		return "", errors.New("the name is empty")
	}
	for label := range strings.SplitSeq(trimmed, ".") {
		if !isLabel(label) {
			return "", fmt.Errorf("%q is not a host's name: letters, digits, '-' and '_', at most 63 between dots", s)
		}
	}
	return wireName(trimmed)
}

func isLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		c := lower(s[i])
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// parent cuts the first label off. The root has none.
func parent[T ~string | ~[]byte](name T) T { return name[1+int(name[0]):] }

// inside reports whether a name is a zone's or below it.
func inside(name []byte, zone string) bool {
	for ; len(name) >= len(zone); name = parent(name) {
		if string(name) == zone {
			return true
		}
		if name[0] == 0 {
			break
		}
	}
	return false
}

// plain reports whether a name has one label.
func plain[T ~string | ~[]byte](name T) bool { return name[0] != 0 && len(name) == int(name[0])+2 }
