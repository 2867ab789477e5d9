package plug

import (
	"fmt"

	"taproom/internal/qemu"
)

// chardevAdd is a character device as the monitor takes it, where backends have other names and another form than on the
// command line (qapi/char.json).
func chardevAdd(c qemu.Chardev) ([]Step, error) {
	data, used := qemu.Props{}, map[string]bool{}
	get := func(key string) any {
		used[key] = true
		return c.Props.Get(key)
	}
	pass := func(keys ...string) {
		for _, key := range keys {
			if v := get(key); v != nil {
				data = data.With(key, v)
			}
		}
	}
	backend := c.Backend
	switch backend {
	case "pty", "null":
	case "file":
		data = data.With("out", get("path"))
		pass("append")
	case "socket":
		data = data.With("addr", socketAddress(get))
		pass("server", "wait", "telnet", "nodelay", "tls-creds", "reconnect")
		if data.Get("server") == nil { // on the command line one connects unless it is told to listen
			data = data.With("server", false)
		}
	case "udp":
		data = data.With("remote", inet(get("host"), get("port")))
		if l := inet(get("localaddr"), get("localport")); l.Get("port") != nil {
			data = data.With("local", l)
		}
	case "spicevmc":
		data = data.With("type", get("name"))
	case "spiceport":
		data = data.With("fqdn", get("name"))
	default:
		return nil, &FixedError{What: "character device " + c.ID, Why: fmt.Sprintf("its backend %q can only be there from the start", backend)}
	}
	pass("logfile", "logappend")
	for _, p := range c.Props {
		if !used[p.Key] {
			return nil, &FixedError{What: "character device " + c.ID, Why: fmt.Sprintf("%q can only be set at the start", p.Key)}
		}
	}
	before, data := given(data)
	return append(before, step("chardev-add", "id", c.ID, "backend", qemu.Props{{Key: "type", Value: backend}, {Key: "data", Value: data}})), nil
}

// socketAddress is where a socket listens or leads to (SocketAddressLegacy).
func socketAddress(get func(string) any) qemu.Props {
	kind := "unix"
	var data qemu.Props
	switch fd, path := get("fd"), get("path"); {
	case fd != nil:
		kind, data = "fd", qemu.Props{{Key: "str", Value: fd}}
	case path != nil:
		data = qemu.Props{{Key: "path", Value: path}}
	default:
		kind, data = "inet", inet(get("host"), get("port"))
	}
	return qemu.Props{{Key: "type", Value: kind}, {Key: "data", Value: data}}
}

// inet is an address and a port, which QEMU takes as text.
func inet(host, port any) qemu.Props {
	p := qemu.Props{}
	if host != nil {
		p = p.With("host", fmt.Sprint(host))
	}
	if port != nil {
		p = p.With("port", fmt.Sprint(port))
	}
	return p
}
