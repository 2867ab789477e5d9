package servertest

import (
	"context"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// said is one thing that is said of an object.
type said struct {
	uuid spec.UUID
	kind int32
	uri  string
}

func (f *Fake) say(uuid spec.UUID, m server.Metadata) {
	if f.said == nil {
		f.said = map[said]string{}
	}
	f.said[said{uuid, m.Type, m.URI}] = m.Text
}

// SetDomainMetadata implements server.Descriptions.
func (f *Fake) SetDomainMetadata(_ context.Context, uuid spec.UUID, m server.Metadata, _ uint32) error {
	return f.change("SetDomainMetadata", uuid, func(d *domain) error {
		f.say(uuid, m)
		f.emit(server.DomainMetadataChange{Domain: d.Domain, Type: m.Type, URI: m.URI})
		return nil
	})
}

// DomainMetadata implements server.Descriptions.
func (f *Fake) DomainMetadata(uuid spec.UUID, m server.Metadata, _ uint32) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if text := f.said[said{uuid, m.Type, m.URI}]; text != "" {
		return text, nil
	}
	return "", virterr.New(virterr.NoDomainMetadata, "Requested metadata element is not present")
}

// SetNetworkMetadata implements server.Descriptions.
func (f *Fake) SetNetworkMetadata(_ context.Context, uuid spec.UUID, m server.Metadata, _ uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.say(uuid, m)
	return nil
}

// NetworkMetadata implements server.Descriptions.
func (f *Fake) NetworkMetadata(uuid spec.UUID, m server.Metadata, flags uint32) (string, error) {
	return f.DomainMetadata(uuid, m, flags)
}

// RenameDomain implements server.Descriptions.
func (f *Fake) RenameDomain(_ context.Context, uuid spec.UUID, name string) error {
	return f.change("RenameDomain", uuid, func(d *domain) error {
		d.Name = name
		f.sort()
		return nil
	})
}
