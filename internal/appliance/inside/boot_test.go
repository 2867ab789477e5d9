package inside

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/proto"
)

// TestAppliance boots one appliance, freezes it, and has its clones do everything else.
func TestAppliance(t *testing.T) {
	t.Parallel()
	p := freeze(t)
	for name, test := range map[string]func(ctx context.Context, t *testing.T, p template){
		"clones differ and have the right time":       clonesDiffer,
		"a disk is plugged in, mounted and looked at": diskIsLookedAt,
		"what is synced is on the disk":               whatIsSyncedIsOnTheDisk,
		"bulk arrives whole":                          bulkArrivesWhole,
		"devices are known":                           devicesAreKnown,
		"programs run and end":                        programsRunAndEnd,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := step(t)
			defer cancel()
			test(ctx, t, p)
		})
	}
}

func clonesDiffer(ctx context.Context, t *testing.T, p template) {
	seen := map[string]string{}
	const bootID = "11111111-2222-4333-8444-555555555555"
	for i, name := range []string{"one", "two", "three"} {
		m := p.clone(ctx, t)
		g := proto.Greeting{UnixNano: time.Now().UnixNano(), Seed: make([]byte, 64), Hostname: name}
		if name == "three" {
			g.BootID = bootID
		}
		if _, err := rand.Read(g.Seed); err != nil {
			t.Fatal(err)
		}
		info, err := m.agent.Hello(ctx, g)
		if err != nil {
			t.Fatal(err)
		}
		if off := time.Duration(time.Now().UnixNano() - info.UnixNano).Abs(); off > 5*time.Minute { // wait: of two clocks
			t.Errorf("%s: its clock is off by %v", name, off)
		}
		if info.Hostname != name || info.Agent != "test-1" || info.Kernel == "" || info.Memory == 0 || info.InitNano <= 0 || info.ReadyNano < info.InitNano {
			t.Errorf("%s says %+v", name, info)
		}
		if name == "three" && info.BootID != bootID {
			t.Errorf("its boot ID is %s, not the %s that it was given", info.BootID, bootID)
		}
		for what, value := range map[string]string{"random numbers": string(info.Nonce), "boot ID": info.BootID} {
			if len(value) < 16 {
				t.Errorf("%s: %s %q", name, what, value)
			}
			if other := seen[what+value]; other != "" {
				t.Errorf("%s and %s have the same %s", name, other, what)
			}
			seen[what+value] = name
		}
		// Whoever takes a clone over greets it again.
		again, err := m.agent.Hello(ctx, proto.Greeting{Hostname: "again", BootID: bootID[:35] + string('6'+rune(i))})
		if err != nil || again.Hostname != "again" || again.BootID == info.BootID || string(again.Nonce) == string(info.Nonce) {
			t.Errorf("greeted again: %+v, %v", again, err)
		}
		// Not to keep it while the others run.
		_ = m.agent.Shutdown(ctx)
		select {
		case <-m.exited:
		case <-ctx.Done():
			t.Fatalf("%s does not end: %v", name, ctx.Err())
		}
	}
}

func diskIsLookedAt(ctx context.Context, t *testing.T, p template) {
	m := p.clone(ctx, t)
	if _, err := m.agent.Hello(ctx, proto.Greeting{UnixNano: time.Now().UnixNano()}); err != nil {
		t.Fatal(err)
	}
	mounted := make(chan error, 1)
	go func() { // before the disk is there
		got, err := m.agent.Mount(ctx, proto.Mount{Device: "serial:D1", At: "/", ReadOnly: true})
		if want := (proto.Mounted{Device: "sda", At: "/", Type: "ext4", Options: "noload"}); err == nil && got != want {
			err = errors.New("mounted " + got.Type + " as " + got.Options)
		}
		mounted <- err
	}()
	m.attach(ctx, t, mkfs(t, 16, image(t)), "D1", true)
	if err := <-mounted; err != nil {
		t.Fatal(err)
	}
	list, err := m.agent.List(ctx, "/")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	if want := []string{"absolute", "deep", "etc", "far", "folder", "loop", "lost+found", "magic", "out", "pipe", "up"}; !slices.Equal(names, want) {
		t.Errorf("the root has %q, want %q", names, want)
	}
	f, err := m.agent.Statfs(ctx, "/")
	if err != nil || f.Type != unix.EXT4_SUPER_MAGIC || f.Blocks == 0 {
		t.Errorf("statfs: %+v, %v", f, err)
	}
	if _, err := m.agent.Stat(ctx, proto.Path{Path: "/up", Follow: true}); !errors.Is(err, unix.ENOENT) {
		t.Errorf("a link that leads out: %v, want ENOENT", err)
	}
	mounts, err := m.agent.Mounts(ctx)
	if err != nil || len(mounts) != 1 || mounts[0].Device != "sda" || mounts[0].At != "/" {
		t.Errorf("mounts: %+v, %v", mounts, err)
	}
	if err := m.agent.Unmount(ctx, "/boot"); !errors.Is(err, unix.EINVAL) {
		t.Errorf("unmount where nothing is: %v", err)
	}
	if err := m.agent.Unmount(ctx, "/"); err != nil {
		t.Error(err)
	}
	if mounts, err := m.agent.Mounts(ctx); err != nil || len(mounts) != 0 {
		t.Errorf("mounts after it was unmounted: %+v, %v", mounts, err)
	}
	if err := m.agent.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}
