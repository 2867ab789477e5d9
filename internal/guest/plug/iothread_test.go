package plug_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/guest"
	"taproom/internal/guest/plug"
)

func TestIOThreadsOfAGuestThatRunsAreChanged(t *testing.T) {
	t.Parallel()
	doc := func(threads string) *guest.Compiled {
		return compile(t, started(t, []byte(`<domain type='qemu'><name>g</name><memory>65536</memory>`+threads+`<os><type machine='q35'>hvm</type></os></domain>`)), guest.Pins{})
	}
	one := doc(`<iothreads>1</iothreads>`)
	for _, c := range []struct{ to, want, back string }{
		{
			`<iothreads>2</iothreads>`,
			`object-add {"qom-type":"iothread","id":"iothread2"}` + "\n",
			`object-del {"id":"iothread2"}` + "\n",
		},
		{
			`<iothreadids><iothread id='1' thread_pool_min='2' thread_pool_max='9'><poll max='7' grow='3'/></iothread></iothreadids>`,
			`qom-set {"path":"/objects/iothread1","property":"poll-max-ns","value":7}` + "\n" +
				`qom-set {"path":"/objects/iothread1","property":"poll-grow","value":3}` + "\n" +
				`qom-set {"path":"/objects/iothread1","property":"thread-pool-max","value":9}` + "\n" +
				`qom-set {"path":"/objects/iothread1","property":"thread-pool-min","value":2}` + "\n",
			`qom-set {"path":"/objects/iothread1","property":"poll-max-ns","value":32768}` + "\n" +
				`qom-set {"path":"/objects/iothread1","property":"poll-grow","value":0}` + "\n" +
				`qom-set {"path":"/objects/iothread1","property":"thread-pool-max","value":64}` + "\n" +
				`qom-set {"path":"/objects/iothread1","property":"thread-pool-min","value":0}` + "\n",
		},
	} {
		to := doc(c.to)
		if d := cmp.Diff(c.want, steps(between(t, one, to))); d != "" {
			t.Errorf("to %s (-want +got):\n%s", c.to, d)
		}
		if d := cmp.Diff(c.back, steps(between(t, to, one))); d != "" {
			t.Errorf("back from %s (-want +got):\n%s", c.to, d)
		}
	}
	// The most goes below what was the least: that goes first.
	high := doc(`<iothreadids><iothread id='1' thread_pool_min='20' thread_pool_max='30'/></iothreadids>`)
	low := doc(`<iothreadids><iothread id='1' thread_pool_min='0' thread_pool_max='5'/></iothreadids>`)
	const want = `qom-set {"path":"/objects/iothread1","property":"thread-pool-min","value":0}` + "\n" +
		`qom-set {"path":"/objects/iothread1","property":"thread-pool-max","value":5}` + "\n"
	if d := cmp.Diff(want, steps(plug.Threads(high.Config, low.Config))); d != "" {
		t.Errorf("down (-want +got):\n%s", d)
	}
}

// Whoever changed the threads may have died between writing that down and telling QEMU.
func TestIOThreadsThatQEMUHasAreBroughtToTheDocument(t *testing.T) {
	t.Parallel()
	c := compile(t, started(t, []byte(`<domain type='qemu'><name>g</name><memory>65536</memory>
		<iothreadids><iothread id='1'><poll max='7'/></iothread><iothread id='4'/></iothreadids><os><type machine='q35'>hvm</type></os></domain>`)), guest.Pins{})
	var seen plug.Observed
	for _, q := range seen.Queries() {
		if args, ok := q.Args.(map[string]string); ok && args["path"] == "/objects" {
			if err := json.Unmarshal([]byte(`[{"name":"type"},{"name":"iothread1"},{"name":"iothread9"},{"name":"iothreadx"},{"name":"objrng0"}]`), q.Reply); err != nil {
				t.Fatal(err)
			}
		}
	}
	const want = `qom-set {"path":"/objects/iothread1","property":"poll-max-ns","value":7}` + "\n" +
		`object-add {"qom-type":"iothread","id":"iothread4"}` + "\n" +
		`object-del {"id":"iothread9"}` + "\n"
	if d := cmp.Diff(want, steps(seen.Threads(c.Config))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
