package spec

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestADocumentThatIsNotWellFormedIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("<a>", maxDepth+1) + strings.Repeat("</a>", maxDepth+1)
	many := strings.Repeat("<a/>", maxNodes+1)
	bomb := `<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>` + "\n<domain>&b;</domain>"
	for _, c := range []struct{ name, doc, want string }{
		{"nothing", "", "line 1: document is empty"},
		{"blanks", " \n ", "line 2: document is empty"},
		{"text", "hello", "line 1: text outside the root element"},
		{"another root", "<network/>", "line 1: root element is <network>, want <domain>"},
		{"a root in a namespace", "<domain xmlns='urn:x'/>", "line 1: root element <domain> is in a namespace; it must be in none"},
		{"cut in an element", "<domain>\n<name>x", "line 2: document ends inside <name>"},
		{"cut in a tag", "<domain>\n<name", "line 2: document ends inside a tag"},
		{"cut in an attribute", "<domain>\n<a b='", "line 2: the value of attribute b does not end"},
		{"cut in a comment", "<domain><!-- ", "line 1: comment does not end or contains '--'"},
		{"cut in CDATA", "<domain><![CDATA[x", "line 1: CDATA section does not end"},
		{"two roots", "<domain/>\n<domain/>", "line 2: content after the end of the document"},
		{"trailing text", "<domain/>\nx", "line 2: text outside the root element"},
		{"crossed tags", "<domain><a><b></a></b></domain>", "line 1: <b> is closed by </a>"},
		{"a stray end", "</domain>", "line 1: </domain> closes nothing"},
		{"an attribute twice", "<domain a='1' a='2'/>", "line 1: attribute a is given twice"},
		{"one of many attributes twice", "<domain " + manyAttrs(20) + " a7='x'/>", "line 1: attribute a7 is given twice"},
		{"no quotes", "<domain a=1/>", "line 1: the value of attribute a is not quoted"},
		{"no value", "<domain a/>", "line 1: attribute a has no value"},
		{"no blank between attributes", "<domain a='1'b='2'/>", "line 1: white space is missing before an attribute"},
		{"less-than in an attribute", "<domain a='<'/>", "line 1: the value of attribute a contains '<' (write &lt;)"},
		{"a bare ampersand", "<domain>\n<name>a & b</name></domain>", "line 2: '&' begins no reference (write &amp; for the character)"},
		{"an undeclared entity", "<domain><name>&nbsp;</name></domain>", "line 1: entity &nbsp; is not known; entities cannot be declared"},
		{"an entity bomb", bomb, "line 1: document type declarations and entities are not accepted"},
		{"a character XML has not", "<domain><name>&#0;</name></domain>", "line 1: reference &#0; is no character of XML"},
		{"a character past Unicode", "<domain><name>&#x110000;</name></domain>", "line 1: reference &#x110000; is no character of XML"},
		{"NUL", "<domain>\n<name>a\x00b</name></domain>", "line 2: character U+0000 is not allowed in XML"},
		{"half a character", "<domain>\n\n<name>\xc3</name></domain>", "line 3: document is not valid UTF-8"},
		{"another encoding", "<?xml version='1.0' encoding='UTF-16'?><domain/>", `line 1: encoding "UTF-16" is not supported; convert the document to UTF-8`},
		{"a late declaration", "<domain/>\n<?xml version='1.0'?>", "line 2: an XML declaration may only open the document"},
		{"too deep", "<domain>" + deep + "</domain>", "line 1: elements are nested more than 64 deep"},
		{"too many", "<domain>" + many + "</domain>", "line 1: document has more than 262144 elements and attributes"},
		{"a prefix nobody declared", "<domain><a:b/></domain>", "line 1: prefix of <a:b> is not declared"},
		{"text between elements", "<domain>\n<os>\n hvm</os></domain>", `line 2: text "hvm" has no place in <os>`},
		{"a UUID of other length", "<domain>\n<uuid>12</uuid></domain>", `line 2: <uuid>: malformed UUID "12": want 32 hexadecimal digits`},
		{"more namespaces than anybody has", "<domain>\n<a " + strings.ReplaceAll(manyAttrs(maxNamespaces+1), " a", " xmlns:a") + "/></domain>", "line 2: more than 256 namespaces are declared"},
		{"prefix qemu for something else", "<domain xmlns:qemu='urn:x'/>", `line 1: prefix qemu is bound to "urn:x"; it must be http://libvirt.org/schemas/domain/qemu/1.0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseDomain([]byte(c.doc))
			var s *SyntaxError
			if !errors.As(err, &s) || err.Error() != c.want {
				t.Errorf("%.80q\n got %v\nwant %s", c.doc, err, c.want)
			}
		})
	}
}

func manyAttrs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d='%d'", i, i)
	}
	return b.String()
}

// Not parallel: what others allocate meanwhile would count.
func TestTextInManyPiecesCostsNoMoreThanItsLength(t *testing.T) {
	const n = 1 << 16
	cut := strings.Repeat("a<!-- -->", n)
	blanks := strings.Repeat(" <!-- -->", n)
	doc := "<domain type='qemu'><description>" + cut + "</description><vcpu>" + blanks + "4" + blanks + "</vcpu><devices>" + blanks + "</devices></domain>"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := ParseDomain([]byte(doc))
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Description) != n || strings.Trim(d.Description, "a") != "" || d.VCPU.Value != "4" {
		t.Errorf("read %d bytes of description and %q CPUs", len(d.Description), d.VCPU.Value)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16*uint64(len(doc)) {
		t.Errorf("reading %d bytes took %d", len(doc), took)
	}
}

func TestADocumentLargerThanTheLimitIsNotLookedAt(t *testing.T) {
	t.Parallel()
	doc := bytes.Repeat([]byte{0}, MaxDocument+1)
	for _, parse := range []func([]byte) error{
		func(b []byte) error { _, err := ParseDomain(b); return err },
		func(b []byte) error { _, err := ParseNetwork(b); return err },
		func(b []byte) error { _, err := Kind(b); return err },
	} {
		err := parse(doc)
		if want := "line 1: document of 16777217 bytes is too large (limit 16777216)"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestEveryTruncationOfADocumentIsAnError(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "domain") {
		doc := bytes.TrimSpace(g.input)
		for n := range len(doc) {
			if _, err := ParseDomain(doc[:n]); err == nil {
				t.Errorf("%s cut after %d bytes was accepted", g.path, n)
			}
		}
	}
}

func TestKindIsTheRootElement(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"<?xml version='1.0'?>\n<!-- x -->\n<network>": "network",
		"\ufeff<domain type='kvm'/>":                   "domain",
	} {
		if got, err := Kind([]byte(doc)); err != nil || got != want {
			t.Errorf("Kind(%q) = %q, %v; want %q", doc, got, err, want)
		}
	}
	if got, err := Kind([]byte("\n<>")); err == nil {
		t.Errorf("Kind of a malformed document = %q", got)
	}
}

func TestCharactersAreWrittenSoThatTheyAreReadBack(t *testing.T) {
	t.Parallel()
	const all = "a<b>&'\"\t\n\r\u00e9\U0001f600 "
	d := &Domain{Type: "qemu", Name: "x" + all + "x", Extra: Extra{Attrs: attrs("odd", all)}}
	got, err := ParseDomain(d.Format())
	if err != nil {
		t.Fatalf("%v\n%s", err, d.Format())
	}
	if v, _ := findAttr(got.Attrs, "odd"); got.Name != d.Name || v != all {
		t.Errorf("got name %q and attribute %q, want %q and %q", got.Name, v, d.Name, all)
	}
}

func TestLineEndsOfOtherSystemsAreRead(t *testing.T) {
	t.Parallel()
	d, err := ParseDomain([]byte("<domain\r\n type='a\r\nb'>\r\n<description>one\r\ntwo\rthree<![CDATA[\r\n]]></description>\r\n</domain>\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Type != "a b" || d.Description != "one\ntwo\nthree\n" {
		t.Errorf("got type %q, description %q", d.Type, d.Description)
	}
}
