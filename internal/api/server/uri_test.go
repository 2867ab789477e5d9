package server

import "testing"

func TestAURIOfTheOtherKindOfDaemonIsRefused(t *testing.T) {
	t.Parallel()
	const system, session = "qemu:///system", "qemu:///session"
	for _, c := range []struct {
		uri, own string
		refused  bool
	}{
		{"qemu:///system", system, false},
		{"qemu:///session", system, true},
		{"qemu:///system", session, true},
		{"qemu:///session", session, false},
		{"network:///session", session, false},
		{"nodedev:///system", session, true},
		{"qemu+unix:///session?socket=/x", session, false},
		{"qemu+unix:///session?socket=/system", system, true},
		{"qemu://host/system", session, true},
		{"qemu:///", session, false},
		{"qemu", session, false},
	} {
		if err := ofThisDaemon(c.uri, c.own); (err != nil) != c.refused {
			t.Errorf("%s at %s: %v, refused %v", c.uri, c.own, err, c.refused)
		}
	}
}
