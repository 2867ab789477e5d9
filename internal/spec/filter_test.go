package spec

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const filterDoc = `<filter name='f' chain='arp-x' priority='-520'>
  <uuid>f88f1932-debf-4aa1-9fbe-f10d3aa4bc95</uuid>
  <rule action='drop' direction='out' priority='300' statematch='false'>
    <arp match='no' arpsrcmacaddr='$MAC'/>
    <arp opcode='Reply' comment='it&apos;s'/>
  </rule>
  <filterref filter='other'>
    <parameter name='IP' value='10.0.0.1'/>
    <parameter name='IP' value='10.0.0.2'/>
  </filterref>
  <rule action='accept' direction='in' later='1'/>
  <app:note xmlns:app='urn:x'>kept</app:note>
</filter>
`

func TestFiltersLoseNothingAndKeepTheirOrder(t *testing.T) {
	t.Parallel()
	f, err := ParseFilter([]byte(filterDoc))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Validate(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(strings.Split(filterDoc, "\n"), strings.Split(string(f.Clone().Format()), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(f.Entries) != 3 || f.Entries[1].Ref == nil || !cmp.Equal(f.Entries[1].Ref.Values(), map[string][]string{"IP": {"10.0.0.1", "10.0.0.2"}}) {
		t.Errorf("entries: %+v", f.Entries)
	}
	if got := f.References(); !cmp.Equal(got, []string{"other"}) {
		t.Errorf("references: %v", got)
	}
	// Another layout of the same document becomes this one.
	loose := strings.NewReplacer("\n  ", "\n\t\t<!-- why -->\n", "'", `"`, "it&apos;s", "it's").Replace(filterDoc)
	g, err := ParseFilter([]byte(loose))
	if err != nil || string(g.Format()) != filterDoc {
		t.Errorf("%v\n%s", err, g.Format())
	}
}

func TestFramesOfFiltersAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ doc, want string }{
		{"<filter/>", "@name"},
		{"<filter name='a/b'/>", "@name"},
		{"<filter name='a' chain='tcp'/>", "@chain"},
		{"<filter name='a' chain='arp-but-this-is-too-long'/>", "@chain"},
		{"<filter name='a' chain='arp x'/>", "@chain"},
		{"<filter name='a' priority='1001'/>", "@priority"},
		{"<filter name='a'><rule direction='in'/></filter>", "rule/@action"},
		{"<filter name='a'><rule action='drop'/></filter>", "rule/@direction"},
		{"<filter name='a'><rule action='drop' direction='in' statematch='maybe'/></filter>", "rule/@statematch"},
		{"<filter name='a'><rule action='drop' direction='in' priority='x'/></filter>", "rule/@priority"},
		{"<filter name='a'><rule action='drop' direction='in'><tcp/><udp/></rule></filter>", "rule/udp"},
		{"<filter name='a'><filterref/></filter>", "filterref/@filter"},
		{"<filter name='a'><filterref filter='b'><parameter name='a-b' value='1'/></filterref></filter>", "filterref/parameter/@name"},
		{"<filter name='a'><filterref filter='b'><parameter name='a' value='$B'/></filterref></filter>", "filterref/parameter/@value"},
	} {
		f, err := ParseFilter([]byte(c.doc))
		if err != nil {
			t.Errorf("%s: %v", c.doc, err)
			continue
		}
		var invalid *InvalidError
		if err := f.Validate(); !errors.As(err, &invalid) || invalid.Element != c.want {
			t.Errorf("%s: got %v, want one about %s", c.doc, err, c.want)
		}
	}
}

const bindingDoc = `<filterbinding>
  <owner>
    <name>vm</name>
    <uuid>f88f1932-debf-4aa1-9fbe-f10d3aa4bc95</uuid>
  </owner>
  <portdev name='vnet0'/>
  <mac address='52:54:00:00:00:01'/>
  <filterref filter='clean-traffic'>
    <parameter name='IP' value='10.0.0.1'/>
  </filterref>
</filterbinding>
`

func TestFilterBindingsLoseNothingAndAreChecked(t *testing.T) {
	t.Parallel()
	b, err := ParseFilterBinding([]byte(bindingDoc))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Validate(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(strings.Split(bindingDoc, "\n"), strings.Split(string(b.Clone().Format()), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for remove, want := range map[string]string{
		"<name>vm</name>": "owner/name", "<uuid>f88f1932-debf-4aa1-9fbe-f10d3aa4bc95</uuid>": "owner/uuid", "name='vnet0'": "portdev/@name",
		"<mac address='52:54:00:00:00:01'/>": "mac", "filter='clean-traffic'": "filterref/@filter", "4:00:00:00:01": "mac/@address",
	} {
		b, err := ParseFilterBinding([]byte(strings.Replace(bindingDoc, remove, "", 1)))
		if err != nil {
			t.Errorf("without %s: %v", remove, err)
			continue
		}
		var invalid *InvalidError
		if err := b.Validate(); !errors.As(err, &invalid) || invalid.Element != want {
			t.Errorf("without %s: got %v, want one about %s", remove, err, want)
		}
	}
}

// FuzzParseFilter reads filters and bindings.
func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{filterDoc, bindingDoc, "<filter/>", "<filter name='a'><rule><tcp><x/></tcp></rule><filterref><parameter><y/></parameter><z/></filterref></filter>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if x, err := ParseFilter(doc); err == nil {
			typed(t, x.Validate())
			out := x.Format()
			again, err := ParseFilter(out)
			if err != nil || !bytes.Equal(out, again.Format()) {
				t.Errorf("not the same again: %v\n%s", err, out)
			}
		}
		if x, err := ParseFilterBinding(doc); err == nil {
			typed(t, x.Validate())
			out := x.Format()
			again, err := ParseFilterBinding(out)
			if err != nil || !bytes.Equal(out, again.Format()) {
				t.Errorf("not the same again: %v\n%s", err, out)
			}
		}
	})
}
