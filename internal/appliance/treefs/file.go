package treefs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"sync"

	"taproom/internal/appliance/proto"
)

// What is asked for at a time, and how much of a file is kept, in bytes: each request takes a way to the appliance and back.
const (
	blockSize  = 256 << 10
	mostBlocks = 16
)

// file is an open regular file. Its methods may be called at the same time, but for Read.
type file struct {
	fs   *FS
	name string
	info *info
	at   int64

	mu     sync.Mutex
	blocks map[int64][]byte // by their number
	recent []int64          // the numbers of those, the last used last
}

// Stat implements fs.File.
func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements fs.File. The appliance keeps no file open.
func (f *file) Close() error { return nil }

// Read implements io.Reader.
func (f *file) Read(b []byte) (int, error) {
	n, err := f.ReadAt(b, f.at)
	f.at += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: fs.ErrInvalid}
	}
	done := 0
	for done < len(b) {
		at := off + int64(done)
		block, err := f.block(at / blockSize)
		if err != nil {
			return done, &fs.PathError{Op: "read", Path: f.name, Err: err}
		}
		within := at % blockSize
		if within >= int64(len(block)) {
			return done, io.EOF
		}
		n := copy(b[done:], block[within:])
		if done += n; done < len(b) && len(block) < blockSize {
			return done, io.EOF
		}
	}
	return done, nil
}

// block is a part of the file, from memory or from the appliance. Only the last one is shorter than the others.
func (f *file) block(n int64) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, k := range f.recent {
		if k == n {
			f.recent = append(append(f.recent[:i:i], f.recent[i+1:]...), n)
			return f.blocks[n], nil
		}
	}
	var b bytes.Buffer
	if err := f.fs.tree.Read(f.fs.ctx, proto.Read{Path: "/" + f.name, Offset: n * blockSize, Length: blockSize}, &b); err != nil {
		return nil, err
	}
	if f.blocks == nil {
		f.blocks = map[int64][]byte{}
	}
	if len(f.recent) == mostBlocks {
		delete(f.blocks, f.recent[0])
		f.recent = f.recent[1:]
	}
	f.blocks[n], f.recent = b.Bytes(), append(f.recent, n)
	return b.Bytes(), nil
}
