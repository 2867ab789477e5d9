package plug_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/guest"
	"taproom/internal/guest/plug"
)

// An administrator who adds a node to a QEMU through its monitor keeps it, whatever is plugged in or out beside it.
func TestOnlyNodesOfOursAreSwept(t *testing.T) {
	t.Parallel()
	c := compile(t, started(t, []byte(`<domain type='qemu'><name>g</name><memory>65536</memory><os><type machine='q35'>hvm</type></os>
		<devices><disk type='file' device='disk'><driver type='qcow2'/><source file='/a'/><target dev='vda' bus='virtio'/></disk></devices></domain>`)), guest.Pins{})
	var seen plug.Observed
	for _, q := range seen.Queries() {
		if q.Name == "query-named-block-nodes" {
			if err := json.Unmarshal([]byte(`[{"node-name":"vdb-cor"},{"node-name":"vdb-format"},{"node-name":"vdb-1-storage"},{"node-name":"backup"},
				{"node-name":"my-format"},{"node-name":"vd1-format"},{"node-name":"vdb-x-format"},{"node-name":"vdb--format"},{"node-name":"vda-tmp"},
				{"node-name":"pflash1-storage"},{"node-name":"#block123"},{"node-name":"vda-format"},{"node-name":"vda-storage"}]`), q.Reply); err != nil {
				t.Fatal(err)
			}
		}
	}
	const want = `blockdev-del {"node-name":"vdb-cor"}` + "\n" +
		`blockdev-del {"node-name":"vdb-format"}` + "\n" +
		`blockdev-del {"node-name":"vdb-1-storage"}` + "\n" +
		`blockdev-del {"node-name":"pflash1-storage"}` + "\n"
	if d := cmp.Diff(want, steps(seen.Sweep(c.Config, c.Config))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
