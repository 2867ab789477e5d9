package launch

import (
	"testing"

	"taproom/internal/appliance/build"
	"taproom/internal/appliance/launchtest"
)

// ownNetwork is a spec of appliances with a NIC and our own kernel, which takes minutes to build: where there is none the test is skipped.
func ownNetwork(t *testing.T, way Way) Spec {
	t.Helper()
	s := networked(t, way)
	tools := s.Files.Tools
	var err error
	s.Files, err = build.Ensure(t.Context(), build.Options{AgentPath: launchtest.Program(t, "taproom-init"), Network: true})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Files.Own {
		t.Skip("our own kernel with a network has not been built here: make appliance")
	}
	s.Files.Tools = tools
	return s
}

func TestOwnKernelFetchesOverItsNetworkOnEveryMachine(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := ownNetwork(t, WayCold)
			s.Machine = kind
			l, err := open(t, s)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			overQEMUsOwn(t, launched(t, l))
		})
	}
	t.Run("template", func(t *testing.T) {
		t.Parallel()
		l, err := open(t, ownNetwork(t, WayTemplate))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if l.Machine() != "microvm" {
			t.Errorf("it is a %s", l.Machine())
		}
		for range 2 {
			overQEMUsOwn(t, launched(t, l))
		}
	})
}
