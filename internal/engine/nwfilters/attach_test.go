package nwfilters

import (
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taproom/internal/network/nwfilter"
	"taproom/internal/spec"
)

func TestADaemonWithoutFiltersDoesNotOpenWhatKeepsTheRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("a", 1, ""))
	w.daemon(nil)
	if w.kernel.opens != 0 {
		t.Errorf("opened %d times", w.kernel.opens)
	}
	w.attach(nic("vnet0", "a"))
	if w.kernel.opens != 1 || w.attached() != "vnet0" {
		t.Errorf("opened %d times, attached %q", w.kernel.opens, w.attached())
	}
	w.daemon(nil) // the guest ended meanwhile, and nobody took its filter off
	if w.attached() != "" {
		t.Errorf("after a restart %q is attached", w.attached())
	}
}

func TestADaemonThatStartsMakesTheDifferenceInOneTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("a", 1, ""))
	w.mustDefine(filter("b", 1, ""))
	w.attach(nic("vnet0", "a"), nic("vnet1", "a"), nic("vnet2", "a"), nic("orphan0", "a"))
	delete(w.kernel.ports, "vnet1") // flushed by somebody
	n := len(w.kernel.applies)
	w.daemon([]Binding{nic("vnet0", "a"), nic("vnet1", "a"), nic("vnet3", "b")})
	if got := w.kernel.since(n); got != "+vnet1 +vnet3 -vnet2" {
		t.Errorf("transactions %q", got)
	}
	n = len(w.kernel.applies)
	w.daemon([]Binding{nic("vnet0", "a"), nic("vnet1", "a"), nic("vnet3", "b")})
	if got := w.kernel.since(n); got != "" {
		t.Errorf("the second time: transactions %q", got)
	}
}

func TestALinkWhoseFilterIsGoneKeepsItsRulesOrLetsNothingPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("a", 1, ""))
	w.attach(nic("vnet0", "a"))
	before := w.kernel.ports["vnet0"]
	files, err := filepath.Glob(filepath.Join(w.dir, "defs", "*.state"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.problems = nil
	w.daemon([]Binding{nic("vnet0", "a"), nic("vnet1", "a")})
	if w.kernel.ports["vnet0"] != before || w.attached() != "vnet0 vnet1" {
		t.Errorf("attached %v", w.kernel.ports)
	}
	said := strings.Join(w.problems, "\n")
	for _, want := range []string{"is damaged", "vnet0 of domain 'web' keeps the rules", "vnet1 of domain 'web' lets nothing pass"} {
		if !strings.Contains(said, want) {
			t.Errorf("problems are %s; want %q among them", said, want)
		}
	}
}

func TestAFailedAttachmentLeavesWhatWasThere(t *testing.T) {
	t.Parallel()
	for _, took := range []bool{false, true} {
		w := newWorld(t)
		w.mustDefine(filter("a", 1, ""))
		w.mustDefine(filter("b", 2, ""))
		w.attach(nic("vnet0", "a"))
		before := w.kernel.ports["vnet0"]
		w.kernel.broken = []fault{{took}}
		complains(t, w.Attach(t.Context(), []Binding{nic("vnet0", "b"), nic("vnet1", "b")}), "vnet0", "'b'", errBroken.Error())
		if w.attached() != "vnet0" || w.kernel.ports["vnet0"] != before {
			t.Errorf("took effect %v: attached %v", took, w.kernel.ports)
		}
		if b, _ := w.Bound("vnet0"); b.Filter != "a" {
			t.Errorf("it is remembered as %q", b.Filter)
		}
	}
}

func TestWhatIsAnotherGuestsMeanwhileStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("a", 1, ""))
	w.attach(nic("vnet0", "a"))
	if err := w.Detach(t.Context(), spec.UUID{15: 9}, []string{"vnet0"}); err != nil {
		t.Fatal(err)
	}
	if w.attached() != "vnet0" {
		t.Error("a guest took off the filter of another")
	}
}

func TestBindingsThatClientsMakeAreKeptAndTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("a", 1, ""))
	xml := "<filterbinding><owner><name>web</name><uuid>11111111-2222-3333-4444-000000000009</uuid></owner><portdev name='tap7'/><mac address='52:54:00:00:00:07'/><filterref filter='a'/></filterbinding>"
	if _, err := w.CreateNWFilterBinding(t.Context(), xml, 0); err != nil {
		t.Fatal(err)
	}
	_, err := w.CreateNWFilterBinding(t.Context(), xml, 0)
	complains(t, err, "binding 'tap7' already exists")
	_, err = w.CreateNWFilterBinding(t.Context(), strings.NewReplacer("tap7", "tap8", "'a'", "'none'").Replace(xml), 0)
	complains(t, err, "tap8", "'none'", "no filter of that name")
	complains(t, w.Attach(t.Context(), []Binding{nic("tap7", "a")}), "a client has bound a filter")
	w.daemon([]Binding{nic("vnet0", "a")})
	if list := w.ListNWFilterBindings(); len(list) != 2 || list[0].Port != "tap7" || w.attached() != "tap7 vnet0" {
		t.Errorf("after a restart: %v, attached %q", list, w.attached())
	}
	doc, err := w.NWFilterBindingXML("tap7")
	if err != nil || !strings.Contains(doc, "<portdev name='tap7'/>") {
		t.Errorf("%v: %s", err, doc)
	}
	complains(t, w.DeleteNWFilterBinding(t.Context(), "vnet0"), "its document's")
	if err := w.DeleteNWFilterBinding(t.Context(), "tap7"); err != nil {
		t.Fatal(err)
	}
	complains(t, w.DeleteNWFilterBinding(t.Context(), "tap7"), "no nwfilter binding for port dev 'tap7'")
	w.daemon([]Binding{nic("vnet0", "a")})
	if w.attached() != "vnet0" {
		t.Errorf("after its removal and a restart %q is attached", w.attached())
	}
}

func TestWhatOthersFlushIsFoundAndMendedWhenSaidSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("a", 1, ""))
	w.attach(nic("vnet0", "a"), nic("vnet1", "a"))
	delete(w.kernel.ports, "vnet1")
	for _, mend := range []bool{false, true} {
		var ports []string
		if err := w.Look(t.Context(), nil, func(d Difference) bool {
			ports = d.Ports()
			return mend
		}); err != nil {
			t.Fatal(err)
		}
		if strings.Join(ports, " ") != "vnet1" {
			t.Errorf("the difference is %v", ports)
		}
	}
	if w.attached() != "vnet0 vnet1" {
		t.Errorf("attached %q", w.attached())
	}
}

func TestANICIsPinnedToItsAddressWithAndWithoutAFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("a", 1, ""))
	alone, both := nic("vnet0", ""), nic("vnet1", "a")
	alone.PinMAC, both.PinMAC = true, true
	w.attach(alone, both)
	if list := w.ListNWFilterBindings(); len(list) != 1 || list[0].Port != "vnet1" {
		t.Errorf("bindings %v, want that of the filter alone", list)
	}
	for _, b := range []Binding{alone, both} {
		if own, other := passes(t, w, b.Port, "525400000001"), passes(t, w, b.Port, "525400000002"); !own || other {
			t.Errorf("%s: with its own address passes %v, with another %v", b.Port, own, other)
		}
	}
}

// passes reports whether a frame from the guest passes what a link has.
func passes(t *testing.T, w *world, port, mac string) bool {
	t.Helper()
	p, err := w.Program(port)
	if err != nil {
		t.Fatal(err)
	}
	frame, err := hex.DecodeString("020000000001" + mac + "88b5" + strings.Repeat("00", 46))
	if err != nil {
		t.Fatal(err)
	}
	d, err := nwfilter.Simulate(p.Program, p.Values, nwfilter.Out, frame, nwfilter.Flow{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Verdict == nwfilter.Accept
}

func TestAddressesThatAreLearnedAreThoseOfTheVariables(t *testing.T) {
	t.Parallel()
	b := nic("vnet0", "f", "CTRL_IP_LEARNING=dhcp")
	b.Learned = []netip.Addr{netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("fd00::7"), netip.MustParseAddr("10.0.0.8")}
	params := map[string][]string{}
	addresses(params, b.Learned)
	if got := strings.Join(params["IP"], " ") + "; " + strings.Join(params["IPV6"], " "); got != "10.0.0.7 10.0.0.8; fd00::7" {
		t.Errorf("the variables are %s", got)
	}
	params = map[string][]string{"IP": {"10.0.0.9"}}
	addresses(params, nil)
	if got := strings.Join(params["IP"], " ") + "; " + strings.Join(params["IPV6"], " "); got != "10.0.0.9; ::" {
		t.Errorf("the variables are %s", got)
	}
}
