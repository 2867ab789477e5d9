package kernel

import (
	"strings"
	"testing"

	"taproom/internal/appliance/kernel/kerneltest"
)

func TestModulesThatNeedEachOtherDoNotHang(t *testing.T) {
	t.Parallel()
	tree, err := OpenModules(kerneltest.Tree(t))
	if err != nil {
		t.Fatal(err)
	}
	modules, err := tree.Closure(t.Context(), []string{"loop_a"})
	if err != nil || len(modules) != 2 {
		t.Errorf("got %d modules, %v", len(modules), err)
	}
}

func FuzzModinfo(f *testing.F) {
	f.Add([]byte("alias=a\x00depends=b,c-d\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, a := range parseModinfo(b).aliases {
			if strings.ContainsAny(a, " \n") {
				t.Errorf("alias %q would break modules.alias", a)
			}
		}
	})
}
