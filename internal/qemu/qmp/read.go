package qmp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// lineReader returns lines of a bounded length. Its buffer starts small, because a daemon holds one per guest, and is
// given back after a long line.
type lineReader struct {
	r    *bufio.Reader
	most int
	long []byte
	part int // bytes of a line that did not come to its end, after an error
}

// partial is how many bytes of a line had come when reading failed.
func (l *lineReader) partial() int { return len(l.long) + l.part }

func newLineReader(r io.Reader, most int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 4096), most: most}
}

// next returns a line without its end, valid until the next call.
func (l *lineReader) next() ([]byte, error) {
	l.long = nil
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case len(l.long)+len(part) > l.most:
			return nil, fmt.Errorf("%w (%d bytes)", ErrLineTooLong, l.most)
		case err == nil && l.long == nil:
			return part[:len(part)-1], nil
		case err == nil:
			l.long = append(l.long, part...)
			return l.long[:len(l.long)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			l.long = append(l.long, part...)
		case errors.Is(err, io.EOF) && len(l.long)+len(part) == 0:
			return nil, ErrPeerClosed
		case errors.Is(err, io.EOF):
			return nil, ErrTruncated
		default:
			l.part = len(part)
			return nil, err
		}
	}
}
