package engine

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// SetBlockIOTune implements server.Devices.
func (e *Engine) SetBlockIOTune(ctx context.Context, uuid spec.UUID, device string, params []server.Param, flags uint32) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	var told []server.Param
	err = e.rework(ctx, uuid, flags, "bound a disk of", func(doc *spec.Domain, running bool) error {
		k := diskOf(doc, device)
		if k == nil {
			return noDisk(d, device)
		}
		if k.IOTune == nil {
			k.IOTune = &spec.IOTune{}
		}
		if err := bound(k.IOTune, params); err != nil {
			return err
		}
		if !slices.ContainsFunc(k.IOTune.Bounds(), func(b spec.Bound) bool { return *b.Value != "" && b.Name != spec.GroupName }) {
			k.IOTune = nil
		}
		if running {
			told = boundsOf(k, params)
		}
		return nil
	})
	if err == nil {
		e.tellTunables(d, told)
	}
	return err
}

// boundsOf is what is told of a disk whose bounds were changed.
func boundsOf(k *spec.Disk, params []server.Param) []server.Param {
	out := []server.Param{remote.StringParam("blkdeviotune.disk", k.Target.Dev)}
	for _, p := range params {
		p.Field = "blkdeviotune." + p.Field
		out = append(out, p)
	}
	return out
}

// diskOf is the disk with that target or source, nil when there is none.
func diskOf(doc *spec.Domain, device string) *spec.Disk {
	for i := range doc.Devices.Disks {
		if k := &doc.Devices.Disks[i]; device != "" && (k.Target.Dev == device || sourcePath(*k) == device) {
			return k
		}
	}
	return nil
}

// ioKind is what bounds belong together: of those that something is said of, what is not said goes.
func ioKind(name string) string {
	_, kind, _ := strings.Cut(name, "_")
	if strings.HasSuffix(name, "_max_length") || name == spec.GroupName || name == "size_iops_sec" {
		return name
	}
	return kind // bytes_sec, iops_sec, bytes_sec_max, iops_sec_max
}

// bound changes bounds.
func bound(t *spec.IOTune, params []server.Param) error {
	bounds := t.Bounds()
	for _, p := range params {
		for _, b := range bounds {
			if ioKind(b.Name) == ioKind(p.Field) {
				*b.Value = ""
			}
		}
	}
	for _, p := range params {
		i := slices.IndexFunc(bounds, func(b spec.Bound) bool { return b.Name == p.Field })
		switch {
		case i < 0:
			return virterr.New(virterr.InvalidArg, "parameter '%s' not supported", p.Field)
		case p.Field == spec.GroupName && p.Type == remote.ParamString:
			*bounds[i].Value = p.S
		case p.Field == spec.GroupName || p.Type == remote.ParamString:
			return virterr.New(virterr.InvalidArg, "parameter '%s' has another type", p.Field)
		case p.N > 0:
			*bounds[i].Value = strconv.FormatUint(p.N, 10)
		}
	}
	return nil
}

// BlockIOTune implements server.Devices.
func (e *Engine) BlockIOTune(_ context.Context, uuid spec.UUID, device string, flags uint32) ([]server.Param, error) {
	d, err := e.domain(uuid)
	if err != nil {
		return nil, err
	}
	live, _, err := d.affects(flags)
	if err != nil {
		return nil, err
	}
	var doc *spec.Domain
	if live {
		run, err := d.running()
		if err != nil {
			return nil, err
		}
		doc = run.doc()
	} else if doc, err = e.definitionOf(d); err != nil {
		return nil, err
	}
	tune := &spec.IOTune{}
	k := diskOf(doc, device)
	if k == nil && device != "" {
		return nil, noDisk(d, device)
	}
	if k != nil && k.IOTune != nil {
		tune = k.IOTune
	}
	var out []server.Param
	for _, b := range tune.Bounds() {
		if b.Name == spec.GroupName {
			out = append(out, remote.StringParam(b.Name, *b.Value))
			continue
		}
		n, _ := strconv.ParseUint(*b.Value, 10, 64) // Validate has read it before; "" is 0
		out = append(out, remote.Uint64Param(b.Name, n))
	}
	return out, nil
}
