package spec

import (
	"encoding/xml"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func attrs(pairs ...string) []xml.Attr {
	var out []xml.Attr
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, xml.Attr{Name: xml.Name{Local: pairs[i]}, Value: pairs[i+1]})
	}
	return out
}

// full writes an element of type p with everything it can have, and on and in each of them something unknown.
func full(b *strings.Builder, name string, p *plan, depth int) {
	fmt.Fprintf(b, "<%s", name)
	for _, a := range p.attrs {
		fmt.Fprintf(b, " %s='v'", a.name)
	}
	if p.inner >= 0 {
		fmt.Fprintf(b, " unknown-attr='1'><x:inside y='2'/> as\tit is </%s>\n", name)
		return
	}
	b.WriteString(" unknown-attr='1'>")
	if p.text >= 0 {
		b.WriteString("text")
	}
	for _, f := range p.elements {
		switch f.shape {
		case shapeText:
			fmt.Fprintf(b, "<%s unknown-attr='1'> t <unknown-in-leaf/></%s>", f.name, f.name)
		case shapeCoded:
			fmt.Fprintf(b, "<%s unknown-attr='1'>00000000-0000-0000-0000-000000000001</%s>", f.name, f.name)
		default:
			if depth < 10 {
				full(b, f.name, f.plan, depth+1)
			}
			if depth < 10 && f.shape == shapeSlice {
				full(b, f.name, f.plan, depth+1)
			}
		}
	}
	fmt.Fprintf(b, "<unknown-element z='\"'><!-- kept --> <k/></unknown-element></%s>\n", name)
}

func TestEverythingKnownAndUnknownSurvivesAtEveryLevel(t *testing.T) {
	t.Parallel()
	for root, typ := range map[string]reflect.Type{"domain": reflect.TypeFor[Domain](), "network": reflect.TypeFor[Network]()} {
		var b strings.Builder
		full(&b, root, plans()[typ], 0)
		doc := strings.Replace(b.String(), "<"+root, "<"+root+" xmlns:x='urn:x' xmlns:qemu='"+QEMUNamespace+"' xmlns:dnsmasq='"+DnsmasqNamespace+"'", 1)
		v := reflect.New(typ)
		if err := decodeDocument([]byte(doc), root, v.Interface()); err != nil {
			t.Fatalf("%s: %v", root, err)
		}
		out := string(formatDocument(root, v.Interface()))
		again := reflect.New(typ)
		if err := decodeDocument([]byte(out), root, again.Interface()); err != nil {
			t.Fatalf("%s written: %v", root, err)
		}
		if diff := cmp.Diff(v.Interface(), again.Interface()); diff != "" {
			t.Errorf("%s read again differs:\n%s", root, diff)
		}
		for _, piece := range []string{
			" unknown-attr='1'", "<unknown-in-leaf/>", "<unknown-element z=", "<!-- kept --> <k/>", "<x:inside y='2'/> as\tit is ", "='v'", ">text",
		} {
			if in, got := strings.Count(doc, piece), strings.Count(out, piece); in != got || in == 0 && root == "domain" {
				t.Errorf("%s: %q occurs %d times and %d times after formatting", root, piece, in, got)
			}
		}
	}
}

// randomElement draws an element whose names are known to the documents or not, with any nesting.
func randomElement(t *rapid.T, names []string, depth int) string {
	name := rapid.SampledFrom(names).Draw(t, "name")
	return element(t, name, names, depth)
}

func element(t *rapid.T, name string, names []string, depth int) string {
	var b strings.Builder
	b.WriteString("<" + name)
	for _, a := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID[string]).Draw(t, "attrs") {
		b.WriteString(" " + a + "='")
		b.Write(appendAttr(nil, rapid.StringN(0, 5, -1).Filter(legalString).Draw(t, "value")))
		b.WriteString("'")
	}
	b.WriteString(">")
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "text") == 0 {
		if depth == 0 || depth > 2 {
			b.Write(appendText(nil, rapid.SampledFrom([]string{"", " ", "x", " x\n y ", "1&2", "\r"}).Draw(t, "string")))
		}
	} else {
		for range rapid.IntRange(0, 4).Draw(t, "children") {
			b.WriteString(randomElement(t, names, depth-1))
		}
	}
	b.WriteString("</" + name + ">")
	return b.String()
}

func legalString(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !legalRune(r) })
}

func TestWhatWasWrittenOnceIsWrittenTheSameAgain(t *testing.T) {
	t.Parallel()
	names := []string{"a", "new"}
	for _, p := range plans() {
		for _, f := range append(p.elements, p.attrs...) {
			if !strings.Contains(f.name, ":") && f.name != "uuid" {
				names = append(names, f.name)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d, err := ParseDomain([]byte(element(t, "domain", names, 4)))
		if err != nil {
			t.Skip(err) // text in a wrong place
		}
		out := d.Format()
		again, err := ParseDomain(out)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, out)
		}
		if got := again.Format(); string(got) != string(out) {
			t.Fatalf("first %s\nthen %s", out, got)
		}
		if diff := cmp.Diff(d, again); diff != "" {
			t.Fatalf("value changes: %s", diff)
		}
	})
}

func TestTheOrderOfADocumentIsNoPartOfItsValue(t *testing.T) {
	t.Parallel()
	first, err := ParseDomain([]byte("<domain type='qemu'><title a='1'>t</title><name a='2'>n</name></domain>"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseDomain(first.Format())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("read again (-first +again):\n%s", diff)
	}
}

func TestACloneSharesNothing(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	full(&b, "domain", plans()[reflect.TypeFor[Domain]()], 0)
	doc := strings.Replace(b.String(), "<domain", "<domain xmlns:x='urn:x' xmlns:qemu='"+QEMUNamespace+"'", 1)
	d, err := ParseDomain([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	before := string(d.Format())
	c := d.Clone()
	if diff := cmp.Diff(d, c); diff != "" {
		t.Fatalf("clone differs:\n%s", diff)
	}
	scribble(reflect.ValueOf(c).Elem())
	if after := string(d.Format()); after != before {
		t.Errorf("writing to the clone changed the original:\n%s", cmp.Diff(before, after))
	}
}

// scribble overwrites every string below v.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("scribbled")
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			scribble(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			scribble(v.Field(i))
		}
	case reflect.Uint8:
		v.SetUint(0xee)
	}
}
