package guest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"taproom/internal/guest/guesttest"
	"taproom/internal/guest/tune"
	"taproom/internal/spec"
)

// outcome is what becomes of an element or an attribute of libvirt's.
type outcome int

const (
	untried outcome = iota
	nonsense
	refused
	dropped // accepted, and not there in what is written back
	kept    // written back, and the same guest
	runs    // changes the guest, or what the daemon does with it
)

// trial is the best that became of a path in all documents that it was tried in.
type trial struct {
	outcome outcome
	reason  string // of a refusal, or of nonsense
	doc     string // a document in which it is accepted
	values  []string
}

// daemonReads are what changes no command line and is not without effect: the daemon itself goes by it.
func daemonReads() map[string]string {
	return map[string]string{
		"name": "", "uuid": "", "title": "", "description": "", "metadata": "applications' own",
		"on_poweroff": "", "on_reboot": "", "on_crash": "", "currentMemory": "", "currentMemory/@unit": "", "memory/@unit": "",
		"devices/interface/coalesce/rx/frames/@max": "", "devices/interface/port/@isolated": "", "devices/interface/filterref/@filter": "", "devices/interface/filterref/parameter/@name": "", "devices/interface/filterref/parameter/@value": "",
		"devices/interface/bandwidth/inbound/@average": "KiB/s", "devices/interface/bandwidth/inbound/@peak": "KiB/s", "devices/interface/bandwidth/inbound/@burst": "KiB",
		"devices/interface/bandwidth/inbound/@floor": "KiB/s", "devices/interface/bandwidth/outbound/@average": "KiB/s", "devices/interface/bandwidth/outbound/@peak": "KiB/s", "devices/interface/bandwidth/outbound/@burst": "KiB",
		"devices/interface/target/@dev": "", "devices/interface/target/@managed": "", "devices/interface/@trustGuestRxFilters": "",
		"devices/emulator": "", "devices/tpm/backend/@persistent_state": "", "devices/tpm/backend/active_pcr_banks": "",
		"devices/interface/virtualport/parameters": "", "devices/interface/virtualport/parameters/@interfaceid": "a UUID",
		"devices/interface/virtualport/parameters/@profileid": "", "devices/interface/vlan/@trunk": "", "devices/interface/vlan/tag/@nativeMode": "",
		"devices/interface/source/@mode": "", "vcpu/@placement": "", "vcpus/vcpu/@hotpluggable": "", "numatune/memory/@placement": "the default, which is not written",
	}
}

// onlyOfARun are what only documents of running guests have; it is forgotten when one is defined.
func onlyOfARun() map[string]bool {
	out := map[string]bool{}
	for _, p := range []string{
		"@id", "devices/disk/source/@index", "devices/disk/backingStore/@index", "devices/interface/source/@portid",
		"devices/channel/target/@state", "devices/console/@tty", "devices/serial/@tty", "devices/parallel/@tty", "devices/channel/@tty",
	} {
		out[p] = true
	}
	return out
}

// try defines a document and reads it back.
func try(doc string) (back *guesttest.Node, run string, err error) {
	d, err := spec.ParseDomain([]byte(doc))
	if err != nil {
		return nil, "", err
	}
	if err := d.Validate(); err != nil {
		return nil, "", err
	}
	if err := Complete(d, pcHost()); err != nil {
		return nil, "", err
	}
	text := string(Inactive(d, true).Format())
	again, err := spec.ParseDomain([]byte(text))
	if err != nil {
		return nil, "", fmt.Errorf("what was written cannot be read back: %w", err)
	}
	c, err := Compile(again, formatRuntime(again))
	if err != nil {
		return nil, "", err
	}
	args, _, err := c.Config.Args(3)
	if err != nil {
		return nil, "", err
	}
	if back, err = guesttest.Parse(text); err != nil {
		return nil, "", err
	}
	limits, err := tune.Limits(again, []string{"emulator", "vcpu0", "iothread1"}, nil)
	if err != nil {
		return nil, "", err
	}
	var places []tune.Place
	for _, thread := range []string{"emulator", "vcpu0", "vcpu1", "iothread1"} {
		place, err := tune.PlaceOf(again, thread)
		if err != nil {
			return nil, "", err
		}
		places = append(places, place)
	}
	c.Config = nil
	return back, fmt.Sprintf("%q %+v %d %+v %+v", args, *c, len(c.Companions), limits, places), nil
}

func formatRuntime(d *spec.Domain) Runtime {
	rt := Runtime{Accel: "tcg", Dir: "/run/x", QMP: "qmp", Now: time.Unix(1e9, 0), MemoryDir: "/run/x/memory", CID: 4}
	for range d.Devices.Graphics {
		rt.Displays = append(rt.Displays, DisplayRuntime{Port: 5900, WebSocket: 5700})
	}
	for i := range d.Devices.Interfaces {
		rt.NICs = append(rt.NICs, NICRuntime{Tap: "tap", VHost: HasVHost(&d.Devices.Interfaces[i])})
	}
	return rt
}

// allowed finds what a refusal of nonsense says that may be written.
var allowed = regexp.MustCompile(`use ((?:[\w.-]+, )*[\w.-]+(?: or [\w.-]+)?)(?: \(.*)?$`)

// candidates are values to try at a path: what a refusal of nonsense names, and else what fits most places.
func candidates(refusal string) (named, all []string) {
	if m := allowed.FindStringSubmatch(refusal); m != nil {
		named = strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' })
		named = slices.DeleteFunc(named, func(s string) bool { return s == "or" })
	}
	return named, append(slices.Clone(named), "", "1", "yes", "on", "no", "off", "2", "4", "64", "512", "1000", "4096", "0-1", "/img/x", "/machine",
		"0x1", "KiB", "52:54:00:00:00:02", "ua-x", "000000000000000a", "localhost", "127.0.0.1", "default", "+5", "utc", "GenuineIntel",
		"2030-01-31T23:59:59", "21", "09b11c53-8b5c-4eeb-8f00-d84eaa0aaa4f")
}

// tryPath puts a path into every document that has a place for it.
func tryPath(path string) trial {
	var best trial
	for _, doc := range guesttest.Contexts(path) {
		if best.outcome == runs {
			return best
		}
		best = best.or(tryIn(doc, path))
	}
	for _, doc := range guesttest.Others(path) { // on another machine
		if best.outcome <= nonsense {
			best = best.or(tryIn(doc, path))
		}
	}
	return best
}

// tryIn tries a path in a document: as it stands there, then with nonsense, then with what might be right.
func tryIn(doc, path string) trial {
	_, base, baseErr := try(doc)
	if baseErr != nil {
		return judge(doc, path, "", "", baseErr)
	}
	best := cut(doc, path, base)
	if best.outcome == runs {
		return best
	}
	with := func(value string) trial {
		root, err := guesttest.Parse(doc)
		if err != nil {
			return trial{outcome: nonsense, reason: err.Error()}
		}
		root.Set(path, value)
		return judge(root.String(), path, value, base, nil)
	}
	probe := with("?")
	if probe.outcome >= kept { // anything may stand there
		return best.or(probe)
	}
	named, all := candidates(probe.reason)
	for _, value := range all {
		if value == "" && strings.Contains(path, "@") {
			continue
		}
		t := with(value)
		if value == "" && t.outcome == dropped {
			continue // an empty element is the same as none
		}
		if best = best.or(t); best.outcome == runs {
			break
		}
	}
	best.values = named
	if best.outcome == kept && probe.outcome == refused {
		best.reason = probe.reason
	}
	return best
}

// cut is what becomes of a path that stands in a document already: it runs when the guest is another one without it.
func cut(doc, path, base string) trial {
	root, err := guesttest.Parse(doc)
	if err != nil || !root.Has(path, "") {
		return trial{}
	}
	t := judge(doc, path, "", base, nil)
	root.Cut(path)
	if _, other, err := try(root.String()); t.outcome >= dropped && (err != nil || other != base) {
		t.outcome = runs
	}
	return t
}

// tryBelow tries an element by what is on it.
func tryBelow(path string) (best trial) {
	for _, below := range guesttest.Elements() {
		if strings.HasPrefix(below, path+"/") && best.outcome < kept {
			best = best.or(tryPath(below))
		}
	}
	best.values = nil
	return best
}

func (t trial) or(o trial) trial {
	if o.outcome > t.outcome {
		o.values = append(o.values, t.values...)
		return o
	}
	return t
}

// judge says what became of a value at a path.
func judge(doc, path, value, base string, baseErr error) trial {
	back, run, err := try(doc)
	var unsupported *spec.UnsupportedError
	switch {
	case baseErr != nil && errors.As(baseErr, &unsupported):
		return trial{outcome: refused, reason: baseErr.Error()}
	case baseErr != nil:
		return trial{outcome: nonsense, reason: baseErr.Error()}
	case errors.As(err, &unsupported):
		return trial{outcome: refused, reason: err.Error()}
	case err != nil:
		return trial{outcome: nonsense, reason: err.Error()}
	case run != base:
		return trial{outcome: runs, doc: doc}
	case back.Has(path, ""):
		return trial{outcome: kept, doc: doc}
	}
	return trial{outcome: dropped, doc: doc}
}

// row is a line of the table.
type row struct{ path, what, note string }

// What the second column says.
const (
	isImplemented = "implemented"
	isKept        = "kept, without effect"
	isRefused     = "refused"
	isForgotten   = "of a run: forgotten"
)

// Every element of libvirt's format is implemented, kept without effect, or refused by name. The table of which is which
// says what the code does: it is written from here (TAPROOM_UPDATE=1) and compared each time.
func TestEveryElementOfTheFormatIsImplementedOrKeptOrRefusedByName(t *testing.T) {
	t.Parallel()
	var (
		rows     []row
		within   string
		accepted []string
	)
	for _, path := range guesttest.Elements() {
		if within != "" && strings.HasPrefix(path, within+"/") {
			continue // refused with the element
		}
		got := tryPath(path)
		if got.outcome <= nonsense { // it has to have something on it
			got = got.or(tryBelow(path))
		}
		r, ok := rowOf(path, got)
		if !ok {
			t.Errorf("%s: outcome %d, %s\n%s", path, got.outcome, got.reason, got.doc)
			continue
		}
		if r.what == isRefused && !strings.Contains(path, "@") {
			within = path
		}
		if got.doc != "" && got.outcome >= kept {
			accepted = append(accepted, strconv.Quote(got.doc))
		}
		rows = append(rows, r)
	}
	compare(t, "../../docs/domain-xml.md", table(rows))
	slices.Sort(accepted)
	compare(t, "testdata/accepted.txt", strings.Join(slices.Compact(accepted), "\n")+"\n")
}

// rowOf says what a trial means; it reports false for a path that is neither accepted nor refused as one of libvirt's.
func rowOf(path string, got trial) (row, bool) {
	_, read := daemonReads()[path]
	switch {
	case got.outcome == runs, read && got.outcome >= dropped:
		return row{path, isImplemented, values(got.values)}, true
	case got.outcome == kept:
		note := values(got.values)
		if got.reason != "" {
			note = strings.TrimPrefix(note+"; other values: "+reason(got.reason), "; ")
		}
		return row{path, isKept, note}, true
	case onlyOfARun()[path]:
		return row{path, isForgotten, ""}, true
	case got.outcome == refused:
		return row{path, isRefused, reason(got.reason)}, true
	}
	return row{}, false
}

// table writes the rows. An element is implemented when something in it is.
func table(rows []row) string {
	counts := map[string]int{}
	var b strings.Builder
	for i, r := range rows {
		if r.what == isKept {
			for _, in := range rows[i+1:] {
				if in.what == isImplemented && strings.HasPrefix(in.path, r.path+"/") {
					r.what = isImplemented
				}
			}
		}
		counts[r.what]++
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.path, r.what, r.note)
	}
	return tableHead(counts) + b.String()
}

func values(list []string) string {
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, ", ")
}

// reason is a refusal as a cell of a table.
func reason(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(s)
}

func tableHead(counts map[string]int) string {
	return fmt.Sprintf(`# What becomes of a domain document

Every element and attribute of libvirt's domain format, as libvirt's own Go module lists them (June 2026), and what taproom
does with it when a document is defined:

* **implemented** (%d): it changes the guest, or what the daemon does with it. The third column has the values that can be
  chosen, where they are few.
* **kept, without effect** (%d): it is written back as it was, and the guest is the same with it and without it.
* **refused** (%d): the document cannot be defined; the third column is the error (VIR_ERR_CONFIG_UNSUPPORTED). What is
  in a refused element is refused with it and has no row. A value that libvirt knows and taproom does not is refused the
  same way.
* **of a run: forgotten** (%d): documents of running guests have it, and what is defined of them has not.

What is in no row is none of libvirt's: it is kept and written back, unless the place of a text has no text.

This table is written by `+"`TAPROOM_UPDATE=1 go test ./internal/guest`"+`, which tries each row, and compared by every test run.

| element or attribute | outcome | values, or the error |
| --- | --- | --- |
`, counts[isImplemented], counts[isKept], counts[isRefused], counts[isForgotten])
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("TAPROOM_UPDATE") != "" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with TAPROOM_UPDATE=1", err)
	}
	if string(want) == got {
		return
	}
	wants, gots := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range max(len(wants), len(gots)) {
		if w, g := at(wants, i), at(gots, i); w != g {
			t.Errorf("%s:%d says\n%s\nand the code does\n%s\nrun with TAPROOM_UPDATE=1, and read the difference", path, i+1, w, g)
			return
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return cmp.Or(list[i], "(nothing)")
	}
	return "(nothing)"
}
