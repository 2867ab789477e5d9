package firmware

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// debian are the descriptors of Debian 12's package ovmf.
func debian(t testing.TB) Dir {
	t.Helper()
	paths, err := filepath.Glob("../testdata/firmware/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no descriptors: %v", err)
	}
	dir := Dir{}
	for _, p := range paths {
		doc, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		dir[filepath.Base(p)] = doc
	}
	return dir
}

func TestTheFirstFirmwareThatFitsIsChosen(t *testing.T) {
	t.Parallel()
	l := Read(debian(t))
	for _, c := range []struct {
		want Want
		name string
	}{
		{Want{Machine: "pc-q35-7.2"}, "40-edk2-x86_64-secure-enrolled.json"},
		{Want{Machine: "pc-i440fx-7.2"}, "60-edk2-x86_64.json"},
		{Want{Machine: "pc-q35-7.2", EnrolledKeys: No}, "50-edk2-x86_64-secure.json"},
		{Want{Machine: "pc-q35-7.2", SecureBoot: No}, "60-edk2-x86_64.json"},
		{Want{Machine: "pc-q35-7.2", SMM: No}, "60-edk2-x86_64.json"},
		{Want{Machine: "pc-q35-7.2", SecureBoot: Yes, SMM: Yes, Format: "raw"}, "40-edk2-x86_64-secure-enrolled.json"},
		{Want{Machine: "pc-q35-7.2", Template: "/usr/share/OVMF/OVMF_VARS_4M.fd"}, "50-edk2-x86_64-secure.json"},
	} {
		c.want.Arch = "x86_64"
		d, err := l.Choose(c.want)
		if err != nil || d.Name != c.name {
			t.Errorf("%+v: got %q, %v; want %s", c.want, d.Name, err, c.name)
		}
	}
}

func TestWhyNoFirmwareFitsIsSaidOfEachOne(t *testing.T) {
	t.Parallel()
	none := func(l List, w Want) string {
		_, err := l.Choose(w)
		var e *NoneError
		if !errors.As(err, &e) {
			t.Fatalf("%+v: got %v, want a NoneError", w, err)
		}
		return err.Error()
	}
	dir := debian(t)
	dir["30-broken.json"] = []byte("{")
	got := none(Read(dir), Want{Arch: "x86_64", Machine: "pc-i440fx-7.2", SecureBoot: Yes})
	want := "no UEFI firmware fits machine pc-i440fx-7.2: 40-edk2-x86_64-secure-enrolled.json is for other machines; " +
		"50-edk2-x86_64-secure.json is for other machines; 60-edk2-x86_64.json has no secure boot; " +
		"firmware descriptor 30-broken.json: unexpected end of JSON input"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for w, reason := range map[Want]string{
		{Arch: "aarch64", Machine: "pc-q35-7.2"}:                   "is for other machines",
		{Arch: "x86_64", Machine: "pc-q35-7.2", Format: "qcow2"}:   "is in format raw",
		{Arch: "x86_64", Machine: "pc-q35-7.2", Stateless: Yes}:    "has variables that last",
		{Arch: "x86_64", Machine: "pc-q35-7.2", Template: "/else"}: "has another template",
	} {
		if got := none(Read(dir), w); !strings.Contains(got, reason) {
			t.Errorf("%+v: %s does not say that it %s", w, got, reason)
		}
	}
	if got := none(Read(), Want{}); !strings.Contains(got, "install ovmf") {
		t.Errorf("without descriptors: %s", got)
	}
}

// Directories mask each other by file name, and an empty file masks without a successor.
func TestAFileMasksThoseOfItsName(t *testing.T) {
	t.Parallel()
	names := func(l List) (out []string) {
		for _, d := range l.Descriptors {
			out = append(out, d.Name+" "+d.Mapping.Executable.Filename)
		}
		return out
	}
	own := strings.Replace(string(debian(t)["60-edk2-x86_64.json"]), "/usr/share/OVMF/OVMF_CODE_4M.fd", "/opt/own.fd", 1)
	l := Read(debian(t), Dir{
		"40-edk2-x86_64-secure-enrolled.json": nil,
		"60-edk2-x86_64.json":                 []byte(own),
		"README":                              []byte("no descriptor"),
	})
	want := []string{"50-edk2-x86_64-secure.json /usr/share/OVMF/OVMF_CODE_4M.secboot.fd", "60-edk2-x86_64.json /opt/own.fd"}
	if got := names(l); !slices.Equal(got, want) || len(l.Bad) != 0 {
		t.Errorf("got %q and %v, want %q", got, l.Bad, want)
	}
	if got := l.Loaders("x86_64", "pc-i440fx-7.2"); !slices.Equal(got, []string{"/opt/own.fd"}) {
		t.Errorf("loaders for pc: %q", got)
	}
	if d, ok := l.ByExecutable("/opt/own.fd", "x86_64", "pc-q35-7.2"); !ok || d.Name != "60-edk2-x86_64.json" {
		t.Errorf("by executable: %v %v", d, ok)
	}
}

func TestABadDescriptorIsRefused(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"":                              "is empty",
		"[]":                            "cannot unmarshal",
		`{"mapping":{"device":"tape"}}`: `mapping/device "tape" is not known`,
		`{"mapping":{"device":"flash","mode":"x"}}`:                                                       `mapping/mode "x" is not known`,
		`{"mapping":{"device":"memory","filename":"a"}}`:                                                  `"a" is not an absolute path`,
		`{"mapping":{"device":"flash","mode":"combined","executable":{"filename":"/a","format":"vmdk"}}}`: "neither raw nor qcow2",
		`{"mapping":{"device":"memory","filename":"/a"},"targets":[{"machines":["["]}]}`:                  `machine pattern "["`,
	} {
		if _, err := Parse("a.json", []byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", doc, err, want)
		}
	}
}

// Whatever is wanted, what is chosen is that.
func TestWhatIsChosenIsWhatWasWanted(t *testing.T) {
	t.Parallel()
	l := Read(debian(t))
	rapid.Check(t, func(t *rapid.T) {
		tri := rapid.SampledFrom([]Tristate{Any, Yes, No})
		w := Want{
			Arch: "x86_64", Machine: rapid.SampledFrom([]string{"pc-q35-7.2", "pc-i440fx-7.2"}).Draw(t, "machine"),
			SecureBoot: tri.Draw(t, "secure"), EnrolledKeys: tri.Draw(t, "keys"), SMM: tri.Draw(t, "smm"),
		}
		d, err := l.Choose(w)
		if err != nil {
			return
		}
		if !d.Fits(w.Arch, w.Machine) || !w.SecureBoot.allows(d.Has(SecureBoot)) || !w.EnrolledKeys.allows(d.Has(EnrolledKeys)) || !w.SMM.allows(d.Has(RequiresSMM)) {
			t.Fatalf("%+v gave %+v", w, d)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, doc := range debian(f) {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		d, err := Parse("a.json", doc)
		if err != nil {
			return
		}
		l := Read(Dir{"a.json": doc})
		if len(l.Descriptors) != 1 || l.Bad != nil {
			t.Fatalf("%q parses alone and not in a list: %+v", doc, l)
		}
		if d.UEFI() && !strings.HasPrefix(d.Mapping.Executable.Filename, "/") {
			t.Fatalf("%q gives the path %q", doc, d.Mapping.Executable.Filename)
		}
		_, _ = l.Choose(Want{Arch: "x86_64", Machine: "pc-q35-7.2"})
	})
}
