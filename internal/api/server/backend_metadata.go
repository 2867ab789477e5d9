package server

import (
	"context"

	"taproom/internal/spec"
)

// Descriptions is what domains and networks are called and said to be.
type Descriptions interface {
	// SetDomainMetadata changes a description, a title or an application's element; flags AffectLive, AffectConfig.
	SetDomainMetadata(ctx context.Context, uuid spec.UUID, m Metadata, flags uint32) error
	// DomainMetadata returns what m asks for (its text is not used); flags as above, one of them at most.
	DomainMetadata(uuid spec.UUID, m Metadata, flags uint32) (string, error)
	SetNetworkMetadata(ctx context.Context, uuid spec.UUID, m Metadata, flags uint32) error
	NetworkMetadata(uuid spec.UUID, m Metadata, flags uint32) (string, error)
	// RenameDomain gives a domain that does not run another name.
	RenameDomain(ctx context.Context, uuid spec.UUID, name string) error
}

// Metadata is one thing that is said of a domain or network: Type is one of Metadata….
type Metadata struct {
	Type        int32
	Text        string // "" takes it away
	Prefix, URI string // of an application's element
}

// Types of metadata (virDomainMetadataType, virNetworkMetadataType).
const (
	MetadataDescription = 0
	MetadataTitle       = 1
	MetadataElement     = 2
)
