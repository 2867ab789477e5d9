package inside

import (
	"context"
	"testing"

	"taproom/internal/appliance/proto"
)

// greetingsAreSeen greets an appliance again, as the next owner does, and has programs tell what they see of it. The one with a shorter ID
// is what no caller sends, and has to be as true.
func greetingsAreSeen(ctx context.Context, t *testing.T, m *machine) {
	for _, g := range []proto.Greeting{
		{Hostname: "first", BootID: "11111111-2222-4333-8444-555555555555", MachineID: "00000000000000000000000000000001"},
		{Hostname: "second", BootID: "66666666-7777-4888-8999-000000000000", MachineID: "00000000000000000000000000000002"},
		{Hostname: "third", BootID: "short", MachineID: "3"},
		{Hostname: "fourth", BootID: "66666666-7777-4888-8999-000000000004", MachineID: "00000000000000000000000000000004"},
	} {
		info, err := m.agent.Hello(ctx, g)
		if err != nil || info.BootID != g.BootID || info.Hostname != g.Hostname {
			t.Fatalf("greeted with %+v it says %+v, %v", g, info, err)
		}
		for path, want := range map[string]string{
			bootIDFile: g.BootID, "/etc/machine-id": g.MachineID, "/proc/sys/kernel/hostname": g.Hostname,
		} {
			if out, errs, e, err := m.run(ctx, proto.Command{}, "read", path); err != nil || e != (proto.Exit{}) || out != want+"\n" {
				t.Errorf("greeted as the %s, programs read %q in %s (%q, %+v, %v), want %q", g.Hostname, out, path, errs, e, err, want)
			}
		}
	}
}
