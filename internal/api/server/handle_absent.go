package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

// bindAbsent answers for what there is none of here. Lists are empty and lookups find nothing, because a client that asks
// (virt-manager asks for everything) must not take "not supported" for a broken connection.
func bindAbsent(p *program) {
	for _, n := range []uint32{
		remote.ProcConnectListAllInterfaces, remote.ProcConnectListAllSecrets,
	} {
		bind(p, n, func(*request, *remote.NeedFlags, *remote.Empty) error { return nil })
	}
	for _, n := range []uint32{
		remote.ProcConnectListInterfaces, remote.ProcConnectListDefinedInterfaces, remote.ProcConnectListSecrets,
	} {
		bind(p, n, func(*request, *remote.Int, *remote.Strings) error { return nil })
	}
	for _, n := range []uint32{
		remote.ProcConnectNumOfInterfaces, remote.ProcConnectNumOfDefinedInterfaces, remote.ProcConnectNumOfSecrets,
	} {
		bind(p, n, func(*request, *xdr.Void, *remote.Int) error { return nil })
	}
	bindAbsentObjects(p)
}

func noSecret(uuid spec.UUID) error {
	return virterr.New(virterr.NoSecret, "no secret with matching uuid '%s'", uuid)
}

func bindAbsentObjects(p *program) {
	noInterface := func(what string) error {
		return virterr.New(virterr.NoInterface, "couldn't find interface '%s'", what)
	}
	byString := func(_ *request, a *remote.String, _ *remote.NameMAC) error { return noInterface(a.S) }
	bind(p, remote.ProcInterfaceLookupByName, byString)
	bind(p, remote.ProcInterfaceLookupByMACString, byString)
	bind(p, remote.ProcInterfaceIsActive, func(_ *request, a *remote.NameMAC, _ *remote.Int) error { return noInterface(a.Name) })
	bind(p, remote.ProcSecretLookupByUUID, func(_ *request, a *remote.UUID, _ *xdr.Void) error {
		return noSecret(a.UUID)
	})
	bind(p, remote.ProcSecretLookupByUsage, func(_ *request, a *remote.IntString, _ *xdr.Void) error {
		return virterr.New(virterr.NoSecret, "no secret with matching usage '%s'", a.S)
	})
}
