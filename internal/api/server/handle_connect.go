package server

import (
	"math"
	"strings"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

// Features a client may ask for (virDrvFeature) and that are there.
const (
	featureFDPassing        = 8
	featureTypedParamString = 9
	featureKeepalive        = 10
	featureEventCallback    = 14
	featureCloseCallback    = 15
	featureNetworkUpdate    = 16 // arguments of NETWORK_UPDATE come in the documented order
)

// connectRO is the flag of CONNECT_OPEN that makes a connection read-only.
const connectRO = 1

func newPrograms() map[uint32]*program {
	p := newProgram(remote.Procedures())
	bindConnect(p)
	bindHost(p)
	bindDomainReads(p)
	bindDomainData(p)
	bindDomainJobs(p)
	bindSaves(p)
	bindSleep(p)
	bindDevices(p)
	bindInterfaceTunables(p)
	bindScreens(p)
	bindNetworks(p)
	bindEvents(p)
	bindBalloon(p)
	bindStorage(p)
	bindMetadata(p)
	bindGraphics(p)
	bindAgent(p)
	bindInput(p)
	bindProcessors(p)
	bindPlacements(p)
	bindTunables(p)
	bindNodeDevices(p)
	bindNWFilters(p)
	bindAbsent(p)
	own := newProgram(remote.OwnProcedures())
	bindOwn(own)
	qemu := newProgram(remote.QEMUProcedures())
	bindQEMU(qemu)
	return map[uint32]*program{
		remote.ProgramRemote: p,
		remote.ProgramQEMU:   qemu,
		remote.ProgramOwn:    own,
	}
}

func bindConnect(p *program) {
	bind(p, remote.ProcAuthList, func(_ *request, _ *xdr.Void, r *remote.Ints) error {
		r.N = []int32{0} // none: the socket's mode and group guard it
		return nil
	})
	bind(p, remote.ProcAuthPolkit, func(*request, *xdr.Void, *remote.Int) error {
		return virterr.New(virterr.AuthFailed, "authentication failed: this socket asks for none").In(virterr.FromRPC)
	})
	bind(p, remote.ProcConnectOpen, open)
	bind(p, remote.ProcConnectClose, func(q *request, _ *xdr.Void, _ *xdr.Void) error {
		q.conn.mu.Lock()
		defer q.conn.mu.Unlock()
		q.conn.open, q.conn.regs = false, nil
		return nil
	})
	bind(p, remote.ProcConnectSupportsFeature, supportsFeature)
	bind(p, remote.ProcConnectGetType, func(_ *request, _ *xdr.Void, r *remote.String) error {
		r.S = "QEMU"
		return nil
	})
	bind(p, remote.ProcConnectGetURI, func(q *request, _ *xdr.Void, r *remote.String) error {
		q.conn.mu.Lock()
		defer q.conn.mu.Unlock()
		r.S = q.conn.uri
		return nil
	})
	bind(p, remote.ProcConnectIsSecure, func(_ *request, _ *xdr.Void, r *remote.Int) error {
		r.N = 1 // a unix socket
		return nil
	})
	bind(p, remote.ProcConnectSetIdentity, func(q *request, a *remote.Identity, _ *xdr.Void) error {
		q.conn.srv.log.Debug("client claims an identity", "client", q.conn.id, "identity", a.Params)
		for _, p := range a.Params {
			if p.Field == "process-id" && p.N <= math.MaxInt32 {
				q.conn.mu.Lock()
				q.conn.claimed = int32(p.N)
				q.conn.mu.Unlock()
			}
		}
		return nil
	})
	nothing := func(*request, *xdr.Void, *xdr.Void) error { return nil }
	// The connection to the hypervisor cannot close by itself here, so the callback never fires.
	bind(p, remote.ProcConnectRegisterCloseCallback, nothing)
	bind(p, remote.ProcConnectUnregisterCloseCallback, nothing)
}

// open accepts the URIs of every driver the daemon stands for.
func open(q *request, a *remote.OptStringFlags, _ *xdr.Void) error {
	c := q.conn
	uri := a.S.S
	if uri == "" || uri == "qemu:///" {
		uri = c.srv.opts.URI
	}
	scheme, _, _ := strings.Cut(uri, ":")
	switch scheme, _, _ = strings.Cut(scheme, "+"); scheme {
	case "qemu", "network", "nwfilter", "storage", "secret", "interface", "nodedev":
	default:
		return virterr.New(virterr.NoConnect, "no connection driver available for %s", uri).In(virterr.FromNone)
	}
	if err := ofThisDaemon(uri, c.srv.opts.URI); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open {
		return virterr.New(virterr.InternalError, "connection already open").In(virterr.FromRPC)
	}
	c.open, c.uri = true, uri
	c.readOnly = c.readOnly || a.Flags&connectRO != 0
	return nil
}

// ofThisDaemon refuses a URI that names the other kind of daemon: a client that means the system's guests must not get
// those of a session.
func ofThisDaemon(uri, own string) error {
	_, rest, _ := strings.Cut(uri, "://")
	_, path, _ := strings.Cut(rest, "/")
	path, _, _ = strings.Cut(path, "?")
	for _, kind := range []string{"system", "session"} {
		if path == kind && !strings.HasSuffix(own, "/"+kind) {
			return virterr.New(virterr.InternalError, "unexpected URI path '/%s' of %s, try %s", kind, uri, own)
		}
	}
	return nil
}

func supportsFeature(q *request, a *remote.Int, r *remote.Int) error {
	switch a.N {
	case featureKeepalive:
		q.conn.heard.Store(true)
		q.conn.keepalive.Store(true)
		r.N = 1
	case featureFDPassing:
		r.N = flag(q.conn.passesFiles())
	case featureTypedParamString, featureEventCallback, featureCloseCallback, featureNetworkUpdate:
		r.N = 1
	}
	return nil
}

func bindHost(p *program) {
	bind(p, remote.ProcConnectGetVersion, func(q *request, _ *xdr.Void, r *remote.Uint64) error {
		r.N, _ = q.backend.Versions()
		return nil
	})
	bind(p, remote.ProcConnectGetLibVersion, func(q *request, _ *xdr.Void, r *remote.Uint64) error {
		_, r.N = q.backend.Versions()
		return nil
	})
	bind(p, remote.ProcConnectGetHostname, func(q *request, _ *xdr.Void, r *remote.String) error {
		r.S = q.backend.Hostname()
		return nil
	})
	bind(p, remote.ProcConnectGetMaxVCPUs, func(q *request, a *remote.OptString, r *remote.Int) (err error) {
		r.N, err = q.backend.MaxVCPUs(q.ctx, a.S)
		return err
	})
	bind(p, remote.ProcConnectGetCapabilities, func(q *request, _ *xdr.Void, r *remote.String) (err error) {
		r.S, err = q.backend.Capabilities(q.ctx)
		return err
	})
	bind(p, remote.ProcConnectGetDomainCapabilities, func(q *request, a *remote.DomainCapabilitiesArgs, r *remote.String) (err error) {
		r.S, err = q.backend.DomainCapabilities(q.ctx, DomainCapabilitiesQuery{a.Emulator.S, a.Arch.S, a.Machine.S, a.VirtType.S})
		return err
	})
	bind(p, remote.ProcConnectGetCPUModelNames, func(q *request, a *remote.CPUModelsArgs, r *remote.CPUModels) error {
		models, err := q.backend.CPUModels(q.ctx, a.Arch)
		r.N = int32(len(models))
		if a.Need != 0 {
			r.Models = models
		}
		return err
	})
	bind(p, remote.ProcConnectGetSysinfo, func(q *request, a *remote.Uint, r *remote.String) (err error) {
		if err := onlyFlags(a.N, 0, "virConnectGetSysinfo"); err != nil {
			return err
		}
		r.S, err = q.backend.Sysinfo(q.ctx)
		return err
	})
	bind(p, remote.ProcNodeGetInfo, func(q *request, _ *xdr.Void, r *remote.NodeInfo) error {
		n := q.backend.NodeInfo()
		*r = remote.NodeInfo{Model: n.Model, Memory: n.MemoryKiB, CPUs: n.CPUs, MHz: n.MHz, Nodes: n.Nodes, Sockets: n.Sockets, Cores: n.Cores, Threads: n.Threads}
		return nil
	})
	bind(p, remote.ProcNodeGetCPUMap, func(q *request, a *remote.CPUMapArgs, r *remote.CPUMap) error {
		r.N = q.backend.NodeInfo().CPUs // those that are offline are not counted
		if a.NeedOnline != 0 {
			r.Online = uint32(r.N)
		}
		if a.NeedMap != 0 {
			r.Map = cpuMap(r.N, min((int(r.N)+7)/8, remote.MaxCPUMap))
		}
		return nil
	})
	bind(p, remote.ProcNodeGetFreeMemory, func(q *request, _ *xdr.Void, r *remote.Uint64) error {
		r.N = q.backend.FreeMemory()
		return nil
	})
	bind(p, remote.ProcNodeGetCPUStats, func(q *request, a *remote.NodeCPUStatsArgs, r *remote.NodeStats) error {
		stats, err := q.backend.NodeCPUStats(a.CPU)
		fillStats(r, stats, a.N)
		return err
	})
	bind(p, remote.ProcNodeGetMemoryStats, func(q *request, a *remote.NodeMemoryStatsArgs, r *remote.NodeStats) error {
		stats, err := q.backend.NodeMemoryStats(a.Cell)
		fillStats(r, stats, a.N)
		return err
	})
	bind(p, remote.ProcNodeGetSecurityModel, func(_ *request, _ *xdr.Void, r *remote.SecurityModel) error {
		r.Model, r.DOI = "none", "0"
		return nil
	})
}

// cpuMap is a map of so many bytes in which the first CPUs are set.
func cpuMap(cpus int32, size int) []byte {
	m := make([]byte, size)
	for cpu := range min(int(cpus), 8*size) {
		m[cpu/8] |= 1 << (cpu % 8)
	}
	return m
}

// fillStats answers a question for up to room figures; with none it asks how many there are.
func fillStats(r *remote.NodeStats, stats []NodeStat, room int32) {
	r.N = int32(len(stats))
	for i, s := range stats {
		if int32(i) < room && i < remote.MaxNodeStats {
			r.Stats = append(r.Stats, remote.NodeStat{Field: s.Name, Value: s.Value})
		}
	}
}
