package server_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"taproom/internal/api/client"
	"taproom/internal/api/own"
	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/server/servertest"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

func TestCallsThatAreNotThereAreCountedByWhoMadeThem(t *testing.T) {
	t.Parallel()
	f := servertest.New()
	f.AddDomains(1)
	f.Block = func(call string) error {
		if call == "ResetDomain" {
			return virterr.Unsupported("virDomainReset") // there is a handler, and it cannot
		}
		return nil
	}
	names := map[int32]string{int32(os.Getpid()): "virsh\n\x1b[1m", 77: "virt-manager"}
	d := servertest.Serve(t, server.Options{Backend: f, ClientName: func(pid int32) string { return names[pid] }})
	w := opened(t, d.Socket)
	refused := func(procedure uint32, args xdr.Value) {
		t.Helper()
		if err := w.call(procedure, args, &xdr.Void{}); virterr.CodeOf(err) != virterr.NoSupport {
			t.Errorf("procedure %d: %v", procedure, err)
		}
	}
	dom := remote.Domain{UUID: f.ListDomains(nil)[0].UUID}
	refused(207, &xdr.Void{})
	refused(207, &xdr.Void{})
	refused(remote.ProcDomainReset, &remote.DomainFlags{Domain: dom})
	w.must(remote.ProcConnectSetIdentity, &remote.Identity{Params: []remote.TypedParam{remote.Int64Param("process-id", 77)}}, &xdr.Void{})
	refused(207, &xdr.Void{})
	w.must(remote.ProcConnectSetIdentity, &remote.Identity{Params: []remote.TypedParam{remote.Int64Param("process-id", 78)}}, &xdr.Void{})
	refused(207, &xdr.Void{})

	c, err := client.Dial(t.Context(), d.RO, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Missing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const speed = "virDomainMigrateSetMaxSpeed"
	want := []own.MissingCall{
		{Call: speed, Program: remote.ProgramRemote, Procedure: 207, Client: "virsh??[1m", Count: 2},
		{Call: speed, Program: remote.ProgramRemote, Procedure: 207, Client: "unknown", Count: 1},
		{Call: speed, Program: remote.ProgramRemote, Procedure: 207, Client: "virt-manager", Count: 1},
		{Call: "virDomainReset", Program: remote.ProgramRemote, Procedure: remote.ProcDomainReset, Client: "virsh??[1m", Count: 1},
	}
	if diff := cmp.Diff(want, got.Calls, cmpopts.IgnoreFields(own.MissingCall{}, "Last")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, call := range got.Calls {
		if call.Last < got.Since || got.Since == 0 {
			t.Errorf("%s was last called at %d, counted since %d", call.Call, call.Last, got.Since)
		}
	}
}
