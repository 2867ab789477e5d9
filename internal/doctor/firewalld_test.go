package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"taproom/internal/doctor"
	"taproom/internal/host/nft"
	"taproom/internal/network/firewall"
	"taproom/internal/network/firewall/firewalld"
	"taproom/internal/network/firewall/firewalld/firewalldtest"
)

func TestFirewalldIsFoundOnTheBus(t *testing.T) {
	t.Parallel()
	ns, e := env(t)
	finding := func(status doctor.Status, evidence string) {
		t.Helper()
		all := doctor.Run(t.Context(), e)
		if f := one(t, all, "firewalld"); f.Status != status || !strings.Contains(f.Evidence, evidence) {
			t.Errorf("got %+v, want %q", f, evidence)
		}
		if f := one(t, all, "foreign-rules"); f.Status != doctor.OK {
			t.Errorf("got %+v", f)
		}
	}
	d := firewalldtest.StartBus(t, ns, firewalldtest.NFTables)
	if err := os.Symlink(d.Socket, put(t, filepath.Join(e.Root, "run/dbus/system_bus_socket"))); err != nil {
		t.Fatal(err)
	}
	finding(doctor.OK, "nobody owns")
	d.StartDaemon()
	finding(doctor.OK, "no zone taproom yet")
	fw := firewalld.New(firewall.New(&nft.Fake{}, "taproom"), firewalld.Config{Kernel: ns.Kernel(), Socket: d.Socket, Within: firewalldtest.Patience})
	if err := fw.Apply(t.Context(), []firewall.Element{{Set: "bridges", Key: "virbr7"}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := fw.Close(); err != nil {
		t.Error(err)
	}
	finding(doctor.OK, "in its zone taproom: virbr7")
	d.Signal(syscall.SIGSTOP)
	if f := one(t, doctor.Run(t.Context(), e), "firewalld"); f.Status != doctor.Unknown {
		t.Errorf("one that hangs: %+v", f)
	}
}

func TestABusThatTalksNonsenseIsUnknown(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{"REJECTED EXTERNAL\r\n", "OK 1\r\nBxxxxxxxxxxxxxxxxxxxxx", "OK 1\r\nl\x02\x00\x01\xff\xff\xff\x7f\x01\x00\x00\x00\x00\x00\x00\x00", "OK 1\r\n", ""} {
		_, e := env(t)
		l := listen(t, filepath.Join(e.Root, "run/dbus/system_bus_socket"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte(reply))
			_, _ = c.Read(make([]byte, 4096))
		}()
		if f := one(t, doctor.Run(context.Background(), e), "firewalld"); f.Status != doctor.Unknown {
			t.Errorf("reply %q gave %+v", reply, f)
		}
		<-done
	}
}
