package qmp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Version is what QEMU says about itself in its greeting and in query-version.
type Version struct {
	QEMU struct {
		Major int `json:"major"`
		Minor int `json:"minor"`
		Micro int `json:"micro"`
	} `json:"qemu"`
	Package string `json:"package"`
}

// String returns "7.2.22".
func (v Version) String() string {
	return fmt.Sprintf("%d.%d.%d", v.QEMU.Major, v.QEMU.Minor, v.QEMU.Micro)
}

// Greeting is QEMU's first message.
type Greeting struct {
	Version      Version  `json:"version"`
	Capabilities []string `json:"capabilities"`
}

// Event is something that happened in QEMU.
type Event struct {
	Name string
	Data json.RawMessage // nil when the event carries none
	Time time.Time       // QEMU's clock; zero when it could not tell
}

type kind int

const (
	kindGreeting kind = iota + 1
	kindReturn
	kindError
	kindEvent
)

// message is one parsed line.
type message struct {
	kind     kind
	id       uint64
	hasID    bool
	greeting Greeting
	ret      json.RawMessage
	err      Error
	event    Event
}

type wireMessage struct {
	QMP    json.RawMessage `json:"QMP"`
	Return json.RawMessage `json:"return"`
	Error  *struct {
		Class string `json:"class"`
		Desc  string `json:"desc"`
	} `json:"error"`
	Event     string          `json:"event"`
	Data      json.RawMessage `json:"data"`
	Timestamp struct {
		Seconds      int64 `json:"seconds"`
		Microseconds int64 `json:"microseconds"`
	} `json:"timestamp"`
	ID *uint64 `json:"id"`
}

// parse reads one line. It copies what it keeps.
func parse(line []byte) (message, error) {
	var w wireMessage
	if err := json.Unmarshal(line, &w); err != nil {
		return message{}, fmt.Errorf("%w: %w: %s", ErrMalformed, err, excerpt(line))
	}
	var m message
	if w.ID != nil {
		m.id, m.hasID = *w.ID, true
	}
	kinds := 0
	if len(w.QMP) > 0 {
		kinds, m.kind = kinds+1, kindGreeting
		if err := json.Unmarshal(w.QMP, &m.greeting); err != nil {
			return message{}, fmt.Errorf("%w: greeting: %w", ErrMalformed, err)
		}
	}
	if len(w.Return) > 0 {
		kinds, m.kind, m.ret = kinds+1, kindReturn, w.Return
	}
	if w.Error != nil {
		kinds, m.kind, m.err = kinds+1, kindError, Error{Class: w.Error.Class, Desc: w.Error.Desc}
	}
	if w.Event != "" {
		kinds, m.kind = kinds+1, kindEvent
		m.event = Event{Name: w.Event, Data: w.Data}
		if w.Timestamp.Seconds > 0 && w.Timestamp.Microseconds >= 0 {
			m.event.Time = time.Unix(w.Timestamp.Seconds, w.Timestamp.Microseconds*1000)
		}
	}
	if kinds != 1 {
		return message{}, fmt.Errorf("%w: neither greeting, return, error nor event alone: %s", ErrMalformed, excerpt(line))
	}
	return m, nil
}

// excerpt quotes the beginning of a line that could not be understood.
func excerpt(line []byte) string {
	const most = 80
	line = bytes.TrimSpace(line)
	if len(line) > most {
		return fmt.Sprintf("%q…", line[:most])
	}
	return fmt.Sprintf("%q", line)
}

// encode appends one command as a line.
func encode(buf []byte, id uint64, c Command) ([]byte, error) {
	b, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
		ID        uint64 `json:"id"`
	}{c.Name, c.Args, id})
	if err != nil {
		return buf, fmt.Errorf("encode arguments of QMP command %s: %w", c.Name, err)
	}
	return append(append(buf, b...), '\n'), nil
}
