package proto

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testOps are operations that only tests' servers have.
const (
	opEcho Op = 200 + iota
	opHang
)

// hang waits until it is cancelled.
func hang(ctx context.Context, _ *Call) (Message, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// echo sends back what it gets.
func echo(_ context.Context, r *Call) (Message, error) {
	_, err := io.Copy(r.Out(StreamOut), r.In())
	return nil, err
}

func TestAnswersComeInAnyOrder(t *testing.T) {
	t.Parallel()
	ctx := timeout(t)
	second := make(chan struct{})
	c := pair(t, map[Op]Handler{
		OpStatfs: func(context.Context, *Call) (Message, error) {
			<-second
			return &Statfs{Blocks: 1}, nil
		},
		OpStat: func(_ context.Context, r *Call) (Message, error) {
			var p Path
			err := r.Args(&p)
			return &Stat{Size: int64(len(p.Path))}, err
		},
	})
	first := make(chan error, 1)
	go func() {
		s, err := c.Statfs(ctx, "/")
		if err == nil && s.Blocks != 1 {
			err = fmt.Errorf("got %+v", s)
		}
		first <- err
	}()
	s, err := c.Stat(ctx, Path{Path: "/etc"})
	if err != nil || s.Size != 4 {
		t.Errorf("stat: %+v, %v", s, err)
	}
	close(second)
	if err := <-first; err != nil {
		t.Errorf("statfs: %v", err)
	}
}

func TestAFailureCarriesItsNumberAndWhatWasAsked(t *testing.T) {
	t.Parallel()
	c := pair(t, map[Op]Handler{OpStat: func(context.Context, *Call) (Message, error) {
		return nil, fmt.Errorf("look\x1b[2J: %w", syscall.ENOENT)
	}})
	_, err := c.Stat(timeout(t), Path{Path: "/nowhere"})
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != "appliance: stat /nowhere: look?[2J: no such file or directory" {
		t.Errorf("got %v", err)
	}
	_, err = c.Statfs(timeout(t), "/")
	if !errors.Is(err, syscall.ENOSYS) {
		t.Errorf("an operation that the guest does not know: %v, want ENOSYS", err)
	}
}

func TestManyStreamsAtATimeArriveWhole(t *testing.T) {
	t.Parallel()
	ctx := timeout(t)
	c := pair(t, map[Op]Handler{opEcho: echo})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			want := bytes.Repeat([]byte{byte(i), 1, 2, 3, 4, 5, 6}, 1+i*60_000)
			var got bytes.Buffer
			if err := c.do(ctx, request{op: opEcho, in: bytes.NewReader(want), out: &got}); err != nil {
				t.Errorf("stream %d: %v", i, err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("stream %d: %d bytes came back, not the %d that were sent", i, got.Len(), len(want))
			}
		})
	}
	all.Wait()
}

// stuck is a writer that takes one piece and then waits.
type stuck struct{ release chan struct{} }

func (s stuck) Write(b []byte) (int, error) {
	<-s.release
	return len(b), nil
}

func TestAStreamThatNobodyReadsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	ctx := timeout(t)
	c := pair(t, map[Op]Handler{opEcho: echo})
	s := stuck{make(chan struct{})}
	held := make(chan error, 1)
	go func() {
		held <- c.do(ctx, request{op: opEcho, in: bytes.NewReader(make([]byte, 8*Window)), out: s})
	}()
	for range 3 {
		var got bytes.Buffer
		if err := c.do(ctx, request{op: opEcho, in: strings.NewReader("hello"), out: &got}); err != nil || got.String() != "hello" {
			t.Errorf("beside a stream that is stuck: %q, %v", got.String(), err)
		}
	}
	close(s.release)
	if err := <-held; err != nil {
		t.Error(err)
	}
}

func TestWhatIsGivenUpIsCancelledInsideAndTheConnectionGoesOn(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	began := make(chan struct{})
	c := pair(t, map[Op]Handler{opEcho: echo, opHang: func(ctx context.Context, r *Call) (Message, error) {
		close(began)
		_, err := io.Copy(io.Discard, r.In()) // ends with the cancellation, too
		<-ctx.Done()
		ended <- err
		return nil, err
	}})
	ctx, cancel := context.WithCancelCause(timeout(t))
	enough := errors.New("enough")
	go func() {
		<-began
		cancel(enough)
	}()
	r, w := io.Pipe() // never says anything
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(errors.New("closed")) })
	if err := c.do(ctx, request{op: opHang, in: r}); !errors.Is(err, enough) {
		t.Errorf("got %v, want the reason why it was given up", err)
	}
	if err := <-ended; !errors.Is(err, errCancelled) {
		t.Errorf("inside it ended with %v", err)
	}
	if err := c.Ping(timeout(t)); err != nil {
		t.Errorf("the connection is of no use after that: %v", err)
	}
}

func TestAnErrorOfTheCallersReaderOrWriterEndsTheRequest(t *testing.T) {
	t.Parallel()
	c := pair(t, map[Op]Handler{opEcho: echo})
	bad := errors.New("disk full")
	r, w := io.Pipe()
	_ = r.CloseWithError(bad)
	if err := c.do(timeout(t), request{op: opEcho, in: strings.NewReader("x"), out: w}); !errors.Is(err, bad) {
		t.Errorf("writer: %v, want %v", err, bad)
	}
	r, w = io.Pipe()
	_ = w.CloseWithError(bad)
	if err := c.do(timeout(t), request{op: opEcho, in: r, out: io.Discard}); !errors.Is(err, bad) {
		t.Errorf("reader: %v, want %v", err, bad)
	}
}

func TestProgressIsToldAndTheLastIsNotLost(t *testing.T) {
	t.Parallel()
	c := pair(t, map[Op]Handler{opHang: func(_ context.Context, r *Call) (Message, error) {
		for i := range uint64(100) {
			if err := r.Progress(i, 100); err != nil {
				return nil, err
			}
		}
		_, err := io.Copy(io.Discard, r.In())
		return nil, err
	}})
	r, w := io.Pipe()
	last := Progress{}
	err := c.do(timeout(t), request{op: opHang, in: r, progress: func(p Progress) {
		if p.Done < last.Done {
			t.Errorf("%d after %d", p.Done, last.Done)
		}
		if last = p; p.Done == 99 {
			_ = w.Close()
		}
	}})
	if err != nil || last != (Progress{99, 100}) {
		t.Errorf("the last was %+v, %v", last, err)
	}
}

func TestAConnectionIsGivenAwayAndServesTheNext(t *testing.T) {
	t.Parallel()
	c := pair(t, nil)
	if err := c.Ping(timeout(t)); err != nil {
		t.Fatal(err)
	}
	conn, err := c.Detach()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Ping(timeout(t)); !errors.Is(err, ErrDetached) {
		t.Errorf("the old client says %v", err)
	}
	next := NewClient(conn)
	defer next.Close()
	if err := next.Ping(timeout(t)); err != nil {
		t.Errorf("the next client: %v", err)
	}
}

func TestListingArrivesWhole(t *testing.T) {
	t.Parallel()
	var want []Entry
	for i := range 3000 {
		want = append(want, Entry{Name: fmt.Sprintf("file %d", i), Target: strings.Repeat("x", i%50), Stat: Stat{Inode: uint64(i)}})
	}
	c := pair(t, map[Op]Handler{OpList: func(_ context.Context, r *Call) (Message, error) {
		for _, e := range want {
			b, err := AppendEntry(nil, &e)
			if err == nil {
				_, err = r.Out(StreamOut).Write(b)
			}
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}})
	got, err := c.List(timeout(t), "/")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	enough := errors.New("enough")
	if err := c.EachEntry(timeout(t), "/", func(Entry) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("whoever has seen enough gets %v", err)
	}
	if err := c.Ping(timeout(t)); err != nil {
		t.Error(err)
	}
}

// keyboard is input of which nothing comes, until it is stopped.
type keyboard struct {
	io.Reader
	w *io.PipeWriter
}

func (k keyboard) Stop() { _ = k.w.Close() }

func TestStoppableInput_IsNotWaitedFor(t *testing.T) {
	t.Parallel()
	c := pair(t, map[Op]Handler{OpRun: func(context.Context, *Call) (Message, error) { return &Exit{Status: 3}, nil }})
	r, w := io.Pipe()
	if e, err := c.Run(timeout(t), Command{Run: Run{Args: []string{"sh"}}, Stdin: keyboard{r, w}}); err != nil || e.Status != 3 {
		t.Errorf("%+v, %v", e, err)
	}
}
