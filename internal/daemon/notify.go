package daemon

import (
	"fmt"
	"net"
	"os"
)

// notify tells whoever started the daemon what it is at (sd_notify(3)), where that one asked to be told.
func notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	c, err := net.Dial("unixgram", path)
	if err != nil {
		return fmt.Errorf("tell the service manager %q: %w", state, err)
	}
	defer c.Close()
	_, err = c.Write([]byte(state))
	return err
}
