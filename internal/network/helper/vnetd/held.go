package vnetd

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"

	"taproom/internal/network/helper"
)

// held is what a network holds beside its lease file, by the descriptor's name: files, and sockets of services as what the
// services take.
type held map[string]io.Closer

// hold takes a descriptor that came from the daemon. The file is the result's from then on, or closed.
func hold(name string, f *os.File) (io.Closer, error) {
	kind, rest := helper.ParseDescriptor(name)
	if kind != helper.DescDNS && kind != helper.DescTFTP && kind != helper.DescForward {
		return f, nil
	}
	defer f.Close()
	if kind != helper.DescTFTP && len(rest) > 0 && rest[0] == "tcp" {
		l, err := net.FileListener(f)
		if err != nil {
			return nil, fmt.Errorf("use %s: %w", name, err)
		}
		return l, nil
	}
	c, err := net.FilePacketConn(f)
	if err != nil {
		return nil, fmt.Errorf("use %s: %w", name, err)
	}
	return c, nil
}

// index returns the link that the sockets are bound to, as their names tell; -1 for none.
func (h held) index() int {
	for name := range h {
		kind, rest := helper.ParseDescriptor(name)
		if kind == helper.DescFolder || len(rest) == 0 {
			continue
		}
		if i, err := strconv.Atoi(rest[len(rest)-1]); err == nil {
			return i
		}
	}
	return -1
}

// file returns the one file of a kind, or nil.
func (h held) file(kind string) *os.File {
	for name, c := range h {
		if k, _ := helper.ParseDescriptor(name); k == kind {
			f, _ := c.(*os.File)
			return f
		}
	}
	return nil
}

// sockets returns those of a kind, in the order of their names.
func (h held) sockets(of string) (udp []*net.UDPConn, tcp []*net.TCPListener, names []string) {
	for _, name := range h.names() {
		if kind, _ := helper.ParseDescriptor(name); kind != of {
			continue
		}
		names = append(names, name)
		switch c := h[name].(type) {
		case *net.UDPConn:
			udp = append(udp, c)
		case *net.TCPListener:
			tcp = append(tcp, c)
		}
	}
	return udp, tcp, names
}

// give returns duplicates of everything with their names; of what does not go into one message, the first. Whoever gets them
// makes the others anew.
func (h held) give() ([]string, []*os.File, error) {
	var files []*os.File
	names := h.names()
	names = names[:min(len(names), helper.MaxFiles)]
	for _, name := range names {
		f, err := duplicate(h[name])
		if err != nil {
			closeAll(files)
			return nil, nil, fmt.Errorf("duplicate %s: %w", name, err)
		}
		files = append(files, f)
	}
	return names, files, nil
}

func duplicate(c io.Closer) (*os.File, error) {
	switch c := c.(type) {
	case interface{ File() (*os.File, error) }:
		return c.File()
	case *os.File:
		fd, err := helper.Duplicate(c)
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), c.Name()), nil
	}
	return nil, fmt.Errorf("%T has no descriptor", c)
}

func (h held) names() []string {
	out := make([]string, 0, len(h))
	for name := range h {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// leave closes all of it, packet sockets after it has returned: for each of them the kernel waits for all processors, ten
// milliseconds or more, and whoever removes a network need not. Nobody else can want what such a socket is bound to.
func (t *networks) leave(h held) {
	for name, c := range h {
		if kind, _ := helper.ParseDescriptor(name); kind == helper.DescFrames {
			t.leaving.Go(func() { c.Close() })
		} else {
			c.Close()
		}
	}
}

// closeExcept closes what another one does not hold too.
func (h held) closeExcept(other held) {
	for name, c := range h {
		if other[name] != c {
			c.Close()
		}
	}
}
