package spec

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestADocumentInLibvirtsLayoutIsWrittenBackUnchanged(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("testdata/bench.xml")
	if err != nil {
		t.Fatal(err)
	}
	// libvirt writes the namespace declarations after the other attributes, and so does the file.
	d, err := ParseDomain(doc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(doc), "\n"), strings.Split(string(d.Format()), "\n")); diff != "" {
		t.Error(diff)
	}
}
