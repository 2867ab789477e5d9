package proto

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// guestDouble answers requests, in ways that a guest should not.
func guestDouble(t *testing.T, answer func(f Frame, w io.Writer) error) *Client {
	t.Helper()
	host, guest := wires(t)
	return doubleOn(t, host, guest, answer)
}

func doubleOn(t *testing.T, host, guest net.Conn, answer func(f Frame, w io.Writer) error) *Client {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		frames := NewFrameReader(guest)
		for {
			f, err := frames.Next()
			if err == nil && f.Kind == KindRequest {
				err = answer(f, guest)
			}
			if err != nil {
				return
			}
		}
	}()
	c := NewClient(host)
	t.Cleanup(func() {
		_ = c.Close()
		_ = guest.Close()
		<-done
	})
	return c
}

func send(w io.Writer, frames ...Frame) error {
	for _, f := range frames {
		if _, err := w.Write(f.Append(nil)); err != nil {
			return err
		}
	}
	return nil
}

func message(t *testing.T, m Message) []byte {
	t.Helper()
	b, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each of these guests breaks its own connection, and whoever waits is told why.
func TestAGuestThatDoesNotKeepToTheProtocolIsCutOff(t *testing.T) {
	t.Parallel()
	flood := Frame{Kind: KindData, Sub: StreamOut, Payload: make([]byte, MaxData)}
	for name, c := range map[string]struct {
		answer func(f Frame, w io.Writer) error
		want   error
		says   string
	}{
		"answers what was not asked": {func(f Frame, w io.Writer) error {
			return send(w, Frame{Kind: KindAnswer, ID: f.ID + 7})
		}, ErrFrame, "not in flight"},
		"answers twice": {func(f Frame, w io.Writer) error {
			return send(w, Frame{Kind: KindProgress, ID: f.ID, Payload: message(t, &Progress{1, 2})},
				Frame{Kind: KindAnswer, ID: f.ID + 1}, Frame{Kind: KindAnswer, ID: f.ID})
		}, ErrFrame, "not in flight"},
		"sends noise": {func(_ Frame, w io.Writer) error {
			_, err := w.Write(bytes.Repeat([]byte("noise"), 100))
			return err
		}, ErrFrame, "header"},
		"announces more than a frame may hold": {func(f Frame, w io.Writer) error {
			b := Frame{Kind: KindAnswer, ID: f.ID}.Append(nil)
			copy(b[8:], "\xff\xff\xff\xff")
			_, err := w.Write(b)
			return err
		}, ErrFrame, "at most"},
		"speaks another version": {func(f Frame, w io.Writer) error {
			b := Frame{Kind: KindAnswer, ID: f.ID}.Append(nil)
			b[1] = Version + 1
			_, err := w.Write(b)
			return err
		}, ErrVersion, "the other side speaks version 3, this one 2"},
		"makes requests": {func(f Frame, w io.Writer) error {
			return send(w, Frame{Kind: KindRequest, Sub: uint8(OpPing), ID: f.ID})
		}, ErrFrame, "kind 1"},
		"floods a stream": {func(f Frame, w io.Writer) error {
			flood.ID = f.ID
			for {
				if err := send(w, flood); err != nil {
					return err
				}
			}
		}, ErrFrame, "more data than was granted"},
		"sends on a stream that the request has not": {func(f Frame, w io.Writer) error {
			return send(w, Frame{Kind: KindData, Sub: StreamErr, ID: f.ID, Payload: []byte("x")})
		}, ErrFrame, "stream 2"},
		"sends on a stream that does not exist": {func(f Frame, w io.Writer) error {
			return send(w, Frame{Kind: KindData, Sub: 200, ID: f.ID, Payload: []byte("x")})
		}, ErrFrame, "stream 200"},
		"goes on after the end of a stream": {func(f Frame, w io.Writer) error {
			return send(w, Frame{Kind: KindData, Sub: StreamOut, ID: f.ID}, Frame{Kind: KindData, Sub: StreamOut, ID: f.ID, Payload: []byte("x")})
		}, ErrFrame, "after the end"},
		"grants more than the window": {func(f Frame, w io.Writer) error {
			return send(w, Frame{Kind: KindCredit, Sub: StreamIn, ID: f.ID, Payload: message(t, &Credit{1 << 31})})
		}, ErrFrame, "beyond the window"},
		"answers with half a message": {func(f Frame, w io.Writer) error {
			return send(w, Frame{Kind: KindAnswer, ID: f.ID, Payload: []byte("abc")})
		}, ErrMessage, "too early"},
		"fails with half a message": {func(f Frame, w io.Writer) error {
			return send(w, Frame{Kind: KindFailure, ID: f.ID, Payload: []byte("abc")})
		}, ErrMessage, "too early"},
		"gives up": {func(_ Frame, w io.Writer) error {
			return send(w, Frame{Kind: KindFailure, Payload: message(t, &Failure{71, "no sense"})})
		}, ErrBroken, "no sense"},
		"dies": {func(Frame, io.Writer) error { return io.EOF }, io.EOF, "gone"},
		"dies in the middle of it": {func(f Frame, w io.Writer) error {
			_, _ = w.Write(Frame{Kind: KindAnswer, ID: f.ID, Payload: make([]byte, 100)}.Append(nil)[:50])
			return io.EOF
		}, io.ErrUnexpectedEOF, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, guest := wires(t)
			client := doubleOn(t, host, guest, func(f Frame, w io.Writer) error {
				err := c.answer(f, w)
				if errors.Is(err, io.EOF) {
					_ = guest.Close()
				}
				return err
			})
			s := Stat{}
			err := client.do(timeout(t), request{op: OpStat, result: &s, in: strings.NewReader("input"), out: io.Discard})
			if !errors.Is(err, ErrBroken) || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v; want that the connection is broken, %v, and %q", err, c.want, c.says)
			}
			if err := client.Ping(timeout(t)); !errors.Is(err, ErrBroken) {
				t.Errorf("the next request: %v, want that the connection is broken", err)
			}
		})
	}
}

func TestAListingThatWouldLeadOutOfAFolderIsALie(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "..", "../etc/passwd", "a/b", "a\x00b", strings.Repeat("x", maxName+1)} {
		c := guestDouble(t, func(f Frame, w io.Writer) error {
			b, err := AppendEntry(nil, &Entry{Name: name})
			if err != nil {
				return err
			}
			return send(w, Frame{Kind: KindData, Sub: StreamOut, ID: f.ID, Payload: b}, Frame{Kind: KindAnswer, ID: f.ID})
		})
		if list, err := c.List(timeout(t), "/"); !errors.Is(err, ErrMessage) || len(list) > 0 || c.Err() == nil {
			t.Errorf("%q: %v, %v; want an error, and the connection broken", name, list, err)
		}
	}
}

func TestAFileThatIsLongerThanWasAskedForIsALie(t *testing.T) {
	t.Parallel()
	for _, length := range []int64{0, 10} {
		c := guestDouble(t, func(f Frame, w io.Writer) error {
			return send(w, Frame{Kind: KindData, Sub: StreamOut, ID: f.ID, Payload: make([]byte, length+1)}, Frame{Kind: KindAnswer, ID: f.ID})
		})
		var got bytes.Buffer
		if err := c.Read(timeout(t), Read{Path: "/x", Length: length}, &got); !errors.Is(err, ErrMessage) || int64(got.Len()) > length || c.Err() == nil {
			t.Errorf("%d bytes were asked for, got %d, %v; want an error, and the connection broken", length, got.Len(), err)
		}
	}
}

// A guest that sends and sends, and takes nothing of what it is told, must not have the host keep that for it.
func TestAGuestThatTakesNoCreditIsCutOff(t *testing.T) {
	t.Parallel()
	host, guest := net.Pipe() // without a buffer: what is not read is not taken
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := NewFrameReader(guest).Next(); err != nil {
			return
		}
		for send(guest, Frame{Kind: KindData, Sub: StreamOut, ID: 1, Payload: make([]byte, MaxData)}) == nil {
		}
	}()
	c := NewClient(host)
	err := c.Read(timeout(t), Read{Path: "/x", Length: -1}, io.Discard)
	if !errors.Is(err, ErrFrame) {
		t.Errorf("got %v, want an error", err)
	}
	_ = c.Close()
	_ = guest.Close()
	<-done
}

// quiet is a guest that answers one ping and nothing after that.
func quiet(answered *int) func(f Frame, w io.Writer) error {
	return func(f Frame, w io.Writer) error {
		*answered++
		if *answered > 1 {
			return nil
		}
		return send(w, Frame{Kind: KindAnswer, ID: f.ID})
	}
}

func TestAGuestThatStallsIsFoundOutAndOneThatIsSlowIsNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		host, guest := net.Pipe()
		asked := 0
		c := doubleOn(t, host, guest, quiet(&asked))
		if err := c.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour) // nobody asks: nobody worries, and the guest is left alone
		if err := c.Err(); err != nil || asked != 1 {
			t.Fatalf("after an hour in which nothing was asked: %v, the guest was asked %d times", err, asked)
		}
		began := time.Now()
		_, err := c.Stat(t.Context(), Path{})
		if took := time.Since(began); !errors.Is(err, ErrStalled) || took < DefaultStall || took > DefaultStall+2*DefaultBeat {
			t.Errorf("got %v after %v, want a stall after %v", err, took, DefaultStall)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		host, guest := net.Pipe()
		c := doubleOn(t, host, guest, func(f Frame, w io.Writer) error {
			if f.Kind == KindRequest && Op(f.Sub) != OpPing {
				go func() {
					<-time.After(10 * DefaultStall)
					_ = send(w, Frame{Kind: KindAnswer, ID: f.ID, Payload: message(t, &Statfs{})})
				}()
				return nil
			}
			return send(w, Frame{Kind: KindAnswer, ID: f.ID})
		})
		if err := c.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Statfs(t.Context(), "/"); err != nil {
			t.Errorf("a guest that is slow and answers its pings: %v", err)
		}
	})
}

func TestAGuestThatHasNotBootedIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		host, guest := net.Pipe()
		c := doubleOn(t, host, guest, func(f Frame, w io.Writer) error {
			<-time.After(3 * DefaultStall)
			return send(w, Frame{Kind: KindAnswer, ID: f.ID})
		})
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAGuestThatTakesNothingHoldsNobodyBeyondHisTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		host, guest := net.Pipe() // without a buffer: the first byte is not taken
		c := NewClient(host)
		stop := errors.New("stop")
		for range 3 {
			ctx, cancel := contextWithCause(t, time.Second, stop)
			if err := c.Ping(ctx); !errors.Is(err, stop) {
				t.Errorf("got %v, want %v", err, stop)
			}
			cancel()
		}
		_ = c.Close()
		_ = guest.Close()
	})
}

func TestAGuestThatNeverEndsWhatWasGivenUpFillsItsOwnPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		host, guest := net.Pipe()
		c := doubleOn(t, host, guest, func(Frame, io.Writer) error { return nil })
		for range MaxInFlight - 1 {
			ctx, cancel := contextWithCause(t, time.Second, errCancelled)
			if err := c.Ping(ctx); !errors.Is(err, errCancelled) {
				t.Fatalf("got %v", err)
			}
			cancel()
		}
		if err := c.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "in flight") {
			t.Errorf("one more than there are places: %v", err)
		}
	})
}

func TestTheServerRefusesWhatAHostShouldNotSend(t *testing.T) {
	t.Parallel()
	for name, frames := range map[string][]byte{
		"noise":           []byte("no frame at all"),
		"another version": {mark, 9, byte(KindRequest), byte(OpPing), 1, 0, 0, 0, 0, 0, 0, 0},
		"data for a stream from the guest": append(Frame{Kind: KindRequest, Sub: uint8(opHang), ID: 1}.Append(nil),
			Frame{Kind: KindData, Sub: StreamOut, ID: 1, Payload: []byte("x")}.Append(nil)...),
		"more than was granted": append(Frame{Kind: KindRequest, Sub: uint8(opHang), ID: 1}.Append(nil),
			bytes.Repeat(Frame{Kind: KindData, Sub: StreamIn, ID: 1, Payload: make([]byte, MaxData)}.Append(nil), 5)...),
		"the same request twice": bytes.Repeat(Frame{Kind: KindRequest, Sub: uint8(opHang), ID: 1}.Append(nil), 2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, guest := wires(t)
			s := &Server{Handlers: map[Op]Handler{opHang: hang}}
			done := make(chan error, 1)
			go func() { done <- s.Serve(t.Context(), guest) }()
			if _, err := host.Write(frames); err != nil {
				t.Fatal(err)
			}
			r := NewFrameReader(host)
			f, err := r.Next()
			for err == nil && f.ID != 0 {
				f, err = r.Next()
			}
			var m Failure
			if err != nil || f.Kind != KindFailure || Decode(f.Payload, &m) != nil || m.Errno != uint32(syscall.EPROTO) {
				t.Errorf("got %+v, %v, want a failure of the connection", f, err)
			}
			if err := <-done; !errors.Is(err, ErrFrame) && !errors.Is(err, ErrVersion) {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
}
