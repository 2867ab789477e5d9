package launch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
)

// keptOutput is how much of what QEMU and its guest's kernel said is kept, in bytes: the end of it.
const keptOutput = 8 << 10

// output reads what a QEMU and its guest's console say, as long as somebody can say something. What a guest floods it with
// is forgotten.
type output struct {
	from io.ReadCloser
	done chan struct{}

	mu    sync.Mutex
	last  []byte
	first time.Time // when the first byte came
	init  time.Time // when the kernel said initMarker
}

// initMarker is what a kernel that is not told to be quiet says when it begins its first process.
const initMarker = "Run /init as init process"

func readOutput(from io.ReadCloser) *output {
	o := &output{from: from, done: make(chan struct{})}
	go o.read()
	return o
}

func (o *output) read() {
	defer close(o.done)
	buf := make([]byte, 4096)
	for {
		n, err := o.from.Read(buf)
		if n > 0 {
			o.add(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (o *output) add(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first.IsZero() {
		o.first = time.Now()
	}
	o.last = append(o.last, b...)
	if o.init.IsZero() && bytes.Contains(o.last, []byte(initMarker)) {
		o.init = time.Now()
	}
	if over := len(o.last) - keptOutput; over > 0 {
		o.last = append(o.last[:0], o.last[over:]...)
	}
}

// spokeAt is when the first byte came, and when the kernel began its first process; zero where nothing said so.
func (o *output) spokeAt() (first, init time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first, o.init
}

// shown is how much of it is in an error.
const shown = 2 << 10

// tail is the end of what was said, as one line that is fit for a message: a guest must not write on somebody's terminal.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := string(o.last[max(0, len(o.last)-shown):])
	s = strings.ToValidUTF8(strings.TrimSpace(strings.ReplaceAll(s, "\r", "")), "?")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ';'
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, s)
}

// close ends the reading. What is still said goes nowhere.
func (o *output) close() {
	_ = o.from.Close()
	<-o.done
}

// lastWords adds to an error what a machine and its guest said last, when it is gone; ended says that.
func lastWords(ctx context.Context, err error, gone <-chan struct{}, o *output, ended func(context.Context) string) error {
	const soon = time.Second // it hung up, and may still be on its way out
	wait := time.NewTimer(soon)
	defer wait.Stop()
	select {
	case <-gone:
	case <-wait.C:
		return err
	}
	if words := o.tail(); words != "" {
		return fmt.Errorf("%s: %w; the last that it and its guest said: %s", ended(ctx), err, words)
	}
	return fmt.Errorf("%s, and nothing was said: %w", ended(ctx), err)
}
