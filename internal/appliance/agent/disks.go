package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/pid1"
	"taproom/internal/appliance/wire"
)

const (
	headSize     = 4096
	maxBlockTest = 256 << 20
	maxDisks     = 256
)

// disks are the block devices below a sysfs and a /dev.
type disks struct{ sys, dev string }

func hostDisks() disks { return disks{"/sys/block", "/dev"} }

// list describes every disk. One that cannot be read says so, and the others are described nevertheless.
func (d disks) list() []wire.Block {
	list := []wire.Block{}
	for _, name := range pid1.ReadNames(d.sys) {
		if strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "ram") || len(list) == maxDisks {
			continue
		}
		list = append(list, d.describe(name))
	}
	return list
}

func (d disks) describe(name string) wire.Block {
	sys := filepath.Join(d.sys, name)
	b := wire.Block{
		Name: name, Bytes: readInt(filepath.Join(sys, "size")) * 512, Serial: pid1.Serial(sys),
		Driver: driver(filepath.Join(sys, "device")), ReadOnly: readInt(filepath.Join(sys, "ro")) != 0,
		CDROM: strings.HasPrefix(name, "sr"),
	}
	if b.Bytes == 0 {
		b.Error = "no medium"
		return b
	}
	f, err := os.Open(filepath.Join(d.dev, name))
	if err != nil {
		b.Error = err.Error()
		return b
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		b.Error = err.Error()
		return b
	}
	sum := sha256.Sum256(head[:n])
	b.SHA256 = hex.EncodeToString(sum[:])
	return b
}

func (d disks) open(t wire.BlockTest, flags int) (*os.File, error) {
	if t.Name == "" || t.Name != filepath.Base(t.Name) || strings.HasPrefix(t.Name, ".") {
		return nil, fmt.Errorf("%q is not the name of a disk", t.Name)
	}
	if _, err := os.Stat(filepath.Join(d.sys, t.Name)); err != nil {
		return nil, fmt.Errorf("there is no disk %s", t.Name)
	}
	if t.Bytes <= 0 || t.Bytes > maxBlockTest || t.Offset < 0 {
		return nil, fmt.Errorf("test %d bytes at %d: at most %d, from 0 on", t.Bytes, t.Offset, int64(maxBlockTest))
	}
	f, err := os.OpenFile(filepath.Join(d.dev, t.Name), flags, 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(t.Offset, io.SeekStart); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// write puts a pattern on a disk and syncs it.
func (d disks) write(t wire.BlockTest) (wire.BlockTestResult, error) {
	f, err := d.open(t, os.O_WRONLY)
	if err != nil {
		return wire.BlockTestResult{}, err
	}
	defer f.Close()
	began := time.Now()
	sum := sha256.New()
	from := io.TeeReader(io.LimitReader(&pattern{seed: t.Seed}, t.Bytes), sum)
	if _, err := io.CopyBuffer(onlyWriter{f}, from, make([]byte, 256<<10)); err != nil {
		return wire.BlockTestResult{}, err
	}
	if err := f.Sync(); err != nil {
		return wire.BlockTestResult{}, err
	}
	return wire.BlockTestResult{SHA256: hex.EncodeToString(sum.Sum(nil)), Match: true, Seconds: time.Since(began).Seconds()}, nil
}

// read compares a disk with a pattern, past the guest's cache.
func (d disks) read(t wire.BlockTest) (wire.BlockTestResult, error) {
	f, err := d.open(t, os.O_RDONLY)
	if err != nil {
		return wire.BlockTestResult{}, err
	}
	defer f.Close()
	_ = unix.Fadvise(int(f.Fd()), t.Offset, t.Bytes, unix.FADV_DONTNEED)
	began := time.Now()
	sum, v := sha256.New(), &verifier{want: pattern{seed: t.Seed}}
	n, err := io.CopyBuffer(io.MultiWriter(sum, v), io.LimitReader(f, t.Bytes), make([]byte, 256<<10))
	if err != nil {
		return wire.BlockTestResult{}, err
	}
	return wire.BlockTestResult{
		SHA256: hex.EncodeToString(sum.Sum(nil)), Match: !v.wrong && n == t.Bytes, Seconds: time.Since(began).Seconds(),
	}, nil
}
