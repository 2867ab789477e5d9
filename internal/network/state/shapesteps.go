package state

import (
	"context"
	"fmt"
	"strconv"

	"taproom/internal/host"
)

// AddShaper makes an ifb, down and without label.
type AddShaper struct {
	creates
	Name  string
	Group uint32
}

// String implements Step.
func (s AddShaper) String() string {
	return shell("ip", "link", "add", "name", s.Name, "group", strconv.FormatUint(uint64(s.Group), 10), "type", "ifb")
}

// Apply implements Step.
func (s AddShaper) Apply(_ context.Context, r *Run) error { return alone(r, s) }

func (s AddShaper) send(p *host.Pipeline, r *Run, done func(error)) {
	p.CreateIFB(s.Name, s.Group, func(index int, err error) {
		if err == nil {
			r.made[s.Name] = index
		}
		done(taken(s.Name, err))
	})
}

// ChangeQueue is one change of what bounds a link.
type ChangeQueue struct {
	Link    target
	command string
	deletes bool
	request func(p *host.Pipeline, r *Run, index int, done func(error))
}

// tc is a change of what bounds a link, and the command for it.
func (d *differ) tc(name string, deletes bool, command string, request func(*host.Pipeline, *Run, int, func(error))) Step {
	return ChangeQueue{Link: d.current(name), command: command, deletes: deletes, request: request}
}

// Deletes implements Step.
func (s ChangeQueue) Deletes() bool { return s.deletes }

// String implements Step.
func (s ChangeQueue) String() string { return s.command }

// Apply implements Step.
func (s ChangeQueue) Apply(_ context.Context, r *Run) error { return alone(r, s) }

func (s ChangeQueue) send(p *host.Pipeline, r *Run, done func(error)) {
	i, err := r.index(s.Link.Name, s.Link.Index)
	if err != nil {
		done(err)
		return
	}
	s.request(p, r, i, done)
}

func (s ChangeQueue) about() string { return s.Link.Name }

// cut has a class cut what is large.
func (d *differ) cut(name string, class uint16, t host.TBF) Step {
	return d.tc(name, false, shell(append([]string{"tc", "qdisc", "replace", "dev", name, "parent", classID(class), "handle", handle(class)}, bucketWords(t)...)...)+setFair(name, class, t.Fair),
		func(k *host.Pipeline, _ *Run, index int, done func(error)) { k.SetClassTBF(index, class, t, done) })
}

func classID(class uint16) string { return fmt.Sprintf("%x:%x", host.TreeHandle, class) }

func perSecond(rate uint64) string { return strconv.FormatUint(rate, 10) + "bps" } // bytes, to tc

// passing is how many bytes a buffer is.
func passing(ticks uint32, rate uint64) string {
	return strconv.FormatUint(host.Bytes(ticks, rate), 10) + "b"
}

func bucketWords(t host.TBF) []string {
	burst, piece := passing(t.Buffer, t.Rate), strconv.FormatUint(uint64(t.Segment), 10)+"b"
	if t.Segment > 0 && t.Peak == 0 {
		burst = piece
	}
	words := []string{"tbf", "rate", perSecond(t.Rate), "burst", burst, "limit", strconv.FormatUint(uint64(t.Limit), 10) + "b"}
	switch {
	case t.Segment > 0 && t.Peak > 0:
		words = append(words, "peakrate", perSecond(t.Peak), "mtu", piece)
	case t.Peak > 0:
		words = append(words, "peakrate", perSecond(t.Peak), "mtu", passing(t.PeakBuffer, t.Peak))
	}
	return words
}

func setBucket(link string, t host.TBF) string {
	return shell(append([]string{"tc", "qdisc", "replace", "dev", link, "root", "handle", handle(host.BucketHandle)}, bucketWords(t)...)...) + setFair(link, host.BucketHandle, t.Fair)
}

// setFair is the command for the queue inside a bucket, on a line of its own; "" for a plain queue.
func setFair(link string, bucket uint16, q host.FairQueue) string {
	if q == (host.FairQueue{}) {
		return ""
	}
	us := func(n uint32) string { return strconv.FormatUint(uint64(n), 10) + "us" }
	return "\n" + shell("tc", "qdisc", "replace", "dev", link, "parent", handle(bucket)+"1", "fq_codel", "target", us(q.Target), "interval", us(host.FairInterval*q.Target),
		"drop_batch", "1", "memory_limit", strconv.FormatUint(uint64(q.Memory), 10))
}

func handle(h uint16) string { return fmt.Sprintf("%x:", h) }

func delQueue(link string, h uint16) string {
	return shell("tc", "qdisc", "delete", "dev", link, "root", "handle", handle(h))
}

func setTree(link string) string {
	return shell("tc", "qdisc", "replace", "dev", link, "root", "handle", handle(host.TreeHandle), "htb", "default", "2")
}

func setClass(link string, parent, class uint16, c host.HTBClass) string {
	below := handle(host.TreeHandle)
	if parent != 0 {
		below = classID(parent)
	}
	return shell("tc", "class", "replace", "dev", link, "parent", below, "classid", classID(class), "htb", "rate", perSecond(c.Rate), "ceil", perSecond(c.Ceil),
		"burst", passing(c.RateBuffer, c.Rate), "cburst", passing(c.CeilBuffer, c.Ceil), "quantum", "66000")
}

func delClass(link string, class uint16) string {
	return shell("tc", "class", "delete", "dev", link, "classid", classID(class))
}

// pref is the preference of a class's filter.
func pref(class uint16) string { return strconv.Itoa(int(class)) }

func classify(link string, class uint16, mac string) string {
	return shell("tc", "filter", "add", "dev", link, "parent", handle(host.TreeHandle), "pref", pref(class), "protocol", "all", "u32", "match", "ether", "dst", mac, "flowid", classID(class))
}

func unclassify(link string, class uint16) string {
	return shell("tc", "filter", "delete", "dev", link, "parent", handle(host.TreeHandle), "pref", pref(class))
}

func redirect(link, through string) string {
	return shell("tc", "qdisc", "replace", "dev", link, "clsact") + "\n" +
		shell("tc", "filter", "add", "dev", link, "ingress", "pref", strconv.Itoa(host.RedirectPref), "protocol", "all", "u32", "match", "u32", "0", "0", "action", "mirred", "egress", "redirect", "dev", through)
}

func delRedirect(link string) string {
	return shell("tc", "filter", "delete", "dev", link, "ingress", "pref", strconv.Itoa(host.RedirectPref))
}
