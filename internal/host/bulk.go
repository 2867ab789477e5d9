package host

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// bulkPipe is how much a pipe holds that a guest's memory goes through: as much as a user without privileges may ask for.
const bulkPipe = 1 << 20

// bulkPiece is how much is written past the page cache at a time.
const bulkPiece = 4 << 20

// BulkPipe returns a pipe for a stream of gigabytes. Our end takes deadlines; the other, which another process gets, blocks.
// Both are closed on exec.
func (k *Kernel) BulkPipe(weRead bool) (ours, theirs *os.File, err error) {
	k.Step("pipe create")
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	_, _ = unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, bulkPipe) // a smaller one is slower, and does
	if !weRead {
		fds[0], fds[1] = fds[1], fds[0]
	}
	theirs = os.NewFile(uintptr(fds[1]), "pipe")
	err = unix.SetNonblock(fds[0], true)
	ours = os.NewFile(uintptr(fds[0]), "pipe")
	return ours, theirs, err
}

// Bulk is a file that a stream of gigabytes is written to or read from. One that bypasses the page cache leaves nothing
// in it: what was written is on the disk, and what was read is forgotten.
type Bulk struct {
	f      *os.File
	bypass bool
	done   int64 // bytes since the beginning of the file that were dealt with
	at     int64
}

// Bulk begins a stream at the position of an open file. The caller keeps the file.
func (k *Kernel) Bulk(f *os.File, at int64, bypass bool) *Bulk {
	k.Step("file stream " + filepath.Base(f.Name()))
	return &Bulk{f: f, bypass: bypass, at: at}
}

// Write implements io.Writer.
func (b *Bulk) Write(p []byte) (int, error) {
	n, err := b.f.Write(p)
	b.at += int64(n)
	if err == nil && b.at-b.done >= bulkPiece {
		err = b.Flush()
	}
	return n, err
}

// Read implements io.Reader.
func (b *Bulk) Read(p []byte) (int, error) {
	n, err := b.f.Read(p)
	b.at += int64(n)
	if b.bypass && b.at-b.done >= bulkPiece {
		b.forget()
	}
	return n, err
}

// Flush has what was written since the last time on the disk, and out of the page cache; without bypass it does nothing.
func (b *Bulk) Flush() error {
	if !b.bypass {
		return nil
	}
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	if err := unix.SyncFileRange(int(b.f.Fd()), b.done, b.at-b.done, all); err != nil && err != unix.ESPIPE && err != unix.EINVAL {
		return &os.PathError{Op: "write", Path: b.f.Name(), Err: err} // the others are files that have no pages
	}
	b.forget()
	return nil
}

func (b *Bulk) forget() {
	_ = unix.Fadvise(int(b.f.Fd()), b.done, b.at-b.done, unix.FADV_DONTNEED) // advice
	b.done = b.at
}

// WriteAt writes into an open file.
func (k *Kernel) WriteAt(f *os.File, p []byte, at int64) error {
	k.Step("file write " + filepath.Base(f.Name()))
	_, err := f.WriteAt(p, at)
	return err
}
