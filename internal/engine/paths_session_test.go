package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestASessionKeepsToTheDirectoriesOfXDG(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		env     map[string]string
		want    Paths
		ignored string
	}{
		{"as a login sets them", map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/1000"}, Paths{
			Config: "/home/u/.config/taproom", Lib: "/home/u/.local/state/taproom", Run: "/run/user/1000/taproom",
			LibvirtRun: "/run/user/1000/libvirt", LibvirtLib: "/home/u/.cache/libvirt", Cache: "/home/u/.cache/taproom", Log: "/home/u/.cache/taproom/log",
		}, ""},
		{"each its own", map[string]string{
			"HOME": "/home/u", "XDG_RUNTIME_DIR": "/r/", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/k",
		}, Paths{Config: "/c/taproom", Lib: "/s/taproom", Run: "/r/taproom", LibvirtRun: "/r/libvirt", LibvirtLib: "/k/libvirt", Cache: "/k/taproom", Log: "/k/taproom/log"}, ""},
		// libvirt's clients look in the cache then, which outlives a boot.
		{"none", nil, Paths{
			Config: "/etc/passwd's/.config/taproom", Lib: "/etc/passwd's/.local/state/taproom", Run: "/etc/passwd's/.cache/taproom/run-b",
			LibvirtRun: "/etc/passwd's/.cache/libvirt", LibvirtLib: "/etc/passwd's/.cache/libvirt", Cache: "/etc/passwd's/.cache/taproom", Log: "/etc/passwd's/.cache/taproom/log",
		}, ""},
		{"a relative one", map[string]string{"HOME": "/h", "XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "/s"}, Paths{
			Config: "/h/.config/taproom", Lib: "/s/taproom", Run: "/h/.cache/taproom/run-b",
			LibvirtRun: "/h/.cache/libvirt", LibvirtLib: "/h/.cache/libvirt", Cache: "/h/.cache/taproom", Log: "/h/.cache/taproom/log",
		}, `XDG_RUNTIME_DIR="run" is no absolute path and is ignored; /h/.cache is used`},
	} {
		got, ignored := UserPaths(func(name string) string { return c.env[name] }, "/etc/passwd's", "b")
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		if strings.Join(ignored, "; ") != c.ignored {
			t.Errorf("%s: ignored %q, want %q", c.name, ignored, c.ignored)
		}
	}
}
