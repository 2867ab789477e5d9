package kernel

import (
	"testing"

	"taproom/internal/appliance/debian"
)

func TestKernelPackageIsReadFromTheMetaPackage(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]debian.Package{
		"Package: x\nDepends: linux-image-6.1.0-56-amd64 (= 6.1.192-2)\nDescription: y\n": {Name: "linux-image-6.1.0-56-amd64", Version: "6.1.192-2"},
		"Depends: a (>= 1), linux-image-6.12.5+deb13-amd64\n":                             {Name: "linux-image-6.12.5+deb13-amd64", Version: ""},
		"Depends: linux-base\n":                          {},
		"Recommends: linux-image-6.1.0-56-amd64 (= 1)\n": {},
	} {
		got, err := parseDepends([]byte(in))
		if got != want || (err == nil) != (want.Name != "") {
			t.Errorf("%q: got %+v, %v, want %+v", in, got, err, want)
		}
	}
}
