package proto

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// messages are one of each, with something in every field.
func messages() []Message {
	s := Stat{1, 2, 3, 4, -5, 6, 7, 8, 9, 10, -11, 12, 13}
	return []Message{
		&Nothing{}, &Failure{5, "text"}, &Progress{1, 2}, &Credit{3},
		&Greeting{1, []byte("seed"), "host", "boot", "machine"},
		&Info{"agent", "kernel", "host", "boot", []byte("nonce"), 1, 2, 3, 4, 5},
		&Mount{"sda1", "/", "ext4", "ro", true}, &Mounted{"sda1", "/", "ext4", "ro"},
		&Mounts{[]Mounted{{"sda1", "/", "ext4", "ro"}, {"sdb", "/boot", "", ""}}},
		&Path{"/etc", true}, &s, &Entry{"name", "target", s}, &Statfs{1, 2, 3, 4, 5, 6, 7, 8},
		&Probe{true}, &Await{"serial"}, &Devices{[]Device{
			{"sda1", "serial", "sda", "mapped", 1, 2, 3, 4, true, "name", "id", "ext4", "uuid", "label", "why", []string{"sdb"}}, {Name: "sda"},
		}},
		&Read{"/etc", 1, -1}, &Write{"/etc", 1, 0o644, true, true, true, true, true}, &Count{1}, &Text{"text"}, &Make{"/etc", 0o755, true},
		&Remove{"/etc", true}, &Pair{"old", "new"}, &Chmod{"/etc", 0o700}, &Chown{"/etc", 1, 2, true}, &Truncate{"/etc", 3},
		&Times{"/etc", -1, 2, true}, &Xattr{"/etc", "user.x", []byte("value"), true}, &Value{[]byte("value")}, &Names{[]string{"a", "b"}},
		&Copy{"sda", "/etc", 1, 0o600, true}, &Run{[]string{"a", "b"}, []string{"A=b"}, "/tmp", "/etc", true, true, TerminalSize{1, 24, 80}}, &Exit{1, 9},
		&Walk{"/etc", 3, true}, &Step{"a/b", "target", s, 5}, &Glance{"sda1", "btrfs", true},
		&Glanced{Statfs{1, 2, 3, 4, 5, 6, 7, 8}, []Subvolume{{256, "a/b"}, {257, "c"}}},
		&Connect{[]byte{2, 0, 0, 0, 0, 1}, "10.0.0.2/24", "10.0.0.1", []string{"10.0.0.3"}},
		&Link{"eth0", []byte{2, 0, 0, 0, 0, 1}, "10.0.0.2/24", "10.0.0.1", []string{"10.0.0.3"}},
	}
}

// blank returns a message like m with nothing in it.
func blank(m Message) Message { return reflect.New(reflect.TypeOf(m).Elem()).Interface().(Message) }

func TestEveryMessageIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, m := range messages() {
		b, err := Encode(m)
		if err != nil {
			t.Errorf("%T: %v", m, err)
			continue
		}
		got := blank(m)
		if err := Decode(b, got); err != nil {
			t.Errorf("%T: %v", m, err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", m, diff)
		}
		for i := range b {
			if err := Decode(b[:i], blank(m)); !errors.Is(err, ErrMessage) {
				t.Errorf("%T cut to %d of %d bytes: %v, want an error", m, i, len(b), err)
			}
		}
		if err := Decode(append(b, 0), blank(m)); !errors.Is(err, ErrMessage) {
			t.Errorf("%T with a byte too many: %v, want an error", m, err)
		}
	}
}

func TestWhatIsTooLongIsNotSent(t *testing.T) {
	t.Parallel()
	long := string(make([]byte, maxString+1))
	for _, m := range []Message{&Path{Path: long}, &Greeting{Seed: make([]byte, MaxData+1)}, &Mounts{make([]Mounted, maxList+1)}} {
		if _, err := Encode(m); !errors.Is(err, ErrMessage) {
			t.Errorf("%T: %v, want an error", m, err)
		}
	}
}

func TestFramesArriveAsTheyWereSentHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want, got []Frame
		var stream []byte
		for range rapid.IntRange(0, 5).Draw(t, "frames") {
			f := Frame{
				Kind: Kind(rapid.IntRange(1, int(kindEnd)-1).Draw(t, "kind")), Sub: rapid.Uint8().Draw(t, "sub"), ID: rapid.Uint32().Draw(t, "id"),
				Payload: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "payload"),
			}
			want = append(want, f)
			stream = f.Append(stream)
		}
		r := NewFrameReader(&pieces{stream, rapid.IntRange(1, 50).Draw(t, "piece")})
		for {
			f, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			f.Payload = append([]byte{}, f.Payload...)
			got = append(got, f)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// pieces is a reader that gives a few bytes at a time.
type pieces struct {
	b    []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.b)
	p.b = p.b[n:]
	return n, nil
}

// FuzzFrames reads frames out of anything. What is one is written back as it was.
func FuzzFrames(f *testing.F) {
	f.Add(Frame{Kind: KindRequest, Sub: 1, ID: 2, Payload: []byte("x")}.Append(nil))
	f.Add([]byte{mark, Version, 1, 1, 0, 0, 0, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewFrameReader(bytes.NewReader(b))
		var back []byte
		for {
			f, err := r.Next()
			if err != nil {
				break
			}
			back = f.Append(back)
		}
		if !bytes.HasPrefix(b, back) {
			t.Errorf("%x was read as %x", b, back)
		}
	})
}

// FuzzMessages reads messages out of anything. What is one is written back as it was.
func FuzzMessages(f *testing.F) {
	for i, m := range messages() {
		if b, err := Encode(m); err == nil {
			f.Add(uint8(i), b)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		m := blank(messages()[int(which)%len(messages())])
		if Decode(b, m) != nil {
			return
		}
		back, err := Encode(m)
		if err != nil || !bytes.Equal(b, back) {
			t.Errorf("%T: %x was read as %x, %v", m, b, back, err)
		}
	})
}

// FuzzEntries reads a listing out of anything: no name in it leads out of its folder.
func FuzzEntries(f *testing.F) {
	b, _ := AppendEntry(nil, &Entry{Name: "name"})
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = readEntries(bytes.NewReader(b), func(e Entry) error {
			if e.Name == ".." || bytes.ContainsRune([]byte(e.Name), '/') {
				t.Errorf("name %q", e.Name)
			}
			return nil
		})
	})
}

// FuzzSteps reads a walk out of anything: no path in it leads out of the folder where it began.
func FuzzSteps(f *testing.F) {
	b, _ := AppendStep(nil, &Step{Path: "a/b"})
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = readSteps(bytes.NewReader(b), func(s Step) error {
			if s.Path != "" && !filepath.IsLocal(s.Path) || filepath.Clean(s.Path) != s.Path && s.Path != "" {
				t.Errorf("path %q", s.Path)
			}
			return nil
		})
	})
}
