package demo

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/own"
)

func TestAResultReadsAsWhatWasSeenAndHowTheStartWent(t *testing.T) {
	t.Parallel()
	r := Result{
		Accelerator: "TCG", NoKVM: "the processor has none", Guest: "demo", Network: "lab",
		Address: "192.168.151.2/24", MAC: "52:54:00:00:00:01",
		HostToGuest: Traffic{TCPBytes: 1 << 20, TCPMbits: 100.4},
		GuestOut:    Traffic{TCPBytes: 1 << 20, TCPMbits: 80.6, UDPSent: 100, UDPBack: 99},
		SeenFrom:    "198.51.100.1:4242", Took: 5540 * time.Millisecond,
		Start: []own.Span{
			{Name: "parse", Start: 0, Took: 100},
			{Name: "kernel", Start: 100, Took: 2_000_000, Note: "on its own clock"},
			{Name: "dhcp", Start: 2_000_100, Took: 1_999_900},
		},
	}
	const want = `
guest demo on network lab
  accelerator     TCG, without KVM: the processor has none
  address         192.168.151.2/24 (52:54:00:00:00:01), by DHCP
  host ↔ guest    1024 KiB over TCP, every byte came back, 100 Mbit/s
  guest ↔ outside 1024 KiB over TCP at 81 Mbit/s; UDP 99 of 100 packets back; seen outside as 198.51.100.1:4242

how the start went:
                       ms  0                                      4.0 s
  parse               0.1  █
  kernel           2000.0  ██████████████████████  on its own clock
  dhcp             1999.9                        ██████████████████████

Nothing is left behind. It took 5.5 s.
`
	var b strings.Builder
	r.WriteText(&b)
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	r.Accelerator, r.NoKVM = "KVM", ""
	b.Reset()
	r.WriteText(&b)
	if !strings.Contains(b.String(), "\n  accelerator     KVM\n") {
		t.Errorf("with KVM:\n%s", b.String())
	}
}

func TestAWaterfallOfNothingIsAnEmptyAxis(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	waterfall(&b, nil)
	if got := strings.Count(b.String(), "\n"); got != 1 {
		t.Errorf("%d lines, want the axis alone:\n%s", got, b.String())
	}
}

var seconds = regexp.MustCompile(` +[0-9]+\.[0-9] s`)

// steps runs a Progress through its life.
func steps(terminal bool) string {
	var b strings.Builder
	p := NewProgress(&b, terminal)
	p.Note("nothing is under way")
	p.Step("make %s", "a thing")
	p.Note("half of it")
	p.Step("use it")
	p.Done("well")
	p.Done("")
	p.Step("remove it")
	p.Fail()
	return seconds.ReplaceAllString(b.String(), " N s")
}

func TestProgressIsALineAStepAndOnATerminalALineThatChanges(t *testing.T) {
	t.Parallel()
	const want = "✓ make a thing N s\n✓ use it: well N s\n✗ remove it N s\n"
	if diff := cmp.Diff(want, steps(false)); diff != "" {
		t.Errorf("in a file (-want +got):\n%s", diff)
	}
	const clear = "\r\x1b[2K"
	wantTerminal := "… make a thing" + clear + "… make a thing: half of it" + clear + "✓ make a thing N s\n" +
		"… use it" + clear + "✓ use it: well N s\n… remove it" + clear + "✗ remove it N s\n"
	if diff := cmp.Diff(wantTerminal, steps(true)); diff != "" {
		t.Errorf("on a terminal (-want +got):\n%s", diff)
	}
}

func TestTheWayOnNamesTheProgramsAsSeenFromHere(t *testing.T) {
	t.Chdir(t.TempDir())
	var b strings.Builder
	WriteNext(&b, "/opt/taproom/bin")
	if !strings.Contains(b.String(), "  /opt/taproom/bin/taproomd --root /tmp/tap &\n") {
		t.Errorf("elsewhere:\n%s", b.String())
	}
}

func TestTheWorldEndsWithItsInput(t *testing.T) {
	t.Parallel()
	if err := World(t.Context(), strings.NewReader(""), io.Discard); err != nil {
		t.Errorf("without a wire: %v", err)
	}
}

func TestDocumentsAreCalledByTheirFiles(t *testing.T) {
	t.Parallel()
	s := session{Options: Options{Documents: []own.Document{{Name: "/a/network.xml"}, {Name: "guest.xml"}}}}
	if got := s.names(); got != "network.xml and guest.xml" {
		t.Errorf("the documents are called %q", got)
	}
}
