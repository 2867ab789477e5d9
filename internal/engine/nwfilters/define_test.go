package nwfilters

import (
	"fmt"
	"strings"
	"testing"

	"taproom/internal/api/virterr"
)

func (w *world) xml(name string) string {
	w.t.Helper()
	f, err := w.NWFilterByName(name)
	if err != nil {
		return ""
	}
	doc, err := w.NWFilterXML(f.UUID)
	if err != nil {
		w.t.Fatal(err)
	}
	return doc
}

func (w *world) undefine(name string) error {
	w.t.Helper()
	f, err := w.NWFilterByName(name)
	if err != nil {
		return err
	}
	return w.UndefineNWFilter(w.t.Context(), f.UUID)
}

func TestAFilterThatManyUseIsChangedForAllInOneTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("inner", 22, ""))
	w.mustDefine(filter("outer", 80, refers("inner")))
	for i := range 10 {
		w.attach(nic(fmt.Sprintf("vnet%d", i), "outer"))
	}
	w.attach(nic("other", "clean-traffic", "IP=10.0.0.1"))
	n, before, other := len(w.kernel.applies), w.kernel.ports["vnet3"], w.kernel.ports["other"]
	w.mustDefine(filter("inner", 23, ""))
	if got := w.kernel.since(n); got != "+vnet0 +vnet1 +vnet2 +vnet3 +vnet4 +vnet5 +vnet6 +vnet7 +vnet8 +vnet9" {
		t.Errorf("transactions %q, want one for the ten", got)
	}
	if w.kernel.ports["vnet3"] == before || w.kernel.ports["other"] != other {
		t.Errorf("after the change: %v", w.kernel.ports)
	}
	if !strings.Contains(w.xml("inner"), "dstportstart='23'") {
		t.Errorf("the document is %s", w.xml("inner"))
	}
	w.daemon(nil) // it is kept
	if !strings.Contains(w.xml("inner"), "dstportstart='23'") {
		t.Errorf("after a restart the document is %s", w.xml("inner"))
	}
}

func TestAChangeThatOneNICCannotHaveChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("f", 22, ""))
	w.attach(nic("vnet0", "f"), nic("vnet1", "f", "PORT=80"))
	n, doc := len(w.kernel.applies), w.xml("f")
	err := w.define("<filter name='f'><rule action='drop' direction='in'><tcp dstportstart='$PORT'/></rule></filter>")
	complains(t, err, "'f' is used by NIC vnet0 of domain 'web'", "PORT")
	if len(w.kernel.applies) != n || w.xml("f") != doc {
		t.Errorf("transactions %q, document %s", w.kernel.since(n), w.xml("f"))
	}
}

func TestAChangeThatFailsInTheKernelIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, took := range []bool{false, true} { // the kernel may have done it before it failed
		w := newWorld(t)
		w.mustDefine(filter("f", 22, ""))
		w.attach(nic("vnet0", "f"), nic("vnet1", "f"))
		doc, before := w.xml("f"), w.kernel.ports["vnet0"]
		w.kernel.broken = []fault{{took}}
		complains(t, w.define(filter("f", 23, "")), "'f' is not changed", errBroken.Error())
		complains(t, w.define(filter("g", 23, refers("h"))), "g", "h")
		w.daemon([]Binding{nic("vnet0", "f"), nic("vnet1", "f")})
		if w.xml("f") != doc || w.kernel.ports["vnet0"] != before || w.kernel.ports["vnet1"] != before {
			t.Errorf("took effect %v: %v, document %s", took, w.kernel.ports, w.xml("f"))
		}
	}
}

func TestRecursionAndWhatIsMissingAreRefusedWithThePath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("a", 1, ""))
	w.mustDefine(filter("b", 2, refers("a")))
	w.mustDefine(filter("c", 3, refers("b")))
	complains(t, w.define(filter("a", 1, refers("c"))), "refers to itself", "a → c → b → a")
	complains(t, w.define(filter("d", 1, refers("d"))), "refers to itself", "d → d")
	complains(t, w.define(filter("d", 1, refers("none"))), "none is not defined", "d → none")
	if w.xml("d") != "" || strings.Contains(w.xml("a"), "filterref") {
		t.Error("what was refused is defined")
	}
	complains(t, w.define("<filter name='d'><rule action='perhaps' direction='in'/></filter>"), "perhaps")
	if err := w.define("<filter"); virterr.CodeOf(err) == virterr.XMLError {
		t.Logf("what is no XML: %v", err)
	}
}

func TestAFilterInUseIsNotRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("a", 1, ""))
	w.mustDefine(filter("b", 2, refers("a")))
	complains(t, w.undefine("a"), "in use", "referred to by filter 'b'")
	w.attach(nic("vnet0", "b"))
	err := w.undefine("a")
	complains(t, err, "NIC vnet0 of domain 'web' (through b → a)")
	complains(t, w.undefine("b"), "used by NIC vnet0 of domain 'web'")
	if virterr.CodeOf(err) != virterr.OperationInvalid {
		t.Errorf("the number is %d", virterr.CodeOf(err))
	}
	if err := w.Detach(t.Context(), nic("vnet0", "").Owner, []string{"vnet0"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "a"} {
		if err := w.undefine(name); err != nil {
			t.Error(err)
		}
	}
	w.daemon(nil)
	if w.xml("a")+w.xml("b") != "" {
		t.Error("they are back after a restart")
	}
}

func TestFiltersThatComeWithTaproomAreChangedAndComeBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	was := w.xml("clean-traffic")
	complains(t, w.undefine("clean-traffic"), "comes with taproom")
	w.mustDefine(filter("clean-traffic", 22, ""))
	w.daemon(nil)
	if !strings.Contains(w.xml("clean-traffic"), "dstportstart='22'") {
		t.Errorf("after a restart it is %s", w.xml("clean-traffic"))
	}
	if err := w.undefine("clean-traffic"); err != nil {
		t.Fatal(err)
	}
	if got := w.xml("clean-traffic"); got != was {
		t.Errorf("it is %s, want %s", got, was)
	}
}

func TestNamesAndUUIDsStandForOneFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustDefine(filter("a", 1, "<uuid>11111111-2222-3333-4444-000000000001</uuid>"))
	complains(t, w.define(filter("a", 1, "<uuid>11111111-2222-3333-4444-000000000002</uuid>")), "filter 'a' already exists with uuid 11111111-2222-3333-4444-000000000001")
	complains(t, w.define(filter("b", 1, "<uuid>11111111-2222-3333-4444-000000000001</uuid>")), "different name ('a')")
	w.mustDefine(filter("a", 7, "")) // one without a UUID is that of the name
	if !strings.Contains(w.xml("a"), "000000000001") || !strings.Contains(w.xml("a"), "dstportstart='7'") {
		t.Errorf("it is %s", w.xml("a"))
	}
}
