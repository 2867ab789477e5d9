package engine

import (
	"strings"
	"testing"

	"taproom/internal/spec"
)

func TestUpdatesOfLinksOfTheHostChangeTheDocument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command uint32
		dev     string
		want    string // the links afterwards, or a part of the error
	}{
		"one more":         {updateAddLast, "e9", "e0 e1 e9"},
		"one before":       {updateAddFirst, "e9", "e9 e0 e1"},
		"the first goes":   {updateDelete, "e0", "e1"},
		"one twice":        {updateAddLast, "e1", `there is an existing interface entry in network 'n' that matches "<interface dev='e1'>"`},
		"none such":        {updateDelete, "e9", "couldn't find an interface entry in network 'n' matching <interface dev='e9'>"},
		"not to be edited": {updateModify, "e0", "cannot be modified, only added or deleted"},
		"no name":          {updateAddLast, "a/b", "is no name of a link"},
	} {
		doc, err := spec.ParseNetwork([]byte("<network><name>n</name><forward mode='private' dev='e0'><interface dev='e0'/><interface dev='e1'/></forward></network>"))
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := (&Engine{}).updateDocument(doc, change(c.command, sectionForwardInterface, "<interface dev='"+c.dev+"'/>")); err != nil {
			got = err.Error()
		} else {
			got = strings.Join(doc.Forward.Uplinks(), " ")
		}
		if got != c.want && !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
