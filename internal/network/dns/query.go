package dns

import (
	"encoding/binary"

	"github.com/miekg/dns"
)

const (
	headerLen = 12

	flagQR, flagAA, flagTC, flagRD = 1 << 15, 1 << 10, 1 << 9, 1 << 8
	flagRA, flagAD, flagCD         = 1 << 7, 1 << 5, 1 << 4

	// maxUDP is the largest message that we send in a datagram and ask others to send: it crosses every link without
	// being cut into fragments, which can be lost, or replaced by a stranger's.
	maxUDP = 1232
	// maxTCP is what the length before a message on TCP can tell.
	maxTCP = 65535
)

// query is what a client asked. Its slices are parts of the message and of the scratch space that it was read with.
type query struct {
	id       uint16
	flags    uint16 // RD, AD and CD, as they came
	question []byte // name, type and class as the client wrote them
	name     []byte // in lower case
	typ      uint16
	class    uint16
	edns     bool
	do       bool
	size     int // of a datagram that the client can take
}

// parseQuery reads a question. With ok false nothing may be answered at all. An rcode other than success is the answer;
// the question is then set as far as it could be read.
func parseQuery(msg, scratch []byte) (q query, rcode int, ok bool) {
	if len(msg) < headerLen {
		return q, 0, false
	}
	bits := binary.BigEndian.Uint16(msg[2:])
	if bits&flagQR != 0 { // answering answers is how two servers talk forever
		return q, 0, false
	}
	q.id = binary.BigEndian.Uint16(msg)
	q.flags = bits & (flagRD | flagAD | flagCD)
	q.size = dns.MinMsgSize
	if bits>>11&0xf != dns.OpcodeQuery {
		return q, dns.RcodeNotImplemented, true
	}
	count := func(i int) int { return int(binary.BigEndian.Uint16(msg[i:])) }
	if count(4) != 1 || count(6) != 0 || count(8) != 0 {
		return q, dns.RcodeFormatError, true // one question and nothing else (RFC 9619)
	}
	name, off, err := readName(scratch[:0], msg, headerLen)
	if err != nil || off+4 > len(msg) || off-headerLen != len(name) { // nothing is there that a pointer could mean
		return q, dns.RcodeFormatError, true
	}
	q.name = name
	q.question = msg[headerLen : off+4]
	q.typ = binary.BigEndian.Uint16(msg[off:])
	q.class = binary.BigEndian.Uint16(msg[off+2:])
	rcode = q.additional(msg, scratch[len(name):], off+4, count(10))
	return q, rcode, true
}

// additional reads what follows the question: an OPT record (RFC 6891), or signatures of the transaction, which are for
// zone transfers and updates and mean nothing here.
func (q *query) additional(msg, scratch []byte, off, n int) int {
	if n > 4 {
		return dns.RcodeFormatError
	}
	for range n {
		name, next, err := readName(scratch[:0], msg, off)
		if err != nil || next+10 > len(msg) {
			return dns.RcodeFormatError
		}
		end := next + 10 + int(binary.BigEndian.Uint16(msg[next+8:]))
		if end > len(msg) {
			return dns.RcodeFormatError
		}
		if binary.BigEndian.Uint16(msg[next:]) == dns.TypeOPT {
			if q.edns || len(name) != 1 || !wellFormedOptions(msg[next+10:end]) {
				return dns.RcodeFormatError
			}
			q.edns = true
			q.size = min(max(int(binary.BigEndian.Uint16(msg[next+2:])), dns.MinMsgSize), maxUDP)
			q.do = msg[next+6]&0x80 != 0
			if msg[next+5] != 0 {
				return dns.RcodeBadVers
			}
		}
		off = end
	}
	return dns.RcodeSuccess
}

func wellFormedOptions(b []byte) bool {
	for len(b) > 0 {
		if len(b) < 4 {
			return false
		}
		n := 4 + int(binary.BigEndian.Uint16(b[2:]))
		if n > len(b) {
			return false
		}
		b = b[n:]
	}
	return true
}
