package roundtriptest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"taproom/internal/api/client"
	"taproom/internal/daemon/daemontest"
	"taproom/internal/guest/guesttest"
)

func TestMain(m *testing.M) { daemontest.Main(m) }

// inactive and secure ask for the whole document of the next start, secrets included (VIR_DOMAIN_XML_…).
const inactive, secure = 2, 1

// definer defines documents in one daemon, all as the same domain.
type definer struct {
	client *client.Client
}

// define defines a document and returns what the daemon shows of it; "" and why when it is refused.
func (d *definer) define(t interface{ Fatal(...any) }, ctx context.Context, doc string) (shown, refused string) {
	dom, err := d.client.DefineDomain(ctx, doc)
	if err != nil {
		return "", err.Error()
	}
	xml, err := d.client.DomainXML(ctx, dom, inactive|secure)
	if err != nil {
		t.Fatal(err)
	}
	return xml, ""
}

// holds defines a document, and again what is shown of it: the two have to be the same. It reports false for a document
// that is refused.
func (d *definer) holds(t interface {
	Fatal(...any)
	Errorf(string, ...any)
}, ctx context.Context, doc string,
) (why string, ok bool) {
	first, refused := d.define(t, ctx, doc)
	if refused != "" {
		return refused, false
	}
	second, refused := d.define(t, ctx, first)
	if refused != "" {
		t.Errorf("what is shown of a domain is refused: %s\n%s\nshown of\n%s", refused, first, doc)
	} else if diff := cmp.Diff(meaning(t, first), meaning(t, second)); diff != "" {
		t.Errorf("defined:\n%s\nshown, and when that was defined (-first +second):\n%s", doc, diff)
	}
	return "", true
}

// meaning is a document without the order of its elements: each device has its place, and libvirt too sorts disks and
// controllers anew each time that it reads them.
func meaning(t interface{ Fatal(...any) }, doc string) []string {
	root, err := guesttest.Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, n := range root.Children {
		if n.Name != "devices" {
			out = append(out, n.String())
			continue
		}
		for _, d := range n.Children {
			out = append(out, "device: "+d.String())
		}
	}
	slices.Sort(out)
	return out
}

// parts are documents that are accepted, one for each element and attribute that there is: the table of the format has
// found them.
func parts(t *testing.T) []*guesttest.Node {
	t.Helper()
	b, err := os.ReadFile("../../guest/testdata/accepted.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []*guesttest.Node
	for line := range strings.Lines(string(b)) {
		doc, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		n, err := guesttest.Parse(doc)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

func TestWhatIsShownOfADomainDefinesItAgain(t *testing.T) {
	t.Parallel()
	d := &definer{daemontest.New(t).Client()}
	parts := parts(t)

	// Each by itself. A host may refuse some that name what it does not have.
	refused := map[string]string{}
	whole := slices.DeleteFunc(slices.Clone(parts), func(n *guesttest.Node) bool {
		why, ok := d.holds(t, t.Context(), n.String())
		if !ok {
			refused[n.String()] = why
		}
		return !ok
	})
	if len(refused) > len(parts)/20 {
		t.Errorf("%d of %d documents are refused: %v", len(refused), len(parts), refused)
	}

	// And mixed: 300 of what is accepted.
	const wanted = 300
	accepted := 0
	for accepted < wanted && !t.Failed() {
		before := accepted
		rapid.Check(t, func(r *rapid.T) {
			doc := mix(r, whole)
			if _, ok := d.holds(r, t.Context(), doc.String()); ok {
				accepted++
			}
		})
		if accepted == before {
			t.Fatal("no mixed document is accepted")
		}
	}
	t.Logf("%d documents by themselves (%d refused here), %d mixed", len(parts), len(refused), accepted)
}

// mix draws a document made of the parts of several.
func mix(r *rapid.T, parts []*guesttest.Node) *guesttest.Node {
	doc, err := guesttest.Parse(rapid.SampledFrom(parts).Draw(r, "base").String())
	if err != nil {
		r.Fatal(err)
	}
	for i := range rapid.IntRange(1, 6).Draw(r, "others") {
		other := rapid.SampledFrom(parts).Draw(r, fmt.Sprintf("other %d", i))
		if err := doc.Merge(other); err != nil {
			r.Fatal(err)
		}
	}
	return doc
}

// What clients and tests of documents define, as it is in the goldens.
func TestDocumentsOfClientsSurviveTheDaemon(t *testing.T) {
	t.Parallel()
	d := &definer{daemontest.New(t).Client()}
	var paths []string
	for _, glob := range []string{"../../guest/testdata/define/*.txtar", "../../guest/testdata/devices/*.txtar", "../../spec/testdata/domain/*.txtar"} {
		found, err := filepath.Glob(glob)
		if err != nil || len(found) == 0 {
			t.Fatal(glob, err)
		}
		paths = append(paths, found...)
	}
	accepted := 0
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if !strings.HasSuffix(f.Name, ".xml") {
				continue
			}
			// This host may have no KVM; and what libvirt shows may name what is refused here.
			doc := bytes.ReplaceAll(f.Data, []byte("<domain type='kvm'"), []byte("<domain type='qemu'"))
			dom, err := d.client.DefineDomain(t.Context(), string(doc))
			if err != nil {
				continue
			}
			if _, ok := d.holds(t, t.Context(), string(doc)); ok {
				accepted++
			}
			const keepNVRAM = 8
			if err := d.client.UndefineDomain(t.Context(), dom, keepNVRAM); err != nil {
				t.Errorf("%s, %s: %v", path, f.Name, err)
			}
		}
	}
	if accepted < len(paths) {
		t.Errorf("only %d documents of %d files are accepted", accepted, len(paths))
	}
	t.Logf("%d documents of %d files", accepted, len(paths))
}
