package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/xdr"
)

func bindEvents(p *program) {
	bind(p, remote.ProcConnectDomainEventRegister, func(q *request, _ *xdr.Void, r *remote.Int) error {
		_, err := q.conn.register(registration{legacy: true})
		r.N = 1
		return err
	})
	bind(p, remote.ProcConnectDomainEventDeregister, func(q *request, _ *xdr.Void, _ *remote.Int) error {
		return q.conn.deregister(func(r registration) bool { return r.legacy && r.kind == remote.EventLifecycle })
	})
	bind(p, remote.ProcConnectDomainEventRegisterAny, func(q *request, a *remote.Int, _ *xdr.Void) error {
		_, err := q.conn.register(registration{legacy: true, kind: a.N})
		return err
	})
	bind(p, remote.ProcConnectDomainEventDeregisterAny, func(q *request, a *remote.Int, _ *xdr.Void) error {
		return q.conn.deregister(func(r registration) bool { return r.legacy && r.kind == a.N })
	})
	bind(p, remote.ProcConnectDomainEventCallbackRegisterAny, registerDomain)
	bind(p, remote.ProcConnectDomainEventCallbackDeregisterAny, deregisterFrom(fromDomains))
	bind(p, remote.ProcConnectNetworkEventRegisterAny, registerNetwork)
	bind(p, remote.ProcConnectNetworkEventDeregisterAny, deregisterFrom(fromNetworks))
	bind(p, remote.ProcConnectStoragePoolEventRegisterAny, registerPool)
	bind(p, remote.ProcConnectStoragePoolEventDeregisterAny, deregisterFrom(fromPools))
	bind(p, remote.ProcConnectNodeDeviceEventRegisterAny, func(q *request, a *remote.NodeDeviceEventRegister, r *remote.Int) (err error) {
		if a.Device != nil {
			if _, err := q.backend.NodeDevice(q.ctx, a.Device.S); err != nil {
				return err
			}
		}
		r.N, err = q.conn.register(registration{source: fromNodeDevices, kind: a.Event})
		return err
	})
	bind(p, remote.ProcConnectNodeDeviceEventDeregisterAny, deregisterFrom(fromNodeDevices))
	bind(p, remote.ProcConnectSecretEventRegisterAny, func(q *request, a *remote.SecretEventRegister, r *remote.Int) (err error) {
		if a.Secret != nil {
			return noSecret(a.Secret.UUID)
		}
		r.N, err = q.conn.register(registration{source: fromSecrets, kind: a.Event})
		return err
	})
	bind(p, remote.ProcConnectSecretEventDeregisterAny, deregisterFrom(fromSecrets))
}

func registerDomain(q *request, a *remote.DomainEventRegister, r *remote.Int) (err error) {
	reg := registration{kind: a.Event}
	if a.Domain != nil {
		if _, err := q.backend.DomainByUUID(a.Domain.UUID); err != nil {
			return err
		}
		reg.uuid, reg.one = a.Domain.UUID, true
	}
	r.N, err = q.conn.register(reg)
	return err
}

func registerNetwork(q *request, a *remote.NetworkEventRegister, r *remote.Int) (err error) {
	reg := registration{source: fromNetworks, kind: a.Event}
	if a.Network != nil {
		if _, err := q.backend.NetworkByUUID(a.Network.UUID); err != nil {
			return err
		}
		reg.uuid, reg.one = a.Network.UUID, true
	}
	r.N, err = q.conn.register(reg)
	return err
}

func registerPool(q *request, a *remote.NetworkEventRegister, r *remote.Int) (err error) {
	reg := registration{source: fromPools, kind: a.Event}
	if a.Network != nil {
		if _, err := q.backend.PoolByUUID(a.Network.UUID); err != nil {
			return err
		}
		reg.uuid, reg.one = a.Network.UUID, true
	}
	r.N, err = q.conn.register(reg)
	return err
}

func deregisterFrom(from source) func(*request, *remote.Int, *xdr.Void) error {
	return func(q *request, a *remote.Int, _ *xdr.Void) error {
		return q.conn.deregister(func(r registration) bool { return !r.legacy && r.source == from && r.id == a.N })
	}
}
