package dns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/miekg/dns"
)

const (
	// maxCacheTTL and maxNegative bound how long anything is remembered, in seconds.
	maxCacheTTL = 24 * 3600
	maxNegative = 15 * 60
	// failureTTL is how long a question that nobody could answer is not asked again (RFC 9520 section 3.2).
	failureTTL = 5
)

// reply is a checked answer from upstream: a whole message without OPT record.
type reply struct {
	wire  []byte
	ttl   uint32 // for how long it may be remembered; zero: not at all
	rcode int
}

var errLie = errors.New("the reply is not well formed, or answers what was not asked")

// checker walks a message from upstream, of which nothing is believed. Every record must lie in the message, every name
// must end, records that carry names must carry names, and every answer must belong to the name that was asked for or
// to the end of its chain of aliases. What follows such a message to a guest is then no worse than what a well-behaved
// server could send.
type checker struct {
	msg     []byte
	off     int
	name    []byte            // asked for, in lower case
	typ     uint16            // asked for
	aliases map[string]string // of the answers
	owners  []string          // of answers that are not known to belong yet
	above   []string          // owners of DNAME records
	answers bool              // there are records of the type that was asked for
	ttl     uint32
	soa     string
	soaTTL  uint32
	rcode   int
	cut     int // where the OPT record begins, and what it leaves of the last section
	kept    uint16
	ttls    []int // where the times to live lie, ascending
}

// check takes the message apart. The question, at its start, was compared already and has the length of name.
func check(msg, name []byte, typ uint16) (*reply, error) {
	c := &checker{msg: msg, off: headerLen + len(name) + 4, name: name, typ: typ, ttl: maxCacheTTL}
	c.rcode = int(msg[3] & 0xf)
	c.cut = -1
	for section := range 3 {
		for i := range int(binary.BigEndian.Uint16(msg[6+2*section:])) {
			if err := c.record(section, uint16(i)); err != nil {
				return nil, err
			}
		}
	}
	end, err := c.chain()
	if err != nil {
		return nil, err
	}
	wire := append([]byte(nil), msg[:c.end()]...)
	if c.cut >= 0 {
		binary.BigEndian.PutUint16(wire[10:], c.kept)
	}
	return &reply{wire: wire, ttl: c.lifetime(end), rcode: c.rcode}, nil
}

func (c *checker) end() int {
	if c.cut >= 0 {
		return c.cut
	}
	return c.off
}

// record walks over one. Only pointers backwards are good, so the message can be cut behind any record.
func (c *checker) record(section int, index uint16) error {
	var room [maxName]byte
	start := c.off
	owner, off, err := readName(room[:0], c.msg, c.off)
	if err != nil {
		return err
	}
	if off+10 > len(c.msg) || c.ages(c.off) {
		return errLie
	}
	typ, class := binary.BigEndian.Uint16(c.msg[off:]), binary.BigEndian.Uint16(c.msg[off+2:])
	ttl := binary.BigEndian.Uint32(c.msg[off+4:])
	data := off + 10
	c.off = data + int(binary.BigEndian.Uint16(c.msg[off+8:]))
	if c.off > len(c.msg) {
		return errLie
	}
	if typ == dns.TypeOPT {
		if section != additionals || len(owner) != 1 || c.cut >= 0 {
			return errLie
		}
		c.rcode |= int(ttl>>24) << 4
		c.cut, c.kept = start, index
		return nil
	}
	if class != dns.ClassINET || typ >= dns.TypeTKEY && typ <= dns.TypeANY && section != additionals {
		return errLie
	}
	c.ttls = append(c.ttls, off+4)
	target, err := c.data(data, c.off, typ)
	if err != nil {
		return err
	}
	if ttl > 1<<31-1 {
		ttl = 0 // RFC 2181 section 8
	}
	switch {
	case section == answers:
		return c.answer(owner, typ, ttl, target)
	case section == authorities && typ == dns.TypeSOA:
		c.soa, c.soaTTL = string(owner), min(ttl, binary.BigEndian.Uint32(c.msg[c.off-4:]))
	}
	return nil
}

// answer notes whose record it is. A set of records has one owner, so an honest message has few.
func (c *checker) answer(owner []byte, typ uint16, ttl uint32, target string) error {
	c.ttl = min(c.ttl, ttl)
	c.answers = c.answers || typ == c.typ
	list := &c.owners
	if typ == dns.TypeDNAME {
		list = &c.above
	}
	if n := len(*list); n == 0 || (*list)[n-1] != string(owner) {
		if n == 4*maxChain {
			return errLie
		}
		*list = append(*list, string(owner))
	}
	if typ == dns.TypeCNAME && c.typ != dns.TypeCNAME {
		if c.aliases == nil {
			c.aliases = map[string]string{}
		}
		c.aliases[string(owner)] = target
	}
	return nil
}

// chain follows the aliases, in whatever order they came, and returns where they end.
func (c *checker) chain() (string, error) {
	at := string(c.name)
	good := map[string]bool{at: true}
	for next, ok := c.aliases[at]; ok; next, ok = c.aliases[at] {
		if good[next] || len(good) > maxChain {
			return "", fmt.Errorf("aliases in a circle, or more than %d: %w", maxChain, errLie)
		}
		good[next] = true
		at = next
	}
	for _, o := range c.above {
		if !anyInside(good, o) {
			return "", errLie
		}
		good[o] = true // with its signature
	}
	for _, o := range c.owners {
		if !good[o] {
			return "", errLie
		}
	}
	return at, nil
}

func anyInside(names map[string]bool, zone string) bool {
	for n := range names {
		if inside([]byte(n), zone) {
			return true
		}
	}
	return false
}

// lifetime is how long the reply may be remembered (RFC 2308 section 5: a negative one without a SOA not at all).
func (c *checker) lifetime(end string) uint32 {
	switch {
	case c.rcode != dns.RcodeSuccess && c.rcode != dns.RcodeNameError:
		return 0
	case c.rcode == dns.RcodeSuccess && c.answers:
		return c.ttl
	case c.soa != "" && inside([]byte(end), c.soa):
		return min(c.ttl, c.soaTTL, maxNegative)
	}
	return 0
}

// ages reports whether the name at off, which can be read, goes through a time to live: it would be another name, or none,
// when the reply is passed on later. A pointer leads to a name that ended before the one it stands in began.
func (c *checker) ages(off int) bool {
	start, limit := off, len(c.msg)
	for {
		n := int(c.msg[off])
		if n >= 0xc0 {
			off = n<<8&0x3f00 | int(c.msg[off+1])
			start, limit = off, start
			continue
		}
		end := off + 1 + n
		i, _ := slices.BinarySearch(c.ttls, off-3)
		if end > limit || i < len(c.ttls) && c.ttls[i] < end {
			return true
		}
		if n == 0 {
			return false
		}
		off = end
	}
}

// data checks the data of types that may hold compressed names (RFC 3597 section 4 ends the list), and of
// addresses. It returns the name of an alias.
func (c *checker) data(off, end int, typ uint16) (target string, err error) {
	before, names, after := 0, 1, 0
	switch typ {
	case dns.TypeA:
		return "", lengthIs(end-off, 4)
	case dns.TypeAAAA:
		return "", lengthIs(end-off, 16)
	case dns.TypeCNAME, dns.TypeDNAME, dns.TypeNS, dns.TypePTR, dns.TypeMB, dns.TypeMD, dns.TypeMF, dns.TypeMG, dns.TypeMR:
	case dns.TypeMX, dns.TypeAFSDB, dns.TypeRT, dns.TypeKX:
		before = 2
	case dns.TypePX:
		before, names = 2, 2
	case dns.TypeSRV:
		before = 6
	case dns.TypeSOA:
		names, after = 2, 20
	case dns.TypeMINFO, dns.TypeRP:
		names = 2
	case dns.TypeSIG:
		before, after = 18, -1
	case dns.TypeNXT:
		after = -1
	case dns.TypeNAPTR:
		before = 4
		for range 3 { // strings
			if off+before >= end {
				return "", errLie
			}
			before += 1 + int(c.msg[off+before])
		}
	default:
		return "", nil
	}
	var room [maxName]byte
	off += before
	for range names {
		if off >= end {
			return "", errLie
		}
		var name []byte
		start := off
		name, off, err = readName(room[:0], c.msg[:end], off)
		if err != nil {
			return "", err
		}
		if c.ages(start) {
			return "", errLie
		}
		if typ == dns.TypeCNAME {
			target = string(name)
		}
	}
	if after < 0 {
		return target, nil
	}
	return target, lengthIs(end-off, after)
}

func lengthIs(n, want int) error {
	if n != want {
		return errLie
	}
	return nil
}
