package chain

import (
	"errors"
	"fmt"
	"io"

	"taproom/internal/image/qcow2"
)

// Beside names the parts of an image that copies of its disk lack. A format of "" is looked for.
func Beside(r io.ReaderAt, format string) (list []string, err error) {
	if format != "" && format != QCOW2 {
		return nil, nil
	}
	h, err := qcow2.Read(r)
	if errors.Is(err, qcow2.ErrFormat) && format == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if h.Snapshots > 0 {
		list = append(list, fmt.Sprintf("%d internal snapshots", h.Snapshots))
	}
	if h.Bitmaps > 0 {
		list = append(list, fmt.Sprintf("%d persistent bitmaps", h.Bitmaps))
	}
	if h.External {
		list = append(list, "a file of its own for its data")
	}
	return list, nil
}
