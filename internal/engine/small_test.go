package engine

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/host"
	"taproom/internal/network/state"
	"taproom/internal/qemu"
	"taproom/internal/qemu/qmp"
	"taproom/internal/spec"
)

func TestTheHostsEndOfATapNeverHasTheLowestAddress(t *testing.T) {
	t.Parallel()
	for guest, want := range map[string]string{"52:54:00:12:34:56": "fe:54:00:12:34:56", "": ""} {
		if got := hostMAC(guest); got != want {
			t.Errorf("hostMAC(%q) = %q, want %q", guest, got, want)
		}
	}
}

func TestAPtyIsToldFromOtherBackends(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"pty:/dev/pts/3": "/dev/pts/3", "pty:/etc/cron.d/x": "", "pty:/dev/pts/../sda": "", "unix:/x,server=on": "", "null": ""} {
		if got, ok := terminal(name); ok != (want != "") || ok && got != want {
			t.Errorf("terminal(%q) = %q, %v", name, got, ok)
		}
	}
}

func TestWhatTheCommandLineCannotSayIsSaidToTheMonitor(t *testing.T) {
	t.Parallel()
	got := startup(guest.Startup{LinksDown: []string{"net0"}, BalloonPath: "/p", BalloonPeriod: 5, BalloonBytes: 1 << 20, Passwords: []guest.DisplayPassword{{Protocol: "vnc", Password: "x", Expires: "never"}}})
	want := []qmp.Command{
		{Name: "set_link", Args: map[string]any{"name": "net0", "up": false}},
		{Name: "qom-set", Args: map[string]any{"path": "/p", "property": "guest-stats-polling-interval", "value": 5}},
		{Name: "balloon", Args: map[string]any{"value": uint64(1 << 20)}},
		{Name: "set_password", Args: qemu.Props{{Key: "protocol", Value: "vnc"}, {Key: "password", Value: "x"}}},
		{Name: "expire_password", Args: qemu.Props{{Key: "protocol", Value: "vnc"}, {Key: "time", Value: "never"}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := startup(guest.Startup{}); got != nil {
		t.Errorf("a plain guest needs %v", got)
	}
}

func TestDocumentErrorsCarryLibvirtsNumbers(t *testing.T) {
	t.Parallel()
	for want, err := range map[virterr.Code]error{
		virterr.ConfigUnsupported: &spec.UnsupportedError{Element: "devices/hostdev", Reason: "r"},
		virterr.XMLError:          &spec.InvalidError{Element: "name", Reason: "r"},
		virterr.XMLDetail:         &spec.SyntaxError{Line: 3, Msg: "m"},
	} {
		if got := virterr.CodeOf(documentError(fmt.Errorf("a.xml: %w", err))); got != want {
			t.Errorf("%v has code %d, want %d", err, got, want)
		}
	}
}

func TestABlockDeviceIsKnownByItsAlias(t *testing.T) {
	t.Parallel()
	for qdev, want := range map[string]string{
		"/machine/peripheral/virtio-disk0/virtio-backend": "virtio-disk0",
		"/machine/peripheral/ide0-0-0":                    "ide0-0-0",
		"sata0-0-0":                                       "sata0-0-0",
	} {
		if got := aliasOf(qdev); got != want {
			t.Errorf("aliasOf(%q) = %q, want %q", qdev, got, want)
		}
	}
}

func TestSettingsOfLinksAreNotWrittenDownAndStagesAreTold(t *testing.T) {
	t.Parallel()
	for want, step := range map[string]state.Step{
		"firewall": state.ChangeElements{}, "dhcp server": state.SetService{}, "links": state.AddBridge{},
	} {
		if got := stageOf(step); got != want {
			t.Errorf("%T is of stage %q, want %q", step, got, want)
		}
	}
}

func TestOnlyAMissingLinkIsAFreeName(t *testing.T) {
	t.Parallel()
	other := errors.New("netlink broke")
	for _, c := range []struct{ err, want error }{
		{nil, host.ErrTaken}, {fmt.Errorf("link x: %w", host.ErrNoLink), nil}, {other, other},
	} {
		if got := takenUnlessMissing(c.err); !errors.Is(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("takenUnlessMissing(%v) = %v, want %v", c.err, got, c.want)
		}
	}
}

// pipe is one end of a connection that notes that it was closed.
type pipe struct {
	io.ReadWriter
	closed int
}

func (p *pipe) Close() error { p.closed++; return nil }

func TestAConsoleHasOneClientUnlessItIsTakenByForce(t *testing.T) {
	t.Parallel()
	var cs consoles
	first, second := &pipe{}, &pipe{}
	a, err := cs.take("serial0", first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cs.take("serial0", second); !errors.Is(err, errConsoleBusy) || !errors.Is(cs.clear("serial0", false), errConsoleBusy) {
		t.Errorf("a second client: %v, want %v", err, errConsoleBusy)
	}
	if _, err := cs.take("serial1", &pipe{}); err != nil {
		t.Errorf("another device: %v", err)
	}
	if err := cs.clear("serial0", true); err != nil {
		t.Fatal(err)
	}
	b, err := cs.take("serial0", second)
	if err != nil || first.closed != 1 {
		t.Errorf("by force: %v, the first was closed %d times", err, first.closed)
	}
	_ = a.Close() // the loser leaves late, and takes nothing with it
	if _, err := cs.take("serial0", &pipe{}); !errors.Is(err, errConsoleBusy) {
		t.Errorf("the winner lost its place: %v", err)
	}
	_ = b.Close()
	if _, err := cs.take("serial0", &pipe{}); err != nil {
		t.Errorf("after everybody left: %v", err)
	}
	cs.closeAll()
	if len(cs.open) != 0 {
		t.Errorf("%d still connected", len(cs.open))
	}
}
