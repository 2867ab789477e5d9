package launch

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"

	"taproom/internal/host"
)

// snapshot is a template in memory: the state of a machine's devices and what its memory holds, in a sealed file.
type snapshot struct {
	state  []byte
	memory *os.File
}

func (s *snapshot) close() error { return s.memory.Close() }

// A template on disk is a magic, the length of a header, the header, its checksum, the state, the pieces of memory that are
// not zero, and the checksum of both. Nothing follows.
const (
	snapshotMagic = "taproom template 1\n"
	mostHeader    = 1 << 20 // bytes
	mostState     = 64 << 20
	pageSize      = 4096
	copyPiece     = 1 << 20
)

// snapshotHeader says what follows.
type snapshotHeader struct {
	Key    string     `json:"key"`
	Memory int64      `json:"memory"` // bytes
	State  int64      `json:"state"`  // bytes
	Pieces [][2]int64 `json:"pieces"` // offset and length in memory, bytes
}

// errSnapshot says that a file is no template as it should be.
var errSnapshot = errors.New("is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errSnapshot}, args...)...)
}

// pieces lists what of a file is not zero, in whole pages.
func pieces(ctx context.Context, k *host.Kernel, f *os.File) ([][2]int64, error) {
	var out [][2]int64
	var buf []byte
	err := k.Extents(ctx, f, func(at, n int64) error {
		if want := min(copyPiece, n); int64(len(buf)) < want {
			buf = make([]byte, want)
		}
		for end := at + n; at < end; {
			b := buf[:min(int64(len(buf)), end-at)]
			if _, err := f.ReadAt(b, at); err != nil {
				return err
			}
			for o := int64(0); o < int64(len(b)); o += pageSize {
				page := b[o:min(o+pageSize, int64(len(b)))]
				if allZero(page) {
					continue
				}
				if last := len(out) - 1; last >= 0 && out[last][0]+out[last][1] == at+o {
					out[last][1] += int64(len(page))
				} else {
					out = append(out, [2]int64{at + o, int64(len(page))})
				}
			}
			at += int64(len(b))
		}
		return nil
	})
	return out, err
}

func allZero(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.NativeEndian.Uint64(b) != 0 {
			return false
		}
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// write writes a template to a file.
func (s *snapshot) write(ctx context.Context, k *host.Kernel, key string, to io.Writer) error {
	st, err := s.memory.Stat()
	if err != nil {
		return err
	}
	h := snapshotHeader{Key: key, Memory: st.Size(), State: int64(len(s.state))}
	if h.Pieces, err = pieces(ctx, k, s.memory); err != nil {
		return fmt.Errorf("look for what the template's memory holds: %w", err)
	}
	head, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(head) > mostHeader {
		return fmt.Errorf("the template's memory is in %d pieces, more than a file has room for", len(h.Pieces))
	}
	b := binary.LittleEndian.AppendUint32([]byte(snapshotMagic), uint32(len(head)))
	b = binary.LittleEndian.AppendUint32(append(b, head...), crc32.Checksum(head, castagnoli))
	if _, err := to.Write(b); err != nil {
		return err
	}
	sum := crc32.New(castagnoli)
	both := io.MultiWriter(sum, to)
	if _, err := both.Write(s.state); err != nil {
		return err
	}
	buf := make([]byte, copyPiece)
	for _, p := range h.Pieces {
		if _, err := io.CopyBuffer(struct{ io.Writer }{both}, io.NewSectionReader(s.memory, p[0], p[1]), buf); err != nil {
			return err
		}
	}
	_, err = to.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	return err
}

// readSnapshotHeader reads as far as the header and checks that it belongs to a key and a size of memory.
func readSnapshotHeader(from io.Reader, key string, memory int64) (snapshotHeader, error) {
	var h snapshotHeader
	b := make([]byte, len(snapshotMagic)+4)
	if _, err := io.ReadFull(from, b); err != nil || string(b[:len(snapshotMagic)]) != snapshotMagic {
		return h, damaged("it does not begin as a template")
	}
	n := binary.LittleEndian.Uint32(b[len(snapshotMagic):])
	if n > mostHeader {
		return h, damaged("its header would have %d bytes", n)
	}
	head := make([]byte, n+4)
	if _, err := io.ReadFull(from, head); err != nil {
		return h, damaged("its header is cut off")
	}
	if crc32.Checksum(head[:n], castagnoli) != binary.LittleEndian.Uint32(head[n:]) {
		return h, damaged("its header's checksum is wrong")
	}
	if err := json.Unmarshal(head[:n], &h); err != nil {
		return h, damaged("its header: %v", err)
	}
	if h.Key != key || h.Memory != memory {
		return h, damaged("it is of another appliance")
	}
	return h, h.check()
}

// check looks at numbers that a file claims.
func (h snapshotHeader) check() error {
	if h.State < 0 || h.State > mostState {
		return damaged("a state of %d bytes", h.State)
	}
	end := int64(0)
	for _, p := range h.Pieces {
		if p[0] < end || p[1] <= 0 || p[1] > h.Memory || p[0] > h.Memory-p[1] {
			return damaged("a piece of memory at %d with %d bytes", p[0], p[1])
		}
		end = p[0] + p[1]
	}
	return nil
}

// readSnapshot reads a template into memory and seals that. What is not whole, or belongs to another key, is errSnapshot.
func readSnapshot(k *host.Kernel, from io.Reader, key string, memory int64) (*snapshot, error) {
	h, err := readSnapshotHeader(from, key, memory)
	if err != nil {
		return nil, err
	}
	s := &snapshot{state: make([]byte, h.State)}
	sum := crc32.New(castagnoli)
	if _, err := io.ReadFull(from, s.state); err != nil {
		return nil, damaged("its state is cut off")
	}
	sum.Write(s.state)
	if s.memory, err = k.SealableMemory("appliance", memory); err != nil {
		return nil, err
	}
	if err = h.fill(s.memory, from, sum); err == nil {
		err = k.Seal(s.memory)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// fill reads the pieces of memory and what ends the file.
func (h snapshotHeader) fill(memory *os.File, from io.Reader, sum hash.Hash32) error {
	most := int64(0)
	for _, p := range h.Pieces {
		most = max(most, p[1])
	}
	buf := make([]byte, min(copyPiece, most))
	for _, p := range h.Pieces {
		for at, end := p[0], p[0]+p[1]; at < end; {
			b := buf[:min(int64(len(buf)), end-at)]
			if _, err := io.ReadFull(from, b); err != nil {
				return damaged("its memory is cut off")
			}
			sum.Write(b)
			if _, err := memory.WriteAt(b, at); err != nil {
				return err
			}
			at += int64(len(b))
		}
	}
	var end [4]byte
	if _, err := io.ReadFull(from, end[:]); err != nil || binary.LittleEndian.Uint32(end[:]) != sum.Sum32() {
		return damaged("its checksum is wrong")
	}
	if n, err := from.Read(end[:1]); n != 0 || !errors.Is(err, io.EOF) {
		return damaged("something follows it")
	}
	return nil
}
