package engine

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

var errConsoleBusy = errors.New("somebody is connected")

// consoles are the open connections to a guest's character devices, one for each.
type consoles struct {
	mu   sync.Mutex
	open map[string]*consoleConn
}

// consoleConn is a connection that gives its place back when it is closed.
type consoleConn struct {
	io.ReadWriteCloser
	once  sync.Once
	leave func()
}

// Read implements io.Reader. A console that somebody took by force, and one whose guest is gone, has ended.
func (c *consoleConn) Read(b []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(b)
	if errors.Is(err, fs.ErrClosed) || errors.Is(err, net.ErrClosed) || errors.Is(err, unix.EIO) {
		err = io.EOF // EIO: nobody has the other end of the terminal
	}
	return n, err
}

// Close ends the connection; a second time does nothing.
func (c *consoleConn) Close() (err error) {
	c.once.Do(func() {
		err = c.ReadWriteCloser.Close()
		c.leave()
	})
	return err
}

// clear makes sure that nobody has a device: with force whoever has it is disconnected. It comes before the connection is
// made: QEMU lets one client wait at a socket, and one that is turned away would be that one.
func (cs *consoles) clear(device string, force bool) error {
	cs.mu.Lock()
	holder := cs.open[device]
	cs.mu.Unlock()
	switch {
	case holder == nil:
		return nil
	case !force:
		return errConsoleBusy
	}
	_ = holder.Close()
	return nil
}

// take gives a device to a connection.
func (cs *consoles) take(device string, conn io.ReadWriteCloser) (io.ReadWriteCloser, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.open[device] != nil {
		return nil, errConsoleBusy
	}
	c := &consoleConn{ReadWriteCloser: conn}
	c.leave = func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if cs.open[device] == c {
			delete(cs.open, device)
		}
	}
	if cs.open == nil {
		cs.open = map[string]*consoleConn{}
	}
	cs.open[device] = c
	return c, nil
}

// closeAll disconnects everybody: the guest is gone.
func (cs *consoles) closeAll() {
	cs.mu.Lock()
	var all []*consoleConn
	for _, c := range cs.open {
		all = append(all, c)
	}
	cs.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}
