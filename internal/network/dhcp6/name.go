package dhcp6

import (
	"bytes"
	"encoding/hex"
	"strings"

	"taproom/internal/network/packet"
)

// firstLabel returns a name without its domain.
func firstLabel(s string) string {
	label, _, _ := strings.Cut(s, ".")
	return label
}

// cleanLabel returns a label that is safe to print and to put into DNS, or nothing.
func cleanLabel(s string) string {
	if len(s) == 0 || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return ""
	}
	for _, r := range []byte(s) {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return ""
		}
	}
	return s
}

// encodeName returns a domain name in the form of DNS, without compression (RFC 8415, 10), or nothing if it has none.
func encodeName(s string) []byte {
	var b []byte
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if cleanLabel(label) == "" {
			return nil
		}
		b = append(append(b, byte(len(label))), label...)
	}
	if len(b) > 254 {
		return nil
	}
	return append(b, 0)
}

// decodeLabel returns the first label of a name in the form of DNS: the host's, whatever domain the client believes in.
func decodeLabel(b []byte) string {
	if len(b) == 0 || int(b[0]) >= len(b) {
		return ""
	}
	return cleanLabel(string(b[1 : 1+b[0]]))
}

// duidText returns a DUID in hexadecimal with colons.
func duidText(b []byte) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, 3*len(b))
	for _, c := range b {
		out = append(out, digits[c>>4], digits[c&15], ':')
	}
	return string(bytes.TrimSuffix(out, []byte(":")))
}

// parseDUID reads the form with colons, in which a byte may have one digit, and returns that of duidText.
func parseDUID(s string) (string, bool) {
	var out []byte
	for part := range strings.SplitSeq(s, ":") {
		if len(part) == 1 {
			part = "0" + part
		}
		b, err := hex.DecodeString(part)
		if err != nil || len(b) != 1 {
			return "", false
		}
		out = append(out, b...)
	}
	return duidText(out), len(out) >= minDUID && len(out) <= maxDUID
}

// duidMAC returns the Ethernet address that a DUID was made from (RFC 8415, 11.2 and 11.4).
func duidMAC(duid []byte) (packet.MAC, bool) {
	switch {
	case len(duid) == 14 && bytes.HasPrefix(duid, []byte{0, 1, 0, 1}):
		return packet.MAC(duid[8:]), true
	case len(duid) == 10 && bytes.HasPrefix(duid, []byte{0, 3, 0, 1}):
		return packet.MAC(duid[4:]), true
	}
	return packet.MAC{}, false
}
