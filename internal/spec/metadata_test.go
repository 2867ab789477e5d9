package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const documentWithMetadata = "<domain type='qemu' xmlns:out='http://out/'>\n  <name>d</name>\n  <metadata>\n" +
	"    <!-- kept --><out:a>1</out:a>\n    <my:b xmlns:my=\"http://my/\" v=\"&lt;\"><my:c/>t<x/></my:b>\n    <d xmlns=\"http://plain/\"><e/></d>\n  </metadata>\n" +
	"  <memory>1024</memory>\n  <vcpu>1</vcpu>\n  <os>\n    <type>hvm</type>\n  </os>\n</domain>"

func TestAnApplicationReadsItsElementAsItWroteIt(t *testing.T) {
	t.Parallel()
	d, err := ParseDomain([]byte(documentWithMetadata))
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]string{
		"http://out/": "<a>1</a>", "http://my/": "<b v='&lt;'><c/>t<x/></b>", "http://plain/": "<d><e/></d>", "http://other/": "", "": "",
	} {
		got, ok, err := d.Metadata.Element(uri, d.Extra.Attrs)
		if err != nil || got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v (%v), want %q", uri, got, ok, err, want)
		}
	}
	if _, ok, err := (*Metadata)(nil).Element("http://my/", nil); ok || err != nil {
		t.Errorf("a document without metadata has an element (%v)", err)
	}
}

func TestAnElementTakesThePlaceOfThoseOfItsNamespaceAlone(t *testing.T) {
	t.Parallel()
	d, err := ParseDomain([]byte(documentWithMetadata))
	if err != nil {
		t.Fatal(err)
	}
	was := d.Metadata.Inner
	changed, err := d.Metadata.WithElement("http://my/", "p", "<?xml version='1.0'?>\n<!-- c --><n k='1'><o/><q xmlns='http://q/'/></n>\n", d.Extra.Attrs)
	if err != nil {
		t.Fatal(err)
	}
	want := "\n    <!-- kept --><out:a>1</out:a>\n    <d xmlns=\"http://plain/\"><e/></d>\n    <p:n xmlns:p='http://my/' k='1'><p:o/><q xmlns='http://q/'/></p:n>\n  "
	if diff := cmp.Diff(want, changed.Inner); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d.Metadata.Inner != was {
		t.Error("the old document was changed")
	}
	for _, uri := range []string{"http://my/", "http://out/"} {
		if changed, err = changed.WithElement(uri, "", "", d.Extra.Attrs); err != nil {
			t.Fatal(err)
		}
	}
	if want := "\n    <!-- kept -->\n    <d xmlns=\"http://plain/\"><e/></d>\n  "; changed.Inner != want {
		t.Errorf("left is %q, want %q", changed.Inner, want)
	}
	alone, err := (*Metadata)(nil).WithElement("http://my/", "p", "<n/>", nil)
	if err != nil || alone.Inner != "\n    <p:n xmlns:p='http://my/'/>\n  " {
		t.Fatalf("got %+v (%v)", alone, err)
	}
	if none, err := alone.WithElement("http://my/", "", "", nil); none != nil || err != nil {
		t.Errorf("left is %+v (%v), want nothing", none, err)
	}
}

func TestAnElementThatCannotBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, text, want string }{
		{"p", "<a>", "document ends inside <a>"},
		{"p", "text", "text outside the root element"},
		{"p", "<a/><b/>", "content after the end of the document"},
		{"p", "<!DOCTYPE a><a/>", "not accepted"},
		{"a b", "<a/>", `"a b" cannot be a prefix of a namespace`},
		{"", "<a/>", `"" cannot be a prefix`},
		{"x:y", "<a/>", "cannot be a prefix"},
		{"xmlns", "<a/>", "cannot be a prefix"},
		{"p", "<a xmlns:p='http://other/'/>", "declares the prefix p itself"},
	} {
		m, err := (*Metadata)(nil).WithElement("http://my/", c.prefix, c.text, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q as %q: got %+v, %v; want an error with %q", c.text, c.prefix, m, err, c.want)
		}
	}
}

func TestElementsOfManyApplicationsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var m *Metadata
		want := map[string]string{}
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			uri := rapid.SampledFrom([]string{"http://a/", "http://b/?x&amp;y", "http://c/"}).Draw(t, "uri")
			text := rapid.SampledFrom([]string{"", "<a/>", "<a b='c'>t<d/><!-- e --></a>", "<x:a xmlns:x='http://x/'><b/></x:a>", "<a><![CDATA[<]]></a>"}).Draw(t, "text")
			var err error
			if m, err = m.WithElement(uri, rapid.SampledFrom([]string{"p", "q"}).Draw(t, "prefix"), text, nil); err != nil {
				t.Fatal(err)
			}
			if want[uri] = text; strings.HasPrefix(text, "<x:") {
				delete(want, uri) // it is in a namespace of its own, and stays there
			}
		}
		for uri, text := range want {
			if got, _, err := m.Element(uri, nil); err != nil || got != text {
				t.Fatalf("%s: got %q (%v), want %q", uri, got, err, text)
			}
		}
	})
}

func FuzzMetadata(f *testing.F) {
	f.Add("<a/>", "p", "http://my/")
	f.Add("<a xmlns='b'><c:d xmlns:c='e'/></a>", "q", "b")
	f.Fuzz(func(t *testing.T, text, prefix, uri string) {
		m, err := (*Metadata)(nil).WithElement(uri, prefix, text, nil)
		if err != nil || m == nil {
			return
		}
		doc := "<domain type='qemu'><name>d</name><metadata>" + m.Inner + "</metadata></domain>"
		d, err := ParseDomain([]byte(doc))
		if err != nil {
			t.Skip() // a name with a character that no XML may have: the caller parses the whole again
		}
		if _, _, err := d.Metadata.Element(uri, nil); err != nil {
			t.Errorf("%q: %v", doc, err)
		}
	})
}
