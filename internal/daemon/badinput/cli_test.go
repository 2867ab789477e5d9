package badinput

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// taproom runs the command line in the daemon's namespace.
func (w *world) taproom(stdin io.Reader, args ...string) (out, msg string, code int) {
	w.t.Helper()
	c := exec.Command(filepath.Join(w.Programs(), "taproom"), append([]string{"--root", w.Root}, args...)...)
	var o, m bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr, c.Dir = stdin, &o, &m, w.Root
	must(w.t, w.NS.Start(c))
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return w.plain(o.String()), w.plain(m.String()), c.ProcessState.ExitCode()
}

func TestDocumentsAndCommandLinesOfTheCLI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	whole := guest("broken", "")
	long := func(size int) string { // a document of that size that would be fine otherwise
		return strings.Replace(whole, "<memory", "<description>"+strings.Repeat("x", size-len(whole))+"</description><memory", 1)
	}
	w.put("truncated.xml", whole[:60])
	w.put("bomb.xml", bomb("domain"))
	w.put("huge.xml", long(50<<20))
	w.put("large.xml", long(3<<20))
	w.put("deep.xml", strings.Repeat("<a>", 500_000))
	w.put("junk.xml", string(bytes.Repeat([]byte{0x7f, 'E', 'L', 'F', 0, 1, 2, 3}, 1000)))
	w.put("empty.xml", "")
	w.put("pool.xml", "<pool type='dir'><name>p</name></pool>")
	w.put("disk.xml", guest("broken", disk("/nowhere/disk", "raw", "")))
	w.put("net.xml", network("broken", "lo", "192.168.97"))
	w.put("good.xml", guest("well", nic("quiet")+vnc))
	for _, c := range []struct {
		name  string
		stdin string
		args  []string
		exit  int
		want  string // all it says on stderr
	}{
		{"missing", "", []string{"up", "missing.xml"}, 1, "taproom: read missing.xml: no such file or directory\n"},
		{"folder", "", []string{"up", "etc"}, 1, "taproom: read etc: it is a directory; name the documents in it: etc/*.xml\n"},
		{"truncated", "", []string{"up", "truncated.xml"}, 1, "taproom: XML error: truncated.xml: line 3: the value of attribute unit does not end\n"},
		{"empty", "", []string{"up", "empty.xml"}, 1, "taproom: XML error: empty.xml: line 1: document is empty\n"},
		{"bomb", "", []string{"up", "bomb.xml"}, 1, "taproom: XML error: bomb.xml: line 2: document type declarations and entities are not accepted\n"},
		{"huge", "", []string{"up", "huge.xml"}, 1, "taproom: read huge.xml: it is larger than 2 MiB, which no domain or network is\n"},
		{"large", "", []string{"up", "large.xml"}, 1, "taproom: read large.xml: it is larger than 2 MiB, which no domain or network is\n"},
		{"deep", "", []string{"up", "deep.xml"}, 1, "taproom: XML error: deep.xml: a <a> document cannot be applied; a <network> or a <domain> can\n"},
		{"junk", "", []string{"up", "junk.xml"}, 1, "taproom: XML error: junk.xml: line 1: character U+0000 is not allowed in XML\n"},
		{"pool", "", []string{"up", "pool.xml"}, 1, "taproom: XML error: pool.xml: a <pool> document cannot be applied; a <network> or a <domain> can\n"},
		{"standard input", whole[:60], []string{"up", "-"}, 1, "taproom: XML error: standard input: line 3: the value of attribute unit does not end\n"},
		{"endless standard input", long(20 << 20), []string{"up", "-"}, 1, "taproom: read standard input: it is larger than 2 MiB, which no domain or network is\n"},
		{"one of several", "", []string{"up", "good.xml", "truncated.xml"}, 1, "taproom: XML error: truncated.xml: line 3: the value of attribute unit does not end\n"},
		{"several", "", []string{"up", "truncated.xml", "junk.xml"}, 1, "taproom: XML error: truncated.xml: line 3: the value of attribute unit does not end\njunk.xml: line 1: character U+0000 is not allowed in XML\n"},
		{"disk missing", "", []string{"up", "disk.xml"}, 1, "domain   broken               failed: cannot start domain 'broken': disk vda: /nowhere/disk: no such file or directory; create it, or correct the path in the document\n"},
		{"bridge of others", "", []string{"up", "net.xml"}, 1, "network  broken               failed: operation failed: cannot start network 'broken': link lo is somebody else's: it is a device of group 0; choose another name, or remove it\n"},
		{"as JSON", "", []string{"up", "--json", "truncated.xml"}, 1, "{\"error\":\"XML error: truncated.xml: line 3: the value of attribute unit does not end\",\"exit\":1}\n"},
		{"missing as JSON", "", []string{"--json", "up", "missing.xml"}, 1, "{\"error\":\"read missing.xml: no such file or directory\",\"exit\":1}\n"},
		{"down truncated", "", []string{"down", "truncated.xml"}, 1, "taproom: XML error: truncated.xml: line 3: the value of attribute unit does not end\n"},
		{"no document", "", []string{"up"}, 2, "taproom: up takes at least one document, not 0; see taproom up --help\n"},
		{"wrong flag", "", []string{"up", "--fast", "good.xml"}, 2, "taproom: unknown flag: --fast; see taproom up --help\n"},
		{"wrong flag as JSON", "", []string{"ls", "--json", "--fast"}, 2, "{\"error\":\"unknown flag: --fast; see taproom ls --help\",\"exit\":2}\n"},
		{"wrong accelerator", "", []string{"up", "--accel", "warp", "good.xml"}, 2, "taproom: --accel \"warp\": there is auto, kvm and tcg\n"},
		{"wrong command", "", []string{"upp", "good.xml"}, 2, "taproom: there is no command \"upp\"; is it up?\n"},
		{"too many arguments", "", []string{"ls", "everything"}, 2, "taproom: ls takes no arguments, not 1; see taproom ls --help\n"},
		{"console of nobody", "", []string{"console", "nobody"}, 1, "taproom: Domain not found: no domain with matching name 'nobody'\n"},
		{"console of none", "", []string{"console", "well"}, 1, "taproom: internal error: domain 'well' has no console: add <serial type='pty'/>\n"},
		{"no daemon", "", []string{"--root", "/nowhere", "ls"}, 1, "taproom: no daemon serves /nowhere/run/taproom/taproom.sock; start one: taproomd --root /nowhere\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := w.state()
			_, msg, exit := w.taproom(strings.NewReader(c.stdin), c.args...)
			if exit != c.exit || msg != c.want {
				t.Errorf("exit %d: got\n%s\nwant exit %d\n%s\n%q", exit, msg, c.exit, c.want, msg)
			}
			for _, name := range []string{"broken"} { // `up` keeps what it could define
				if d, err := w.c.Domain(t.Context(), name); err == nil {
					must(t, w.c.UndefineDomain(t.Context(), d, 0))
				}
				if _, err := w.c.Network(t.Context(), name); err == nil {
					w.undefineNetwork(name)
				}
			}
			w.unchanged(t, before)
		})
	}
}
