package main

import (
	"bytes"
	"io"
	"sync"
)

// lines is a writer shared by several programs, each of which writes whole lines.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

// writer returns the end for a program. Close completes and writes its last line.
func (l *lines) writer() io.WriteCloser { return &lineWriter{to: l} }

type lineWriter struct {
	to   *lines
	rest []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	w.to.mu.Lock()
	defer w.to.mu.Unlock()
	_, err := w.to.w.Write(w.rest[:end])
	w.rest = append(w.rest[:0], w.rest[end:]...)
	return len(p), err
}

func (w *lineWriter) Close() error {
	if len(w.rest) == 0 {
		return nil
	}
	_, err := w.Write([]byte{'\n'})
	return err
}
