package guest

import (
	"encoding/xml"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"taproom/internal/spec"
)

// mark writes an attribute and an element that nobody knows on and into everything in a document, and returns where.
func mark(v reflect.Value, path string, marks map[string]string) {
	put := func(attrs *[]xml.Attr) string {
		id := fmt.Sprintf("mark%d.", len(marks))
		*attrs = append(*attrs, xml.Attr{Name: xml.Name{Local: "unknown"}, Value: id})
		return id
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			mark(v.Elem(), path, marks)
		}
	case reflect.Slice:
		for i := range v.Len() {
			mark(v.Index(i), fmt.Sprintf("%s[%d]", path, i), marks)
		}
	case reflect.Struct:
		if e, ok := v.Addr().Interface().(*spec.Element); ok {
			marks[put(&e.Attrs)] = path
			return
		}
		if _, ok := v.Type().FieldByName("Extra"); !ok {
			return
		}
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Extra" && name != "Metadata" {
				mark(v.Field(i), path+"."+name, marks)
			}
		}
		x := v.FieldByName("Extra").Addr().Interface().(*spec.Extra)
		marks[put(&x.Attrs)] = path
		e := spec.Element{XMLName: xml.Name{Local: "unknown"}}
		marks[put(&e.Attrs)] = path
		x.Elements = append(x.Elements, e)
	}
}

// ofARun reports what of a definition belongs to an earlier run, and is dropped with all that is on it.
func ofARun(d *spec.Domain, path string) bool {
	if strings.HasSuffix(path, ".Alias") {
		return true // those of the user's own stay, and there are hardly any
	}
	for i := range d.Devices.Interfaces {
		if path == fmt.Sprintf(".Devices.Interfaces[%d].Target", i) {
			return automaticNIC(d.Devices.Interfaces[i].Target.Dev)
		}
	}
	for list, devs := range map[string][]spec.Chardev{"Serials": d.Devices.Serials, "Consoles": d.Devices.Consoles, "Channels": d.Devices.Channels} {
		for i := range devs {
			if path == fmt.Sprintf(".Devices.%s[%d].Source", list, i) {
				return devs[i].Type == "pty" || list == "Channels"
			}
		}
	}
	return false
}

func TestWhatNobodyKnowsSurvivesADefinition(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"define", "only", "devices"} {
		cases(t, dir, func(t *testing.T, _ string, files map[string][]byte) {
			d := parse(t, files["domain.xml"])
			marks := map[string]string{}
			mark(reflect.ValueOf(d), "", marks)
			run := d.Clone()
			if err := Complete(d, pcHost()); err != nil {
				t.Fatal(err)
			}
			again := parse(t, Inactive(d, true).Format())
			if err := Complete(again, pcHost()); err != nil {
				t.Fatal(err)
			}
			for pass, doc := range []string{string(Inactive(d, true).Format()), string(Inactive(again, true).Format())} {
				for id, path := range marks {
					if !strings.Contains(doc, "'"+id+"'") && !ofARun(run, path) {
						t.Errorf("definition %d: what stood at %s is lost", pass+1, path)
					}
				}
			}
		})
	}
}
