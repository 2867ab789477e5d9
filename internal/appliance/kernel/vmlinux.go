package kernel

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"taproom/internal/appliance/cache"
)

// errNoPVH is returned for a kernel that QEMU can only boot from its compressed image.
var errNoPVH = errors.New("kernel has no PVH entry")

const (
	// Offsets in the first sectors of a bzImage, from the kernel's Documentation/arch/x86/boot.rst.
	setupSectsAt    = 0x1f1
	bootMagicAt     = 0x202
	payloadOffsetAt = 0x248
	payloadLengthAt = 0x24c
	bootMagic       = "HdrS"
	// The ELF note that holds the PVH entry point: XEN_ELFNOTE_PHYS32_ENTRY.
	pvhNote    = 18
	maxBzImage = 256 << 20
	maxVmlinux = 1 << 30
)

// extractVmlinux writes the ELF kernel that is packed in a bzImage. QEMU enters it directly (PVH), which saves the
// guest the decompression: seconds without KVM, tens of milliseconds with.
func extractVmlinux(ctx context.Context, bzImage, vmlinux string) error {
	image, err := readBounded(bzImage, maxBzImage)
	if err != nil {
		return err
	}
	payload, err := bzImagePayload(image)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", bzImage, err)
	}
	kernel, err := decompress(ctx, payload)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", bzImage, err)
	}
	if err := CheckPVH(kernel); err != nil {
		return fmt.Errorf("unpack %s: %w", bzImage, err)
	}
	return cache.WriteFile(vmlinux, kernel)
}

func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return b, err
}

// bzImagePayload returns the compressed kernel.
func bzImagePayload(image []byte) ([]byte, error) {
	if len(image) < payloadLengthAt+4 || string(image[bootMagicAt:bootMagicAt+4]) != bootMagic {
		return nil, errors.New("it is not a bzImage")
	}
	sectors := uint64(image[setupSectsAt])
	if sectors == 0 {
		sectors = 4
	}
	start := (sectors+1)*512 + uint64(binary.LittleEndian.Uint32(image[payloadOffsetAt:]))
	end := start + uint64(binary.LittleEndian.Uint32(image[payloadLengthAt:]))
	if start >= end || end > uint64(len(image)) {
		return nil, fmt.Errorf("its payload is at %d to %d of %d bytes", start, end, len(image))
	}
	return image[start:end], nil
}

// decompress unpacks what the kernel's build packed. The kernel appends four bytes of length to most formats, which
// are no part of the stream and must not disturb.
func decompress(ctx context.Context, b []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(b, []byte("\x7fELF")):
		return b, nil
	case bytes.HasPrefix(b, []byte{0x1f, 0x8b}):
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		r.Multistream(false)
		return readAll(r)
	case bytes.HasPrefix(b, []byte("BZh")):
		return readAll(bzip2.NewReader(bytes.NewReader(b)))
	case bytes.HasPrefix(b, []byte("\xfd7zXZ\x00")):
		return pipe(ctx, b, "xz", "--decompress", "--stdout", "--single-stream")
	case bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return pipe(ctx, b[:len(b)-4], "zstd", "--decompress", "--stdout", "--memory=128MB")
	case bytes.HasPrefix(b, []byte{0x02, 0x21, 0x4c, 0x18}):
		return pipe(ctx, b[:len(b)-4], "lz4", "--decompress", "--stdout")
	case bytes.HasPrefix(b, []byte{0x5d, 0, 0}):
		return pipe(ctx, b[:len(b)-4], "xz", "--format=lzma", "--decompress", "--stdout")
	}
	return nil, fmt.Errorf("compression that begins with % x is not known", b[:min(6, len(b))])
}

func readAll(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxVmlinux+1))
	if err == nil && len(b) > maxVmlinux {
		err = fmt.Errorf("it unpacks to more than %d bytes", maxVmlinux)
	}
	return b, err
}

// pipe runs a program that the distribution has for a format that Go's library has not.
func pipe(ctx context.Context, in []byte, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w; install the package %s", err, packageOf(name))
	}
	b, readErr := readAll(out)
	if readErr != nil {
		_ = cmd.Process.Kill()
	}
	if err := cmd.Wait(); err != nil && readErr == nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return b, readErr
}

func packageOf(program string) string {
	if program == "xz" {
		return "xz-utils"
	}
	return program
}

// CheckPVH reports whether QEMU can enter an ELF kernel directly.
func CheckPVH(kernel []byte) error {
	f, err := elf.NewFile(bytes.NewReader(kernel))
	if err != nil {
		return fmt.Errorf("what is packed in it is no ELF file: %w", err)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > 1<<20 {
			continue
		}
		notes := make([]byte, p.Filesz)
		if _, err := p.ReadAt(notes, 0); err != nil {
			return fmt.Errorf("read ELF notes: %w", err)
		}
		if hasNote(notes, f.ByteOrder, "Xen", pvhNote) {
			return nil
		}
	}
	return errNoPVH
}

func hasNote(b []byte, order binary.ByteOrder, name string, kind uint32) bool {
	for len(b) >= 12 {
		nameSize, size, k := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:])), order.Uint32(b[8:])
		next := 12 + (nameSize+3)&^3 + (size+3)&^3
		if next > uint64(len(b)) {
			return false
		}
		if k == kind && string(bytes.TrimRight(b[12:12+nameSize], "\x00")) == name {
			return true
		}
		b = b[next:]
	}
	return false
}
