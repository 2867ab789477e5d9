package plug

import (
	"slices"
	"strconv"
	"strings"

	"taproom/internal/qemu"
)

// What QEMU's I/O threads are where nothing is said (iothread.c, event-loop-base.c).
func threadDefault(key string) int64 {
	switch key {
	case "poll-max-ns":
		return 32768
	case "thread-pool-max":
		return 64
	}
	return 0
}

func isThread(p qemu.Props) bool { return p.Get("qom-type") == "iothread" }

// others are the objects that are set when they are made.
func others(objects []qemu.Props) []qemu.Props {
	return slices.DeleteFunc(slices.Clone(objects), isThread)
}

// threadName reports whether an object is called as I/O threads of documents are.
func threadName(name string) bool {
	number, ok := strings.CutPrefix(name, "iothread")
	_, err := strconv.ParseUint(number, 10, 32)
	return ok && err == nil
}

// setThread brings an I/O thread from one description to another. Its bounds go in an order in which the least is never
// more than the most, which QEMU refuses.
func setThread(from, to qemu.Props) []Step {
	value := func(p qemu.Props, key string) int64 {
		if n, ok := p.Get(key).(int64); ok {
			return n
		}
		return threadDefault(key)
	}
	order := []string{"poll-max-ns", "poll-grow", "poll-shrink", "thread-pool-max", "thread-pool-min"}
	if value(to, "thread-pool-max") < value(from, "thread-pool-min") {
		slices.Reverse(order)
	}
	var out []Step
	for _, key := range order {
		if n := value(to, key); n != value(from, key) {
			out = append(out, step("qom-set", "path", "/objects/"+id(to), "property", key, "value", n))
		}
	}
	return out
}

// Threads is what leads the I/O threads of both configurations from one to the other.
func Threads(from, to *qemu.Config) []Step {
	var out []Step
	for _, p := range to.Objects {
		i := slices.IndexFunc(from.Objects, func(o qemu.Props) bool { return id(o) == id(p) })
		if isThread(p) && i >= 0 {
			out = append(out, setThread(from.Objects[i], p)...)
		}
	}
	return out
}

// Threads brings a QEMU's I/O threads to a configuration: whoever changed them may not have got to it.
func (o *Observed) Threads(c *qemu.Config) []Step {
	var out []Step
	wanted := map[string]bool{}
	for _, p := range c.Objects {
		if !isThread(p) {
			continue
		}
		wanted[id(p)] = true
		if !slices.Contains(o.objects, named{id(p)}) {
			out = append(out, Step{Command: "object-add", Args: p})
			continue
		}
		for _, key := range []string{"poll-max-ns", "poll-grow", "poll-shrink"} { // bounds of helpers may cross on the way
			if n, ok := p.Get(key).(int64); ok {
				out = append(out, lenient(step("qom-set", "path", "/objects/"+id(p), "property", key, "value", n)))
			}
		}
	}
	for _, have := range o.objects {
		if threadName(have.Name) && !wanted[have.Name] {
			out = append(out, lenient(step("object-del", "id", have.Name)))
		}
	}
	return out
}
