package doctor_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/doctor"
)

// A user without root is told of that user's session, and not of what needs root.
func TestAUserIsToldOfTheSession(t *testing.T) {
	t.Parallel()
	ns, e := env(t)
	e.Kernel = ns.Kernel()
	e.Session = &doctor.Session{UID: 1000, Name: "ann", Run: "/run/user/1000/libvirt"}
	all := doctor.Run(t.Context(), e)
	var names []string
	for _, f := range all {
		names = append(names, f.Name+" "+string(f.Status))
	}
	want := []string{"kvm ok", "landlock ok", "session.runtime ok", "session.linger ok", "session.networks ok", "sockets ok"}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("findings (-want +got):\n%s", d)
	}
	if got, want := one(t, all, "sockets").Evidence, "nobody serves libvirt's sockets in /run/user/1000/libvirt"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// Where systemd runs, guests are out of reach after the last login, unless the user lingers.
	if err := os.MkdirAll(filepath.Join(e.Root, "run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	if f := one(t, doctor.Run(t.Context(), e), "session.linger"); f.Status != doctor.Warning || f.Remedy != "loginctl enable-linger ann" {
		t.Errorf("%+v", f)
	}
	if err := os.WriteFile(put(t, filepath.Join(e.Root, "var/lib/systemd/linger/ann")), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := one(t, doctor.Run(t.Context(), e), "session.linger"); f.Status != doctor.OK {
		t.Errorf("%+v", f)
	}
	e.Session.NoRun, e.Session.Ignored = true, []string{`XDG_RUNTIME_DIR="x" is no absolute path`}
	if f := one(t, doctor.Run(t.Context(), e), "session.runtime"); f.Status != doctor.Warning || !strings.Contains(f.Evidence, "no absolute path") {
		t.Errorf("%+v", f)
	}
	e.LookPath = func(string) (string, error) { return "", exec.ErrNotFound }
	if f := one(t, doctor.Run(t.Context(), e), "session.networks"); !strings.Contains(f.Evidence, "passt is not installed") {
		t.Errorf("%+v", f)
	}
}
