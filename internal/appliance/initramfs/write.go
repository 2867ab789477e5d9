// Package initramfs writes the archive that a kernel unpacks into memory when it starts.
package initramfs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/u-root/u-root/pkg/cpio"
)

// Write writes an archive of records, folders before their files. Equal records give equal bytes. It is not compressed:
// unpacking costs a guest without KVM more than reading.
func Write(w io.Writer, list []cpio.Record) error {
	for i := range list {
		list[i].Ino = uint64(i + 1)
		list[i].NLink = 1
	}
	b := bufio.NewWriterSize(w, 256<<10)
	archive := cpio.Newc.Writer(b)
	if err := cpio.WriteRecords(archive, list); err != nil {
		return fmt.Errorf("write initramfs: %w", err)
	}
	if err := cpio.WriteTrailer(archive); err != nil {
		return fmt.Errorf("write initramfs: %w", err)
	}
	return b.Flush()
}

// ReadAgent reads the program that is to be a guest's first process.
func ReadAgent(path string) ([]byte, error) {
	agent, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the guest's agent: %w", err)
	}
	if !bytes.HasPrefix(agent, []byte("\x7fELF")) {
		return nil, fmt.Errorf("read the guest's agent: %s is not a program", path)
	}
	return agent, nil
}
