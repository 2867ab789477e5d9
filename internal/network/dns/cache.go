package dns

import (
	"encoding/binary"
	"sync"
)

// entryCost is what an entry takes beside its key and message: itself, its place in the map, and rounding.
const entryCost = 200

// cache remembers replies for all networks within one budget of bytes. Every network has a part of its own, for two
// reasons: a reply of one network's forwarder must not be an answer in another network, and no guest shall learn from
// how fast an answer comes what guests elsewhere asked for. When the budget is used up, the part that holds most gives
// way, so a network that asks for a million names pushes out its own.
type cache struct {
	mu     sync.Mutex
	budget int
	used   int
	parts  map[*part]struct{} // that hold something

	generation uint64
}

// part is one network's. Its entries are in a ring, the one that was used last after the root.
type part struct {
	bytes      int
	generation uint64
	entries    map[string]*entry
	root       entry
}

type entry struct {
	key        string
	wire       []byte
	stored     int64
	expires    int64
	prev, next *entry
}

func newCache(budget int) *cache {
	return &cache{budget: budget, parts: map[*part]struct{}{}}
}

func newPart() *part {
	p := &part{entries: map[string]*entry{}}
	p.root.prev, p.root.next = &p.root, &p.root
	return p
}

func (e *entry) size() int { return len(e.key) + len(e.wire) + entryCost }

func (e *entry) unlink() { e.prev.next, e.next.prev = e.next, e.prev }

func (p *part) front(e *entry) {
	e.prev, e.next = &p.root, p.root.next
	e.prev.next, e.next.prev = e, e
}

// lookup returns a message, which must not be changed, and its age.
func (c *cache) lookup(p *part, key []byte, now int64) (wire []byte, age uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := p.entries[string(key)]
	if e == nil {
		return nil, 0
	}
	if e.expires <= now {
		c.remove(p, e)
		return nil, 0
	}
	e.unlink()
	p.front(e)
	return e.wire, uint32(now - e.stored)
}

// current is what a reply that is stored later must have been asked under.
func (c *cache) current(p *part) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.generation + c.generation // neither ever goes back
}

// store keeps a reply, unless the part was emptied since it was asked for.
func (c *cache) store(p *part, generation uint64, key string, wire []byte, ttl uint32, now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.generation+c.generation != generation || ttl == 0 {
		return
	}
	e := &entry{key: key, wire: wire, stored: now, expires: now + int64(ttl)}
	if e.size() > c.budget/4 {
		return
	}
	if old := p.entries[key]; old != nil {
		c.remove(p, old)
	}
	for c.used+e.size() > c.budget {
		largest := c.largest(p, e.size())
		c.remove(largest, largest.root.prev)
	}
	p.entries[key] = e
	p.front(e)
	p.bytes += e.size()
	c.used += e.size()
	c.parts[p] = struct{}{}
}

// largest returns the part that holds most when p will hold more. It is asked for on a reply from upstream alone, which
// takes far longer than to look at a thousand parts.
func (c *cache) largest(p *part, more int) *part {
	var most *part
	size := 0
	for q := range c.parts {
		n := q.bytes
		if q == p {
			n += more
		}
		if q.bytes > 0 && n > size {
			most, size = q, n
		}
	}
	return most
}

func (c *cache) remove(p *part, e *entry) {
	e.unlink()
	delete(p.entries, e.key)
	p.bytes -= e.size()
	c.used -= e.size()
	if p.bytes == 0 {
		delete(c.parts, p)
	}
}

// flush forgets a part, and what is being asked for it.
func (c *cache) flush(p *part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.generation++
	c.empty(p)
}

// flushAll forgets everything.
func (c *cache) flushAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	for p := range c.parts {
		c.empty(p)
	}
}

func (c *cache) empty(p *part) {
	c.used -= p.bytes
	p.bytes = 0
	p.entries = map[string]*entry{} // a map never gives its room back otherwise
	p.root.prev, p.root.next = &p.root, &p.root
	delete(c.parts, p)
}

func (c *cache) size(p *part) (entries, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(p.entries), p.bytes
}

// replay writes a message from upstream as the answer to a question that has its name in another case, another id, and
// comes later.
func (b *builder) replay(q *query, wire []byte, age uint32, limit int) []byte {
	b.begin(q, limit)
	b.rcode = int(wire[3] & 0xf)
	if q.do || q.flags&flagAD != 0 { // who asks understands it (RFC 6840 section 5.8)
		b.flags |= uint16(wire[3]) & flagAD
	}
	if len(wire) > b.room() {
		return b.truncated()
	}
	off := len(b.out)
	b.out = append(b.out, wire[off:]...)
	for i := range b.counts {
		b.counts[i] = binary.BigEndian.Uint16(wire[6+2*i:])
		for range b.counts[i] {
			off = skipName(b.out, off) + 10
			ttl := b.out[off-6 : off-2]
			binary.BigEndian.PutUint32(ttl, aged(binary.BigEndian.Uint32(ttl), age))
			off += int(binary.BigEndian.Uint16(b.out[off-2:]))
		}
	}
	return b.finish()
}

func aged(ttl, age uint32) uint32 {
	if ttl > 1<<31-1 { // RFC 2181 section 8
		return 0
	}
	ttl = min(ttl, maxCacheTTL)
	return ttl - min(age, ttl)
}
