package bench

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/api/remote"
)

// answerer accepts one connection and answers every call as answer says, in pieces of the given size.
func answerer(t *testing.T, piece int, answer func(h remote.Header) []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		for {
			head := make([]byte, remote.HeaderSize)
			if _, err := io.ReadFull(nc, head); err != nil {
				return
			}
			if _, err := io.CopyN(io.Discard, nc, int64(binary.BigEndian.Uint32(head))-remote.HeaderSize); err != nil {
				return
			}
			b := answer(remote.ParseHeader(head))
			if b == nil {
				return
			}
			for len(b) > 0 {
				n := min(piece, len(b))
				if _, err := nc.Write(b[:n]); err != nil {
					return
				}
				b = b[n:]
			}
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return path
}

// well answers every call with a payload of n bytes.
func well(n int) func(remote.Header) []byte {
	return func(h remote.Header) []byte {
		h.Type = remote.Reply
		return remote.AppendRaw(nil, h, make([]byte, n))
	}
}

func TestAnAnswerIsReadWholeInWhateverPiecesItComes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ piece, size int }{{1, 40}, {3, 0}, {1 << 20, 40}, {7000, 300_000}} {
		w, err := dialWire(answerer(t, c.piece, well(c.size)))
		if err != nil {
			t.Fatal(err)
		}
		payload, err := w.ask(question{remote.ProcConnectListAllDomains, &remote.NeedFlags{Need: 1}}, 3)
		if err != nil || len(payload) != c.size {
			t.Errorf("pieces of %d: %d bytes, %v; want %d", c.piece, len(payload), err, c.size)
		}
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnAnswerThatIsNoneEndsTheMeasurement(t *testing.T) {
	t.Parallel()
	length := func(n uint32) func(remote.Header) []byte {
		return func(remote.Header) []byte {
			return append(binary.BigEndian.AppendUint32(nil, n), make([]byte, remote.HeaderSize)...)
		}
	}
	for name, c := range map[string]struct {
		answer func(remote.Header) []byte
		want   string
	}{
		"an error": {func(h remote.Header) []byte {
			h.Type, h.Status = remote.Reply, remote.Failed
			return remote.AppendRaw(nil, h, nil)
		}, "Status:1"},
		"another call's": {func(h remote.Header) []byte { h.Type, h.Serial = remote.Reply, 9; return remote.AppendRaw(nil, h, nil) }, "Serial:9"},
		"a length of 4":  {length(4), "it has 4 bytes"},
		"4 GiB":          {length(1<<32 - 1), "it has 4294967295 bytes"},
		"a closed door":  {func(remote.Header) []byte { return nil }, io.ErrUnexpectedEOF.Error()},
	} {
		_, err := dialWire(answerer(t, 1<<20, c.answer))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := dialWire(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("no socket: %v, want its path", err)
	}
}
