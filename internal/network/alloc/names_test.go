package alloc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"taproom/internal/host"
	"taproom/internal/host/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

func newNames(t *testing.T, template string) *Names {
	t.Helper()
	n, err := NewNames(template)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTemplatesThatMakeNoNamesAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "vnet", "vnet%s", "%d%d", "a/%d", "a b%d", "vnet%d%n", "fifteen-bytes-x%d", "a:%d"} {
		if _, err := NewNames(bad); err == nil || !strings.Contains(err.Error(), strconv.Quote(bad)) {
			t.Errorf("%q: %v, want an error that names it", bad, err)
		}
	}
}

func TestANameIsNotReusedBeforeTheOthersWere(t *testing.T) {
	t.Parallel()
	n := newNames(t, "fourteen-byte%d-") // ten names
	var got []string
	for range 12 {
		name, err := n.Take()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSuffix(strings.TrimPrefix(name, "fourteen-byte"), "-"))
		n.Release(name)
	}
	if s := strings.Join(got, ""); s != "012345678901" {
		t.Errorf("handed out in the order %s", s)
	}
	for range 10 {
		if _, err := n.Take(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := n.Take()
	if !errors.Is(err, ErrExhausted) || !strings.Contains(err.Error(), "fourteen-byte0- to fourteen-byte9-") {
		t.Errorf("eleventh of ten: %v", err)
	}
}

func TestOnlyTheTemplatesOwnNamesCount(t *testing.T) {
	t.Parallel()
	n := newNames(t, "vnet%d")
	for name, want := range map[string]bool{
		"vnet0": true, "vnet12": true, "vnet07": false, "vnet": false, "vnet-1": false,
		"vnet+1": false, "xvnet1": false, "vnet1x": false, "vnet1048575": true, "vnet1048576": false, "vnet99999999999999999999": false,
	} {
		if got := n.Matches(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		ours, err := n.Reserve(name)
		if ours != want || err != nil {
			t.Errorf("reserve %s: %v, %v", name, ours, err)
		}
		if ours {
			if _, err := n.Reserve(name); !errors.Is(err, ErrTaken) {
				t.Errorf("reserve %s twice: %v, want ErrTaken", name, err)
			}
		}
	}
}

func TestADenseBlockOfForeignNamesIsSteppedOver(t *testing.T) {
	t.Parallel()
	n := newNames(t, "vnet%d")
	const foreign = 20000 // libvirt gives up after 10,000
	tries := 0
	create := func(name string) error {
		tries++
		i, err := strconv.Atoi(strings.TrimPrefix(name, "vnet"))
		if err != nil || i < foreign {
			return fmt.Errorf("create %s: %w", name, host.ErrTaken)
		}
		return nil
	}
	for want := foreign; want < foreign+3; want++ {
		if got, err := n.Create(create); got != fmt.Sprint("vnet", want) || err != nil {
			t.Errorf("got %s, %v, want vnet%d", got, err, want)
		}
	}
	if tries != foreign+3 {
		t.Errorf("%d tries for three names after %d foreign ones", tries, foreign)
	}
	if n.used.used != 3 {
		t.Errorf("%d names are marked as ours, want 3: somebody else's are not", n.used.used)
	}
	small := newNames(t, "fourteen-bytes%d")
	if _, err := small.Create(func(string) error { return host.ErrTaken }); !errors.Is(err, ErrExhausted) {
		t.Errorf("all foreign: %v, want ErrExhausted", err)
	}
	boom := errors.New("boom")
	if _, err := small.Create(func(string) error { return boom }); !errors.Is(err, boom) || small.used.used != 0 {
		t.Errorf("another error: %v with %d names kept, want that error and none", err, small.used.used)
	}
}

func TestSixteenGoroutinesNeverShareAName(t *testing.T) {
	t.Parallel()
	n := newNames(t, "vnet%d")
	var held sync.Map
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := range 2000 {
				name, err := n.Take()
				if err != nil {
					t.Error(err)
					return
				}
				if _, twice := held.LoadOrStore(name, true); twice {
					t.Errorf("%s was handed out twice", name)
				}
				if i%3 != 0 {
					held.Delete(name)
					n.Release(name)
				}
			}
		})
	}
	wg.Wait()
}

func TestNamesBehaveLikeASetWithAPointer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const size = 100
		n, err := NewNames("thirteen-byte%d")
		if err != nil {
			t.Fatal(err)
		}
		held, next := map[int]bool{}, 0
		name := func(i int) string { return fmt.Sprint("thirteen-byte", i) }
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				want := -1
				for off := range size {
					if i := (next + off) % size; !held[i] {
						want = i
						break
					}
				}
				got, err := n.Take()
				if want < 0 {
					if !errors.Is(err, ErrExhausted) {
						t.Fatalf("full: got %q, %v", got, err)
					}
					return
				}
				if got != name(want) || err != nil {
					t.Fatalf("got %q, %v, want %s", got, err, name(want))
				}
				held[want], next = true, want+1
			},
			"release": func(t *rapid.T) {
				i := rapid.IntRange(0, size-1).Draw(t, "i")
				n.Release(name(i))
				delete(held, i)
			},
			"reserve": func(t *rapid.T) {
				i := rapid.IntRange(0, size-1).Draw(t, "i")
				_, err := n.Reserve(name(i))
				if held[i] != errors.Is(err, ErrTaken) {
					t.Fatalf("reserve %d: %v with held = %v", i, err, held[i])
				}
				if !held[i] {
					held[i], next = true, max(next, i+1)
				}
			},
			"": func(t *rapid.T) {
				if n.used.used != len(held) {
					t.Fatalf("%d marked, want %d", n.used.used, len(held))
				}
			},
		})
	})
}
