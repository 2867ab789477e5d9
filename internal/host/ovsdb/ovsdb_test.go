package ovsdb_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taproom/internal/host/hosttest"
	"taproom/internal/host/ovsdb"
	"taproom/internal/host/ovsdb/ovstest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

func dial(t *testing.T, ns *hosttest.NS, s *ovstest.Switch) *ovsdb.Conn {
	t.Helper()
	c, err := ovsdb.Dial(t.Context(), ns.Kernel(), s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// inserts is a port on the bridge of that name, and what tells when the switch has it.
func inserts(bridge, port string, ids ovsdb.Map) []ovsdb.Op {
	return []ovsdb.Op{
		ovsdb.Wait("Bridge", "name", 0, ovsdb.Is("name", bridge)),
		ovsdb.Insert("Interface", "i", map[string]any{"name": port, "external_ids": ids}),
		ovsdb.Insert("Port", "p", map[string]any{"name": port, "interfaces": ovsdb.Set{ovsdb.Named("i")}}),
		ovsdb.Mutate("Bridge", []ovsdb.Mutation{{"ports", "insert", ovsdb.Set{ovsdb.Named("p")}}}, ovsdb.Is("name", bridge)),
		ovsdb.Mutate("Open_vSwitch", []ovsdb.Mutation{{"next_cfg", "+=", 1}}),
		ovsdb.Select("Open_vSwitch", []string{"next_cfg"}),
		ovsdb.Comment("a test"),
	}
}

func TestATransactionOnTheRealDatabase(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	s := ovstest.Start(t, ns)
	s.Bridge("br0")
	c := dial(t, ns, s)
	ids := ovsdb.Map{"attached-mac": "52:54:00:00:00:01", "with \"quotes\"": "and, commas"}
	r, err := c.Transact(t.Context(), inserts("br0", "gone0", ids)...)
	if err != nil {
		t.Fatal(err)
	}
	next, err := r[5].Rows[0].Int("next_cfg")
	if err != nil || r[3].Count != 1 {
		t.Fatalf("%v, %d bridges changed", err, r[3].Count)
	}
	r, err = c.Transact(t.Context(),
		ovsdb.Wait("Open_vSwitch", "cur_cfg", time.Minute, ovsdb.Condition{"cur_cfg", ">=", next}),
		ovsdb.Select("Interface", []string{"name", "error", "external_ids", "ofport", "_uuid"}, ovsdb.Is("name", "gone0")),
		ovsdb.Select("Port", []string{"name"}, ovsdb.Is("name", "nobody")))
	if err != nil {
		t.Fatal(err)
	}
	row := r[1].Rows[0]
	why, err := row.String("error")
	if err != nil || why == "" {
		t.Errorf("a port without a link has the error %q, %v", why, err)
	}
	got, err := row.Map("external_ids")
	if err != nil || got["attached-mac"] != ids["attached-mac"] || got["with \"quotes\""] != "and, commas" {
		t.Errorf("external_ids %v, %v", got, err)
	}
	if id, err := row.UUID("_uuid"); err != nil || len(id) != 36 {
		t.Errorf("_uuid %q, %v", id, err)
	}
	if len(r[2].Rows) != 0 {
		t.Errorf("a port that is not there: %v", r[2].Rows)
	}
	if n := s.Transactions("a test"); n != 1 {
		t.Errorf("%d transactions in the log", n)
	}
}

func TestWhatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	s := ovstest.Start(t, ns)
	s.Bridge("br0")
	c := dial(t, ns, s)
	_, err := c.Transact(t.Context(), inserts("br1", "p0", nil)...)
	var e *ovsdb.Error
	if !ovsdb.IsTimeout(err) || !errors.As(err, &e) || e.Op != 0 {
		t.Errorf("a bridge that is not there: %v", err)
	}
	_, err = c.Transact(t.Context(), inserts("br0", "br0", nil)...)
	if !ovsdb.IsConstraint(err) {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err = c.Transact(t.Context(), ovsdb.Select("Nothing", nil)); !errors.As(err, &e) || e.Code == "" {
		t.Errorf("a table that is not there: %v", err)
	}
	if got := s.Ports("br0"); len(got) != 0 {
		t.Errorf("ports were made: %v", got)
	}
	if _, err = c.Transact(t.Context(), inserts("br0", "p0", nil)...); err != nil { // it goes on
		t.Error(err)
	}
}

func TestWhatIsWatchedIsTold(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	s := ovstest.Start(t, ns)
	s.Bridge("br0")
	c := dial(t, ns, s)
	err := c.Monitor(t.Context(), map[string]ovsdb.Watch{"Port": {Columns: []string{"name", "external_ids"}, Select: ovsdb.Kinds{Insert: true, Delete: true}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Ctl("--no-wait", "add-port", "br0", "p0")
	// An answer that comes while something changes does not swallow it.
	if _, err := c.Transact(t.Context(), ovsdb.Select("Bridge", []string{"name"})); err != nil {
		t.Fatal(err)
	}
	s.Ctl("--no-wait", "del-port", "p0")
	var told []string
	for len(told) < 2 {
		changed, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range changed["Port"] {
			if row.New != nil {
				name, err := row.New.String("name")
				if err != nil {
					t.Fatal(err)
				}
				told = append(told, "+"+name)
				continue
			}
			name, err := row.Old.String("name")
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, "-"+name)
		}
	}
	if told[0] != "+p0" || told[1] != "-p0" {
		t.Errorf("told %v", told)
	}
}

func TestADatabaseThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	ns := hosttest.NewNS(t)
	s := ovstest.Start(t, ns)
	c := dial(t, ns, s)
	s.SignalServer(unix.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Transact(ctx, ovsdb.Select("Bridge", nil)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that is stopped: %v", err)
	}
	s.SignalServer(unix.SIGCONT)
	s.StopServer()
	if _, err := c.Next(t.Context()); err == nil {
		t.Error("the server is gone, and nobody says so")
	}
	if _, err := ovsdb.Dial(t.Context(), ns.Kernel(), s.Socket); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("a socket nobody listens on: %v", err)
	}
}
