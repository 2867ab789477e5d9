package guest

import (
	"strings"
	"testing"
	"time"

	"taproom/internal/qemu"
	"taproom/internal/spec"
)

// testRuntime is a run in which everything is prepared.
func testRuntime(d *spec.Domain) Runtime {
	rt := Runtime{
		Accel: map[string]string{"qemu": "tcg", "kvm": "kvm"}[d.Type], Dir: "/run/taproom/guests/" + d.Name, QMP: "qmp",
		MemoryDir: "/var/lib/taproom/ram/" + d.Name, Now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), CID: 3,
	}
	for i := range d.Devices.Graphics {
		rt.Displays = append(rt.Displays, DisplayRuntime{Port: 5907 + i, WebSocket: 5807, Address: "192.168.122.1"})
	}
	for i := range d.Devices.Interfaces { // where KVM works vhost-net does too, in these tests
		rt.NICs = append(rt.NICs, NICRuntime{Tap: "vnet0", VHost: rt.Accel == "kvm" && CanVHost(&d.Devices.Interfaces[i])})
	}
	return rt
}

// lines prints a command line with one option to a line.
func lines(t *testing.T, c *qemu.Config) string {
	t.Helper()
	argv, _, err := c.Args(3)
	if err != nil {
		t.Fatalf("Args: %v", err)
	}
	var b strings.Builder
	for i, a := range argv {
		switch {
		case i == 0:
		case strings.HasPrefix(a, "-") && (len(a) < 2 || a[1] < '0' || a[1] > '9'):
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(a)
	}
	return b.String() + "\n"
}

// describe prints what a compilation asks of the runtime besides the command line.
func describe(c *Compiled) string {
	var b strings.Builder
	access := map[Access]string{
		Check: "check", ReadOnly: "read-only", ReadWrite: "read-write", WriteOnly: "write-only", Append: "append",
		Listen: "listen", Dial: "dial", TapQueue: "tap", GivenTap: "given tap", VHostNet: "vhost", VHostVsock: "claimed", Folder: "folder",
	}
	for _, n := range c.Needs {
		words := []string{n.Device + ":", access[n.Access], n.Path}
		if n.Name != "" {
			words = append(words, "as", n.Name)
		}
		if n.Block {
			words = append(words, "block")
		}
		if n.Image {
			words = append(words, n.Format)
		}
		if n.Template != "" {
			words = append(words, "from", n.Template)
		}
		if n.Backing {
			words = append(words, "backed")
		}
		b.WriteString(strings.Join(words, " ") + "\n")
	}
	for _, p := range c.Companions {
		if p.Passt != nil {
			b.WriteString(p.Device + ": passt " + strings.Join(p.Passt, " ") + "\n")
		}
		b.WriteString(p.Device + ": a companion as " + p.File + "\n")
	}
	for _, s := range c.Taints {
		b.WriteString("taint: " + s + "\n")
	}
	for _, s := range c.Startup.LinksDown {
		b.WriteString("link down: " + s + "\n")
	}
	for _, s := range c.Config.Env {
		b.WriteString("env: " + s + "\n")
	}
	return b.String()
}

func TestCompileGivesTheSameCommandLineForTheSameDocument(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"define", "only", "devices"} {
		cases(t, dir, func(t *testing.T, path string, files map[string][]byte) {
			d := parse(t, files["domain.xml"])
			if err := Complete(d, pcHost()); err != nil {
				t.Fatalf("Complete: %v", err)
			}
			before := string(d.Format())
			c, err := Compile(d, testRuntime(d))
			if err != nil {
				t.Fatalf("Compile: %v", err)
			}
			if string(d.Format()) != before {
				t.Errorf("Compile changed the document it was given")
			}
			golden(t, path, "argv", lines(t, c.Config))
			golden(t, path, "needs", describe(c))
		})
	}
}
