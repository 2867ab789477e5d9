package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
)

func bindMetadata(p *program) {
	bind(p, remote.ProcDomainSetMetadata, func(q *request, a *remote.DomainSetMetadata, _ *xdr.Void) error {
		m, err := metadataOf(&a.SetMetadata)
		if err != nil {
			return err
		}
		return q.backend.SetDomainMetadata(q.ctx, a.UUID, m, a.Flags)
	})
	bind(p, remote.ProcDomainGetMetadata, func(q *request, a *remote.DomainGetMetadata, r *remote.String) error {
		m, err := metadataWanted(&a.GetMetadata)
		if err == nil {
			r.S, err = q.backend.DomainMetadata(a.UUID, m, a.Flags)
		}
		return err
	})
	bind(p, remote.ProcNetworkSetMetadata, func(q *request, a *remote.NetworkSetMetadata, _ *xdr.Void) error {
		m, err := metadataOf(&a.SetMetadata)
		if err != nil {
			return err
		}
		return q.backend.SetNetworkMetadata(q.ctx, a.Network.UUID, m, a.Flags)
	})
	bind(p, remote.ProcNetworkGetMetadata, func(q *request, a *remote.NetworkGetMetadata, r *remote.String) error {
		m, err := metadataWanted(&a.GetMetadata)
		if err == nil {
			r.S, err = q.backend.NetworkMetadata(a.Network.UUID, m, a.Flags)
		}
		return err
	})
	bind(p, remote.ProcDomainRename, func(q *request, a *remote.DomainOptStringFlags, _ *remote.Int) error {
		return q.backend.RenameDomain(q.ctx, a.UUID, a.S.S)
	})
}

// metadataOf checks what is to be set as libvirt's own library does before it asks.
func metadataOf(a *remote.SetMetadata) (Metadata, error) {
	m := Metadata{Type: a.Type, Text: a.Metadata.S, Prefix: a.Key.S, URI: a.URI.S}
	switch {
	case a.Type == MetadataElement && !a.URI.Set:
		return m, virterr.New(virterr.InvalidArg, "an element of metadata needs the URI of its namespace").In(virterr.FromDom)
	case a.Type == MetadataElement && a.Metadata.Set && !a.Key.Set:
		return m, virterr.New(virterr.InvalidArg, "an element of metadata needs a prefix for its namespace").In(virterr.FromDom)
	case a.Type == MetadataElement:
		return m, nil
	case a.URI.Set || a.Key.Set:
		return m, virterr.New(virterr.InvalidArg, "a title or description has no namespace").In(virterr.FromDom)
	}
	return m, knownMetadata(a.Type)
}

func metadataWanted(a *remote.GetMetadata) (Metadata, error) {
	m := Metadata{Type: a.Type, URI: a.URI.S}
	switch {
	case a.Flags == AffectLive|AffectConfig:
		return m, virterr.New(virterr.InvalidArg, "metadata is asked of what runs or of the definition, not of both").In(virterr.FromDom)
	case (a.Type == MetadataElement) != a.URI.Set:
		return m, virterr.New(virterr.InvalidArg, "an element of metadata, and nothing else, is asked for by the URI of its namespace").In(virterr.FromDom)
	}
	return m, knownMetadata(a.Type)
}

func knownMetadata(kind int32) error {
	if kind < MetadataDescription || kind > MetadataElement {
		return virterr.New(virterr.InvalidArg, "unknown metadata type '%d'", kind).In(virterr.FromDom)
	}
	return nil
}
