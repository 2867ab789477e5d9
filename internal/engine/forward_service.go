package engine

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"

	"taproom/internal/network/helper"
	"taproom/internal/network/portforward"
	"taproom/internal/network/state"
	"taproom/internal/spec"
	"taproom/internal/version"
)

// services are what networks are served, as a plan sees it: by the network helper, and by the process for ports of the
// loopback, which may connect where the helper may not.
type services struct {
	helper, loopback *helperService
}

var _ state.ServiceBackend = services{}

// of returns who serves what is known by a key, and by what key there.
func (s services) of(key string) (*helperService, string) {
	if uuid, ok := portforward.OfLoopback(key); ok {
		return s.loopback, uuid
	}
	return s.helper, key
}

// Observe implements state.ServiceBackend.
func (s services) Observe(ctx context.Context, keys ...string) (map[string]state.Service, error) {
	var names, ports []string
	for _, key := range keys {
		if uuid, ok := portforward.OfLoopback(key); ok {
			ports = append(ports, uuid)
		} else {
			names = append(names, key)
		}
	}
	all := map[string]state.Service{}
	if len(keys) == 0 || len(names) > 0 {
		served, err := s.helper.Observe(ctx, names...)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, served)
	}
	if len(keys) == 0 || len(ports) > 0 {
		served, err := s.loopback.Observe(ctx, ports...)
		if err != nil {
			return nil, err
		}
		for uuid, sv := range served {
			all[portforward.ServiceKey(uuid)] = sv
		}
	}
	return all, nil
}

// Set implements state.ServiceBackend.
func (s services) Set(ctx context.Context, key string, sv state.Service, index int) error {
	who, uuid := s.of(key)
	return who.Set(ctx, uuid, sv, index)
}

// Remove implements state.ServiceBackend.
func (s services) Remove(ctx context.Context, key string) error {
	who, uuid := s.of(key)
	return who.Remove(ctx, uuid)
}

// openLoopback prepares the process for ports of the loopback.
func (e *Engine) openLoopback() error {
	uid, err := e.uids.Take()
	if err != nil {
		return err
	}
	e.loopback = &helperService{
		options: helper.HelperOptions{
			Kernel: e.k, Program: e.cfg.Vnet, Dir: e.paths.Loopback(), LeaseDir: filepath.Join(e.paths.Loopback(), "leases"),
			Cgroup: filepath.Join(e.cgroup, "loopback"), UID: int(uid), GID: int(uid), Build: version.Known(), Connects: true,
		},
		lost: e.leadAgain, event: e.loopbackEvent, fail: e.loopbackFailed,
	}
	return nil
}

// leadAgain has ports of the loopback lead to guests again, by a process that took the place of one that ended.
func (e *Engine) leadAgain(ctx context.Context) {
	e.log.Warn("the process that serves ports of the loopback ended and was started again")
	e.setAgain(ctx, e.loopback, portforward.ServiceKey, "its ports of the loopback lead nowhere: the process that serves them ended, and cannot be brought back")
}

// loopbackEvent deals with what that process tells.
func (e *Engine) loopbackEvent(ev helper.Event) {
	if ev.Failed == "" {
		return
	}
	what := "ports of the loopback: " + ev.Failed
	if n, known := e.networks.uuid(ev.Network); known {
		what = fmt.Sprintf("network '%s': %s", n.label, what)
	}
	if e.troubles.add(ev.Network, what) {
		e.log.Error(what)
	}
}

func (e *Engine) loopbackFailed(err error) {
	what := "ports of the loopback lead to no guest: the process that serves them cannot do its work: " + err.Error()
	if e.troubles.add(spec.UUID{}, what) {
		e.log.Error(what)
	}
}

// leadsFromLoopback reports whether a network's forwards need that process.
func (e *Engine) leadsFromLoopback(doc *spec.Network) bool {
	s, err := portforward.Compile(doc, e.targets.known(*doc.UUID))
	_, leads := s.Services[portforward.ServiceKey(doc.UUID.String())]
	return err != nil || leads
}

// Settle implements state.ServiceSettler.
func (s services) Settle() {
	for _, who := range []*helperService{s.helper, s.loopback} {
		if who != nil {
			who.settle()
		}
	}
}

var _ state.ServiceSettler = services{}
