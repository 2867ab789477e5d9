package ovsdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxMessage bounds what is kept of the other side's words: a database of some ten thousand ports fits.
const maxMessage = 16 << 20

// message is a request, an answer or a notification.
type message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// messages cuts a stream into messages: they follow each other with nothing between.
type messages struct {
	d    *json.Decoder
	left *budget
}

// budget lets a message's bytes through and no more.
type budget struct {
	r io.Reader
	n int
}

// Read implements io.Reader.
func (b *budget) Read(p []byte) (int, error) {
	if b.n <= 0 {
		return 0, ErrTooLong
	}
	n, err := b.r.Read(p[:min(len(p), b.n)])
	b.n -= n
	return n, err
}

func newMessages(r io.Reader) *messages {
	left := &budget{r: r}
	return &messages{d: json.NewDecoder(left), left: left}
}

// next reads one message.
func (m *messages) next() (message, error) {
	m.left.n = maxMessage
	var msg message
	err := m.d.Decode(&msg)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		err = fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return msg, err
}

// number is the id of an answer to one of our requests.
func (m message) number() (int64, bool) {
	if m.Method != "" {
		return 0, false
	}
	return readAs[int64](m.ID)
}

// isNull reports whether a member is missing or null.
func isNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// Result is what an operation answered: the rows of a select, or how many rows another one met.
type Result struct {
	Rows  []Row `json:"rows"`
	Count int   `json:"count"`
}

// parseResults reads the answer to a transaction of n operations.
func parseResults(raw json.RawMessage, n int) ([]Result, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, malformed("a transaction was answered with %.40q", raw)
	}
	out := make([]Result, 0, n)
	for i, item := range list {
		if isNull(item) { // an earlier operation failed, and is found before
			break
		}
		var r struct {
			Result
			Error   *string `json:"error"`
			Details *string `json:"details"`
		}
		if err := json.Unmarshal(item, &r); err != nil {
			return nil, malformed("operation %d was answered with %.40q", i, item)
		}
		if r.Error != nil {
			e := &Error{Code: *r.Error, Op: i}
			if r.Details != nil {
				e.Details = *r.Details
			}
			return nil, e
		}
		out = append(out, r.Result)
	}
	if len(out) != n {
		return nil, malformed("%d operations got %d answers", n, len(out))
	}
	return out, nil
}

// Tables is what changed, by table and row.
type Tables map[string]map[UUID]Change

// Change is a row before and after, with the columns that are watched; of a change Old has only those that changed. nil is
// a row that is not there.
type Change struct {
	Old Row `json:"old"`
	New Row `json:"new"`
}

// parseUpdate reads the parameters of an "update" notification: what its monitor is called, and what changed.
func parseUpdate(raw json.RawMessage) (Tables, error) {
	var params []json.RawMessage
	var t Tables
	if json.Unmarshal(raw, &params) != nil || len(params) != 2 || json.Unmarshal(params[1], &t) != nil {
		return nil, malformed("an update says %.40q", raw)
	}
	return t, nil
}
