package spec

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func seeds(f *testing.F, kind string) {
	for _, g := range goldens(f, kind) {
		f.Add(g.input)
		f.Add(g.formatted)
	}
	for _, s := range []string{
		"", "<domain/>", "<domain", "<a:b/>", "<domain>&#x41;</domain>", "<!DOCTYPE domain>",
		"<domain><name>\r\n<![CDATA[x]]></name><name/></domain>", "<network><ip><dhcp/></ip></network>",
	} {
		f.Add([]byte(s))
	}
}

func FuzzParseDomain(f *testing.F) {
	seeds(f, "domain")
	f.Fuzz(func(t *testing.T, doc []byte) {
		d, err := ParseDomain(doc)
		var syntax *SyntaxError
		if err != nil {
			if !errors.As(err, &syntax) || syntax.Line < 1 {
				t.Errorf("error %v is not a *SyntaxError with a line", err)
			}
			return
		}
		typed(t, d.Validate())
		out := d.Format()
		again, err := ParseDomain(out)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, out)
		}
		if !bytes.Equal(out, again.Format()) {
			t.Errorf("not the same again:\n%s\n%s", out, again.Format())
		}
	})
}

func FuzzParseNetwork(f *testing.F) {
	seeds(f, "network")
	f.Fuzz(func(t *testing.T, doc []byte) {
		n, err := ParseNetwork(doc)
		if err != nil {
			return
		}
		typed(t, n.Validate())
		out := n.Format()
		again, err := ParseNetwork(out)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, out)
		}
		if !bytes.Equal(out, again.Format()) {
			t.Errorf("not the same again:\n%s\n%s", out, again.Format())
		}
	})
}

// FuzzParseStorage reads pools and volumes.
func FuzzParseStorage(f *testing.F) {
	for _, s := range []string{
		"<pool type='dir'><name>p</name><target><path>/p</path><permissions><mode>0711</mode><owner>0</owner></permissions></target></pool>",
		"<volume><name>v</name><capacity unit='GiB'>1</capacity><allocation>0</allocation><target><format type='qcow2'/><features><lazy_refcounts/></features></target><backingStore><path>/b</path><format type='raw'/></backingStore></volume>",
		"<pool type='logical'/>", "<volume type='block'><capacity unit='?'>-1</capacity></volume>",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if p, err := ParseStoragePool(doc); err == nil {
			typed(t, p.Validate())
			out := p.Format()
			again, err := ParseStoragePool(out)
			if err != nil || !bytes.Equal(out, again.Format()) {
				t.Errorf("not the same again: %v\n%s", err, out)
			}
		}
		if v, err := ParseStorageVolume(doc); err == nil {
			typed(t, v.Validate())
			out := v.Format()
			again, err := ParseStorageVolume(out)
			if err != nil || !bytes.Equal(out, again.Format()) {
				t.Errorf("not the same again: %v\n%s", err, out)
			}
		}
	})
}

func typed(t *testing.T, err error) {
	t.Helper()
	var inv *InvalidError
	var uns *UnsupportedError
	if err != nil && !errors.As(err, &inv) && !errors.As(err, &uns) {
		t.Errorf("Validate: %v is of type %T", err, err)
	}
}

// FuzzScanner holds the scanner against encoding/xml: what the scanner accepts, the library reads with the same content.
func FuzzScanner(f *testing.F) {
	seeds(f, "domain")
	f.Fuzz(func(t *testing.T, doc []byte) {
		ours, err := ourTokens(doc)
		if err != nil || bytes.ContainsFunc(doc, func(r rune) bool { return r > 126 }) { // the library's names are XML 1.0 first edition
			return
		}
		theirs, err := theirTokens(doc)
		if err != nil {
			t.Fatalf("accepted, and encoding/xml says: %v", err)
		}
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Errorf("content differs (-encoding/xml +ours):\n%s", diff)
		}
	})
}

var flat = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ") // the library does not normalise attributes

func addText(out []string, text string) []string {
	if text == "" {
		return out
	}
	if n := len(out); n > 0 && strings.HasPrefix(out[n-1], "text ") {
		out[n-1] += text
		return out
	}
	return append(out, "text "+text)
}

func ourTokens(doc []byte) ([]string, error) {
	s, err := newScanner(doc)
	if err != nil {
		return nil, err
	}
	var out []string
	for {
		tok, err := s.next()
		if err != nil {
			return nil, err
		}
		switch tok.kind {
		case tokenEOF:
			return out, nil
		case tokenStart:
			line := "start " + tok.name
			for _, a := range tok.attrs {
				line += " " + a.Name.Local + "=" + strings.ReplaceAll(flat.Replace(a.Value), "  ", " ")
			}
			if out = append(out, line); tok.empty {
				out = append(out, "end "+tok.name)
			}
		case tokenEnd:
			out = append(out, "end "+tok.name)
		case tokenText:
			if len(s.open) > 0 {
				out = addText(out, tok.text)
			}
		}
	}
}

func theirTokens(doc []byte) ([]string, error) {
	d := xml.NewDecoder(bytes.NewReader(doc))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	joined := func(n xml.Name) string {
		if n.Space == "" {
			return n.Local
		}
		return n.Space + ":" + n.Local
	}
	var out []string
	depth := 0
	for {
		tok, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			depth++
			line := "start " + joined(tok.Name)
			for _, a := range tok.Attr {
				line += " " + joined(a.Name) + "=" + strings.ReplaceAll(flat.Replace(a.Value), "  ", " ")
			}
			out = append(out, line)
		case xml.EndElement:
			depth--
			out = append(out, "end "+joined(tok.Name))
		case xml.CharData:
			if depth > 0 {
				out = addText(out, string(tok))
			}
		}
	}
}
