package guest

import (
	"strconv"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// IOThreadProps is QEMU's object of an I/O thread.
func IOThreadProps(t spec.IOThread) (qemu.Props, error) {
	p := qemu.Props{{Key: "qom-type", Value: "iothread"}, {Key: "id", Value: "iothread" + t.ID}}
	p, err := poolProps(p, t.ThreadPoolMin, t.ThreadPoolMax)
	if err != nil || t.Poll == nil {
		return p, err
	}
	for _, f := range []struct{ name, value string }{
		{"poll-max-ns", t.Poll.Max}, {"poll-grow", t.Poll.Grow}, {"poll-shrink", t.Poll.Shrink},
	} {
		if f.value == "" {
			continue
		}
		n, err := strconv.ParseInt(f.value, 10, 64)
		if err != nil {
			return nil, invalid("iothreadids/iothread/poll", "%q is no number", f.value)
		}
		p = p.With(f.name, n)
	}
	return p, nil
}

func poolProps(p qemu.Props, least, most string) (qemu.Props, error) {
	for _, f := range []struct{ name, value string }{{"thread-pool-min", least}, {"thread-pool-max", most}} {
		if f.value == "" {
			continue
		}
		n, err := strconv.ParseInt(f.value, 10, 32)
		if err != nil {
			return nil, invalid("iothreads", "%s: %q is no number", f.name, f.value)
		}
		p = p.With(f.name, n)
	}
	return p, nil
}

// threads makes the I/O threads, and bounds those that help the main loop.
func (c *compiler) threads() error {
	all, err := IOThreads(c.d)
	if err != nil {
		return err
	}
	for _, t := range all {
		p, err := IOThreadProps(t)
		if err != nil {
			return err
		}
		c.cfg.Objects = append(c.cfg.Objects, p)
	}
	if t := c.d.DefaultIOThread; t != nil && (t.ThreadPoolMin != "" || t.ThreadPoolMax != "") {
		p, err := poolProps(qemu.Props{{Key: "qom-type", Value: "main-loop"}, {Key: "id", Value: "main-loop"}}, t.ThreadPoolMin, t.ThreadPoolMax)
		if err != nil {
			return err
		}
		c.cfg.Objects = append(c.cfg.Objects, p)
	}
	return nil
}
