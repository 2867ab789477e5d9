package server

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"taproom/internal/api/own"
	"taproom/internal/api/remote"
)

// maxMissing is how many kinds of refused calls are told apart: a client that tries every number, or calls itself something
// else each time, must not fill memory. What comes beyond is counted together.
const maxMissing = 1024

// missing counts the calls that were refused because they are not there (VIR_ERR_NO_SUPPORT), by who made them.
type missing struct {
	mu     sync.Mutex
	since  time.Time
	counts map[missingKey]*missingCount
	others uint64
}

type missingKey struct {
	program, procedure uint32
	client             string
}

type missingCount struct {
	times uint64
	last  time.Time
}

func newMissing() *missing {
	return &missing{since: time.Now(), counts: map[missingKey]*missingCount{}}
}

// add counts one call and reports whether it is the first of its kind.
func (m *missing) add(k missingKey) (first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts[k]
	if c == nil && len(m.counts) >= maxMissing {
		m.others++
		return false
	}
	if c == nil {
		c, first = &missingCount{}, true
		m.counts[k] = c
	}
	c.times++
	c.last = time.Now()
	return first
}

// list is what was counted, the most frequent first.
func (m *missing) list() own.Missing {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := own.Missing{Since: m.since.Unix(), Calls: []own.MissingCall{}, Others: m.others}
	for k, c := range m.counts {
		out.Calls = append(out.Calls, own.MissingCall{
			Call: callName(k.program, k.procedure), Program: k.program, Procedure: k.procedure, Client: k.client,
			Count: c.times, Last: c.last.Unix(),
		})
	}
	slices.SortFunc(out.Calls, func(a, b own.MissingCall) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Call, b.Call), strings.Compare(a.Client, b.Client))
	})
	return out
}

// missed counts a call that was refused because it is not there.
func (c *conn) missed(h remote.Header) {
	k := missingKey{h.Program, h.Procedure, c.clientName()}
	if c.srv.missing.add(k) {
		c.srv.log.Warn("a client calls a procedure that is not there", "client", c.id, "name", k.client, "call", callName(h.Program, h.Procedure))
	}
}

// clientName is what the client's process is called, made fit to print: it may call itself anything. A client that speaks
// for another, as libvirt's proxy does, has said whose process that is.
func (c *conn) clientName() string {
	c.mu.Lock()
	pid := c.claimed
	c.mu.Unlock()
	if pid <= 0 {
		pid = c.peer.PID
	}
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, c.srv.opts.ClientName(pid))
	return cmp.Or(name, "unknown")
}
