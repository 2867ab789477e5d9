package qemu

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// full is a guest with one of everything.
func full() *Config {
	return &Config{
		Binary: "/usr/bin/qemu-system-x86_64", Name: "a,b'c", UUID: "5b0d4a3e-0f3c-4f0e-9a65-3f6a1a6f0a01",
		Machine:  Option{Head: "pc-i440fx-7.2", Props: Props{{"usb", false}, {"vmport", false}}},
		Accel:    Option{Head: "tcg", Props: Props{{"thread", "single"}, {"tb-size", 16}}},
		CPU:      Option{Head: "qemu64", Props: Props{{"svm", false}}},
		SMP:      Option{Head: "2", Props: Props{{"sockets", 1}, {"cores", 2}, {"threads", 1}}},
		Memory:   Option{Props: Props{{"size", "64M"}, {"slots", 2}, {"maxmem", "128M"}}},
		Objects:  []Props{{{"qom-type", "rng-random"}, {"id", "rng0"}, {"filename", "/dev/urandom"}}},
		FDSets:   []FDSet{{ID: 1, ReadOnly: "vda ro", ReadWrite: "vda rw"}, {ID: 2, ReadOnly: "cd"}},
		Chardevs: []Chardev{ListenChardev("agent", "agent"), {ID: "n", Backend: "null"}},
		QMP:      "qmp",
		Blockdevs: []Props{
			{{"driver", "file"}, {"node-name", "vda-file"}, {"filename", "/dev/fdset/1"}, {"auto-read-only", true}, {"discard", "unmap"}, {"cache", Props{{"direct", false}, {"no-flush", false}}}},
			{{"driver", "raw"}, {"node-name", "vda"}, {"file", "vda-file"}},
			{{"driver", "file"}, {"node-name", "cd"}, {"filename", "/dev/fdset/2"}, {"read-only", true}},
		},
		Netdevs: []Props{{{"type", "tap"}, {"id", "net0"}, {"fds", FDs{"tap0", "tap1"}}}, {{"type", "tap"}, {"id", "net1"}, {"fd", FD("tap2")}}, {{"type", "user"}, {"id", "net2"}}},
		Devices: []Props{
			{{"driver", "virtio-net-pci"}, {"netdev", "net0"}, {"id", "nic0"}, {"mac", "52:54:00:00:00:01"}, {"mq", true}, {"vectors", 6}, {"bus", "pci.0"}, {"addr", "0x3"}},
			{{"driver", "e1000"}, {"netdev", "net1"}, {"id", "nic1"}},
			{{"driver", "rtl8139"}, {"netdev", "net2"}, {"id", "nic2"}},
			{{"driver", "virtio-blk-pci"}, {"drive", "vda"}, {"id", "disk0"}, {"bootindex", 1}, {"serial", "a,b"}},
			{{"driver", "ide-cd"}, {"drive", "cd"}, {"id", "cd0"}},
			{{"driver", "virtio-serial-pci"}, {"id", "vser"}},
			{{"driver", "virtserialport"}, {"bus", "vser.0"}, {"chardev", "agent"}, {"name", "org.taproom.agent.0"}},
			{{"driver", "virtio-rng-pci"}, {"rng", "rng0"}},
		},
		Flags:  []Flag{{"-rtc", Option{Props: Props{{"base", "utc"}}}}, {"-boot", Option{Props: Props{{"strict", true}}}}},
		AnyTCP: true,
	}
}

const fullShell = `# descriptor 3: vda ro: /var/lib/images/a.img, read-only
# descriptor 4: vda rw
# descriptor 5: cd
# descriptor 6: agent
# descriptor 7: qmp
# descriptor 8: tap0
# descriptor 9: tap1
# descriptor 10: tap2
/usr/bin/qemu-system-x86_64 \
  -name 'guest=a,,b'\''c,debug-threads=on' \
  -S \
  -no-shutdown \
  -nodefaults \
  -no-user-config \
  -sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny \
  -msg timestamp=on \
  -uuid 5b0d4a3e-0f3c-4f0e-9a65-3f6a1a6f0a01 \
  -machine pc-i440fx-7.2,usb=off,vmport=off \
  -accel tcg,thread=single,tb-size=16 \
  -cpu qemu64,svm=off \
  -smp 2,sockets=1,cores=2,threads=1 \
  -m size=64M,slots=2,maxmem=128M \
  -object '{"qom-type":"rng-random","id":"rng0","filename":"/dev/urandom"}' \
  -add-fd 'set=1,fd=3,opaque=vda ro' \
  -add-fd 'set=1,fd=4,opaque=vda rw' \
  -add-fd set=2,fd=5,opaque=cd \
  -chardev socket,id=agent,fd=6,server=on,wait=off \
  -chardev null,id=n \
  -chardev socket,id=qmp,fd=7,server=on,wait=on \
  -mon chardev=qmp,mode=control \
  -blockdev '{"driver":"file","node-name":"vda-file","filename":"/dev/fdset/1","auto-read-only":true,"discard":"unmap","cache":{"direct":false,"no-flush":false}}' \
  -blockdev '{"driver":"raw","node-name":"vda","file":"vda-file"}' \
  -blockdev '{"driver":"file","node-name":"cd","filename":"/dev/fdset/2","read-only":true}' \
  -netdev '{"type":"tap","id":"net0","fds":"8:9"}' \
  -netdev '{"type":"tap","id":"net1","fd":"10"}' \
  -netdev '{"type":"user","id":"net2"}' \
  -device '{"driver":"virtio-net-pci","netdev":"net0","id":"nic0","mac":"52:54:00:00:00:01","mq":true,"vectors":6,"bus":"pci.0","addr":"0x3"}' \
  -device '{"driver":"e1000","netdev":"net1","id":"nic1"}' \
  -device '{"driver":"rtl8139","netdev":"net2","id":"nic2"}' \
  -device '{"driver":"virtio-blk-pci","drive":"vda","id":"disk0","bootindex":1,"serial":"a,b"}' \
  -device '{"driver":"ide-cd","drive":"cd","id":"cd0"}' \
  -device '{"driver":"virtio-serial-pci","id":"vser"}' \
  -device '{"driver":"virtserialport","bus":"vser.0","chardev":"agent","name":"org.taproom.agent.0"}' \
  -device '{"driver":"virtio-rng-pci","rng":"rng0"}' \
  -display none \
  -rtc base=utc \
  -boot strict=on
`

func TestShellFormShowsTheWholeCommandAndItsDescriptors(t *testing.T) {
	t.Parallel()
	got, err := full().Shell(map[string]string{"vda ro": "/var/lib/images/a.img, read-only"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fullShell, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestArgsNumberTheFilesFromTheFirstDescriptor(t *testing.T) {
	t.Parallel()
	c := &Config{
		Binary: "q", Chardevs: []Chardev{ListenChardev("a", "s"), ListenChardev("b", "s")}, QMP: "m",
		VNC: &Option{Head: "127.0.0.1:1", Props: Props{{"password", false}}}, MemoryMB: 16, NoSandbox: true,
		Kernel: "/k,1", Initrd: "/i", Append: "console=ttyS0,115200 quiet", Firmware: []string{"/fw"}, Extra: []string{"-x", "y"},
	}
	argv, files, err := c.Args(20)
	want := strings.Fields(`-S -no-shutdown -nodefaults -no-user-config -msg timestamp=on -L /fw -m size=16M -kernel /k,1 -initrd /i -append`)
	want = append(want, "console=ttyS0,115200 quiet")
	want = append(want, strings.Fields(`-chardev socket,id=a,fd=20,server=on,wait=off -chardev socket,id=b,fd=20,server=on,wait=off
		-chardev socket,id=qmp,fd=21,server=on,wait=on -mon chardev=qmp,mode=control -vnc 127.0.0.1:1,password=off -x y`)...)
	if d := cmp.Diff(want, argv); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if want := []string{"s", "m"}; !slices.Equal(files, want) {
		t.Errorf("files: got %q, want %q", files, want)
	}
}

func TestValuesWithoutAFormAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*Config{
		"struct in JSON":             {Devices: []Props{{{"driver", struct{}{}}}}},
		"nested object in an option": {Machine: Option{Head: "pc", Props: Props{{"x", Props{}}}}},
		"descriptor without a name":  {Netdevs: []Props{{{"fd", FD("")}}}},
		"nested deeply":              {Blockdevs: []Props{{{"a", []any{Props{{"b", []Props{{{"c", complex(1, 1)}}}}}}}}}},
	} {
		if argv, _, err := c.Args(3); err == nil {
			t.Errorf("%s: got %q, want an error", name, argv)
		}
	}
}

func TestPropsAreNotSharedByWith(t *testing.T) {
	t.Parallel()
	base := Props{}.With("driver", "x")
	a, b := base.With("id", "a"), base.With("id", "b")
	if a.Get("id") != "a" || b.Get("id") != "b" || base.Get("id") != nil {
		t.Errorf("base %v, a %v, b %v", base, a, b)
	}
	nested := Props{{"x", []any{FD("1"), Props{{"y", FDs{"2", "3"}}}}}, {"z", []Props{{{"w", FD("4")}}}}}
	if got, want := nested.Files(), []string{"1", "2", "3", "4"}; !slices.Equal(got, want) {
		t.Errorf("files: got %q, want %q", got, want)
	}
}

func TestEveryQEMUTakesTheFullCommandLine(t *testing.T) {
	t.Parallel()
	for _, e := range emulators(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			c := full()
			c.Binary, c.Env, c.Firmware = e.binary, e.env, e.firmware
			c.Netdevs = []Props{{{"type", "user"}, {"id", "net0"}}, {{"type", "user"}, {"id", "net1"}}, {{"type", "user"}, {"id", "net2"}}}
			c.Devices[0] = Props{{"driver", "virtio-net-pci"}, {"netdev", "net0"}, {"id", "nic0"}} // queues need a tap
			s := spec(t, c)
			disk, cd := filepath.Join(t.TempDir(), "disk"), filepath.Join(t.TempDir(), "cd")
			if err := errors.Join(os.WriteFile(disk, make([]byte, 1<<20), 0o600), os.WriteFile(cd, make([]byte, 1<<20), 0o600)); err != nil {
				t.Fatal(err)
			}
			agent, err := kernel().ListenUnix(filepath.Join(t.TempDir(), "agent"), 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer agent.Close()
			s.Files = map[string]*os.File{
				"vda ro": openFile(t, disk, os.O_RDONLY), "vda rw": openFile(t, disk, os.O_RDWR), "cd": openFile(t, cd, os.O_RDONLY), "agent": agent,
			}
			p := start(t, s)
			var name struct{ Name string }
			if err := p.QMP().Execute(t.Context(), "query-name", nil, &name); err != nil || name.Name != c.Name {
				t.Errorf("name: got %q, %v; want %q", name.Name, err, c.Name)
			}
			var sets []struct {
				ID  int `json:"fdset-id"`
				FDs []struct{ Opaque string }
			}
			if err := p.QMP().Execute(t.Context(), "query-fdsets", nil, &sets); err != nil || len(sets) != 2 {
				t.Errorf("descriptor sets: got %+v, %v; want two", sets, err)
			}
		})
	}
}

// QEMU takes a doubled comma for one where it reads options, and as it stands where it reads a path.
func TestCommasArePutTwiceWhereQEMUReadsOptionsAlone(t *testing.T) {
	t.Parallel()
	c := &Config{Name: "a,b", Kernel: "/k,1", Flags: []Flag{{"-bios", Option{Head: "/b,1"}}, {"-global", Option{Props: Props{{"x.y", "p,q"}}}}}}
	argv, _, err := c.Args(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][2]string{{"-name", "guest=a,,b,debug-threads=on"}, {"-kernel", "/k,1"}, {"-bios", "/b,1"}, {"-global", "x.y=p,,q"}} {
		if i := slices.Index(argv, want[0]); i < 0 || argv[i+1] != want[1] {
			t.Errorf("%s in %q, want %s", want[0], argv, want[1])
		}
	}
}
