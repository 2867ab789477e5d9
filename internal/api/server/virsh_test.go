package server_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/server/servertest"
	"taproom/internal/host/hosttest"
)

var update = flag.Bool("update", false, "rewrite the golden files from what virsh prints now")

// versions are those of virsh and its library.
var versions = regexp.MustCompile(`(libvirt|API: QEMU) \d+\.\d+\.\d+`)

// virsh runs one command against a socket and returns what it printed and how it ended.
func virsh(t *testing.T, socket string, args ...string) string {
	t.Helper()
	program, env := virshProgram()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"-c", "qemu+unix:///system?socket=" + socket}, args...)...)
	cmd.Env = append(env, "TZ=UTC", "LC_ALL=C")
	cmd.Dir = "testdata"
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run virsh (package libvirt-clients): %v", err)
	}
	text := versions.ReplaceAllString(strings.ReplaceAll(string(out), socket, "SOCKET"), "$1 <version>")
	text = strings.ReplaceAll(text, "nic-mac-change\n", "")          // virsh 11 knows one more event
	text = strings.ReplaceAll(text, "Autostart Once: disable\n", "") // and one more setting
	if text = strings.TrimRight(text, "\n"); text != "" {            // and prints fewer empty lines
		text += "\n"
	}
	return fmt.Sprintf("%s[exit %d]\n", text, cmd.ProcessState.ExitCode())
}

// virshProgram is the distribution's virsh, or with TAPROOM_VIRSH one that was unpacked beside, with its libraries.
func virshProgram() (path string, env []string) {
	path = os.Getenv("TAPROOM_VIRSH")
	if path == "" {
		return "virsh", os.Environ()
	}
	return path, append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(filepath.Dir(path), "../lib/x86_64-linux-gnu"))
}

// golden is a file of "$ command" lines, each followed by what it prints.
func golden(t *testing.T, name string, run func(args []string) string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for line := range strings.Lines(string(want)) {
		if args, ok := strings.CutPrefix(line, "$ "); ok {
			got.WriteString(line)
			got.WriteString(run(strings.Fields(args)))
		}
	}
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("%s: output of virsh changed (-want +got):\n%s", name, d)
	}
}

// Every file is one story on one daemon; virsh is the distribution's, unmodified.
func TestVirshPrintsWhatItAlwaysDid(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"domain.golden", "network.golden", "host.golden", "errors.golden", "agent.golden", "nwfilter.golden"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := servertest.Serve(t, server.Options{Backend: servertest.New()})
			golden(t, name, func(args []string) string { return virsh(t, d.Socket, args...) })
		})
	}
}

func TestVirshOnTheReadOnlySocketReadsAndChangesNothing(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	d := servertest.Serve(t, server.Options{Backend: f})
	virsh(t, d.Socket, "define", "guest.xml")
	before := f.ListDomains(nil)
	golden(t, "readonly.golden", func(args []string) string { return virsh(t, d.RO, args...) })
	if diff := cmp.Diff(before, f.ListDomains(nil)); diff != "" {
		t.Errorf("the read-only socket changed something:\n%s", diff)
	}
}

func TestVirshShowsEventsAsTheyHappen(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	d := servertest.Serve(t, server.Options{Backend: f})
	virsh(t, d.Socket, "define", "guest.xml")
	domains := listen(t, d.Socket, "event", "--all", "--loop", "--timeout", "60")
	networks := listen(t, d.Socket, "net-event", "--event", "lifecycle", "--loop", "--timeout", "60")
	waitFor(t, "two clients that listen", func() bool {
		return d.Server.Listening() == 2 && d.Server.Registered(remote.EventMemoryDeviceSizeChange) == 1
	})
	for _, args := range []string{
		"start guest", "suspend guest", "resume guest", "reboot guest", "attach-device guest nic.xml", "destroy guest", "undefine guest",
		"net-define network.xml", "net-start default", "net-destroy default", "net-undefine default",
	} {
		virsh(t, d.Socket, strings.Fields(args)...)
	}
	want := `event 'lifecycle' for domain 'guest': Started Booted
event 'lifecycle' for domain 'guest': Suspended Paused
event 'lifecycle' for domain 'guest': Resumed Unpaused
event 'reboot' for domain 'guest'
event 'device-added' for domain 'guest': net1
event 'lifecycle' for domain 'guest': Stopped Destroyed
event 'lifecycle' for domain 'guest': Undefined Removed
`
	if diff := cmp.Diff(want, domains(strings.Count(want, "\n"))); diff != "" {
		t.Errorf("virsh event (-want +got):\n%s", diff)
	}
	want = `event 'lifecycle' for network default: Defined
event 'lifecycle' for network default: Started
event 'lifecycle' for network default: Stopped
event 'lifecycle' for network default: Undefined
`
	if diff := cmp.Diff(want, networks(strings.Count(want, "\n"))); diff != "" {
		t.Errorf("virsh net-event (-want +got):\n%s", diff)
	}
}

// listen starts virsh in the background; the returned function waits for so many lines, ends it and returns them.
func listen(t *testing.T, socket string, args ...string) func(lines int) string {
	t.Helper()
	program, env := virshProgram()
	cmd := exec.CommandContext(t.Context(), "stdbuf", append([]string{"-oL", program, "-c", "qemu+unix:///system?socket=" + socket}, args...)...)
	cmd.Env = env
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = r.Close() })
	return func(lines int) string {
		_ = r.SetReadDeadline(time.Now().Add(hosttest.Patience))
		var got []byte
		for b := make([]byte, 4096); bytes.Count(got, []byte("\n")) < lines; {
			n, err := r.Read(b)
			got = append(got, b[:n]...)
			if err != nil {
				break
			}
		}
		return string(got)
	}
}

// waitFor asks until the condition holds; there is no event to wait on across a process.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(hosttest.Patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited 20 s for %s", what)
		}
	}
}
