package lease

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// A lease file is text, one lease on a line behind its checksum; a later line about an address or a client takes the
// place of an earlier one. It is only ever appended to, so a crash or a full disk can harm nothing but the last line.

// Append appends a lease in the form that Parse reads.
func (c Clock) Append(b []byte, l Lease) []byte {
	text, err := json.Marshal(c.Stored(l))
	if err != nil { // only a type that has no JSON form fails, and there is none in Record
		return b
	}
	return fmt.Appendf(b, "%08x %s\n", checksum(text), text)
}

// Parse returns the leases of a lease file, oldest first, and how many lines it could not read. A last line that was cut
// short is among them, since its client was never told.
func (c Clock) Parse(data []byte) (leases []Lease, damaged int) {
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		data = rest
		if len(line) == 0 {
			continue // written after a line that was cut short
		}
		r, ok := parseLine(line)
		if !ok || !whole {
			damaged++
			continue
		}
		leases = append(leases, c.Lease(r))
	}
	return leases, damaged
}

// latest is far beyond every end that a lease may have, in seconds, and far from where sums of such overflow.
const latest = 1 << 40

func parseLine(line []byte) (Record, bool) {
	var r Record
	var want [4]byte
	if len(line) < 9 || line[8] != ' ' {
		return r, false
	}
	if _, err := hex.Decode(want[:], line[:8]); err != nil {
		return r, false
	}
	text := line[9:]
	sum := checksum(text)
	if want != [4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)} {
		return r, false
	}
	err := json.Unmarshal(text, &r)
	sane := r.Expiry >= 0 && r.Expiry < latest && r.Ends > -latest && r.Ends < latest && r.Seconds >= 0 && r.Seconds < latest
	return r, err == nil && sane && r.IP.IsValid() && !r.IP.Is4In6() && r.IP.Zone() == "" && !r.MAC.IsGroup()
}

// checksum is CRC-32C: processors have an instruction for it.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
