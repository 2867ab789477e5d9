package server_test

import (
	"path/filepath"
	"testing"
	"time"

	"taproom/internal/api/client"
	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/server/servertest"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

// virsh 9.0 hangs when it is answered before it watches.
func TestCallsThatVirshWatchesAreNotAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	d := servertest.Serve(t, server.Options{Backend: servertest.New()})
	c, err := client.Dial(t.Context(), d.Socket, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	nobody := remote.Domain{Name: "nobody", UUID: spec.UUID{1}}
	path := filepath.Join(t.TempDir(), "image")
	for procedure, args := range map[uint32]xdr.Value{
		remote.ProcDomainSave:               &remote.DomainString{Domain: nobody, S: path},
		remote.ProcDomainSaveFlags:          &remote.DomainSaveArgs{Domain: nobody, To: path},
		remote.ProcDomainSaveParams:         &remote.DomainParamsArgs{Domain: nobody},
		remote.ProcDomainManagedSave:        &remote.DomainFlags{Domain: nobody},
		remote.ProcDomainCoreDump:           &remote.DomainStringFlags{Domain: nobody, S: path},
		remote.ProcDomainCoreDumpWithFormat: &remote.CoreDumpArgs{Domain: nobody, To: path},
	} {
		begin := time.Now()
		err := c.Call(t.Context(), remote.ProgramRemote, procedure, args, &xdr.Void{})
		if took := time.Since(begin); virterr.CodeOf(err) != virterr.NoDomain || took < 100*time.Millisecond {
			t.Errorf("procedure %d is answered after %v: %v", procedure, took, err)
		}
	}
}
