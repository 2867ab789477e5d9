package pool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"taproom/internal/appliance/admission"
	"taproom/internal/appliance/launch"
	"taproom/internal/host"
	"taproom/internal/version"
)

// protocolVersion changes with what a request or an answer means. It is in the key of a pool, and in each request, since the
// program that was found to run the pool may be of another build than its client.
const protocolVersion = 1

// Bounds of a message: one line of JSON, with the descriptors of a parcel.
const (
	mostLine  = 64 << 10 // bytes
	mostFiles = 16
)

// What can be asked for.
const (
	opTake   = "take"   // an appliance
	opStatus = "status" // how the pool is
	opStop   = "stop"   // that it ends
)

type request struct {
	Protocol int    `json:"protocol"`
	Handed   int    `json:"handed"` // launch.HandOverVersion
	Op       string `json:"op"`
	Wait     bool   `json:"wait,omitempty"` // for memory
}

func newRequest(op string) request {
	return request{Protocol: protocolVersion, Handed: launch.HandOverVersion, Op: op}
}

// check refuses what another build means by it.
func (q request) check() error {
	if q.Protocol != protocolVersion || q.Handed != launch.HandOverVersion {
		return fmt.Errorf("the pool is run by another build of taproom (%s): it speaks version %d.%d of the protocol and not %d.%d; use programs of one build",
			version.Version, protocolVersion, launch.HandOverVersion, q.Protocol, q.Handed)
	}
	return nil
}

type reply struct {
	Error  string            `json:"error,omitempty"`
	Ending bool              `json:"ending,omitempty"`  // the error is that the pool is on its way out
	NoRoom *admission.Ledger `json:"no_room,omitempty"` // the error is that there is no memory
	Facts  json.RawMessage   `json:"facts,omitempty"`   // of the appliance whose descriptors come along
	Status *Status           `json:"status,omitempty"`
}

// failure puts an error into a reply.
func failure(err error) reply {
	r := reply{Error: err.Error(), Ending: errors.Is(err, ErrEnding)}
	var no *admission.NoRoom
	if errors.As(err, &no) {
		r.NoRoom = &no.Ledger
	}
	return r
}

// err takes it out again.
func (r reply) err() error {
	switch {
	case r.NoRoom != nil:
		return &admission.NoRoom{Ledger: *r.NoRoom}
	case r.Ending:
		return ErrEnding
	case r.Error != "":
		return errors.New(r.Error)
	}
	return nil
}

// send writes one message.
func send(k *host.Kernel, c net.Conn, m any, files []*os.File) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if b = append(b, '\n'); len(b) > mostLine {
		return fmt.Errorf("a message of %d bytes, %d allowed", len(b), mostLine)
	}
	if len(files) == 0 {
		_, err = c.Write(b)
		return err
	}
	return k.SendFiles(c, b, files...)
}

// receive reads one message, and the descriptors that came with it, which are the caller's.
func receive(k *host.Kernel, c net.Conn, m any) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			(&Parcel{Files: files}).Close()
			files = nil
		}
	}()
	var line []byte
	buf := make([]byte, 4096)
	for {
		n, more, err := k.ReceiveFiles(c, buf, mostFiles)
		files = append(files, more...)
		if err != nil {
			return files, err
		}
		if n == 0 {
			return files, io.EOF
		}
		line = append(line, buf[:n]...)
		if len(line) > mostLine || len(files) > mostFiles {
			return files, fmt.Errorf("a message of more than %d bytes or %d descriptors", mostLine, mostFiles)
		}
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			if i != len(line)-1 {
				return files, errors.New("something follows the message")
			}
			return files, json.Unmarshal(line, m)
		}
	}
}
