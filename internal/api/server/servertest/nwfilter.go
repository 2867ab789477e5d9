package servertest

import (
	"context"
	"encoding/xml"
	"slices"
	"strings"
	"sync"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// filters are the Fake's network filters and their bindings, with their documents as they were written.
type filters struct {
	mu       sync.Mutex
	filters  map[server.NWFilter]string
	bindings map[server.NWFilterBinding]string
}

// ListNWFilters implements server.NWFilters.
func (f *filters) ListNWFilters() []server.NWFilter {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []server.NWFilter
	for one := range f.filters {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b server.NWFilter) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// NWFilterByName implements server.NWFilters.
func (f *filters) NWFilterByName(name string) (server.NWFilter, error) {
	for _, one := range f.ListNWFilters() {
		if one.Name == name {
			return one, nil
		}
	}
	return server.NWFilter{}, server.NoNWFilter(name)
}

// NWFilterByUUID implements server.NWFilters.
func (f *filters) NWFilterByUUID(uuid spec.UUID) (server.NWFilter, error) {
	for _, one := range f.ListNWFilters() {
		if one.UUID == uuid {
			return one, nil
		}
	}
	return server.NWFilter{}, server.NoNWFilterUUID(uuid)
}

// NWFilterXML implements server.NWFilters.
func (f *filters) NWFilterXML(uuid spec.UUID) (string, error) {
	one, err := f.NWFilterByUUID(uuid)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.filters[one], err
}

// DefineNWFilter implements server.NWFilters.
func (f *filters) DefineNWFilter(_ context.Context, doc string, _ uint32) (server.NWFilter, error) {
	var p struct {
		XMLName xml.Name
		Name    string `xml:"name,attr"`
		UUID    string `xml:"uuid"`
	}
	if err := xml.Unmarshal([]byte(doc), &p); err != nil || p.XMLName.Local != "filter" {
		return server.NWFilter{}, virterr.New(virterr.XMLError, "this is no filter")
	}
	uuid, err := spec.ParseUUID(p.UUID)
	if err != nil {
		return server.NWFilter{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.filters == nil {
		f.filters = map[server.NWFilter]string{}
	}
	one := server.NWFilter{Name: p.Name, UUID: uuid}
	f.filters[one] = doc
	return one, nil
}

// UndefineNWFilter implements server.NWFilters.
func (f *filters) UndefineNWFilter(_ context.Context, uuid spec.UUID) error {
	one, err := f.NWFilterByUUID(uuid)
	for _, b := range f.ListNWFilterBindings() {
		if b.Filter == one.Name {
			return virterr.New(virterr.OperationInvalid, "nwfilter is in use").In(virterr.FromNWFilter)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.filters, one)
	return err
}

// ListNWFilterBindings implements server.NWFilters.
func (f *filters) ListNWFilterBindings() []server.NWFilterBinding {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []server.NWFilterBinding
	for b := range f.bindings {
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b server.NWFilterBinding) int { return strings.Compare(a.Port, b.Port) })
	return out
}

// NWFilterBinding implements server.NWFilters.
func (f *filters) NWFilterBinding(port string) (server.NWFilterBinding, error) {
	for _, b := range f.ListNWFilterBindings() {
		if b.Port == port {
			return b, nil
		}
	}
	return server.NWFilterBinding{}, server.NoNWFilterBinding(port)
}

// NWFilterBindingXML implements server.NWFilters.
func (f *filters) NWFilterBindingXML(port string) (string, error) {
	b, err := f.NWFilterBinding(port)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bindings[b], err
}

// CreateNWFilterBinding implements server.NWFilters.
func (f *filters) CreateNWFilterBinding(_ context.Context, doc string, _ uint32) (server.NWFilterBinding, error) {
	var p struct {
		PortDev struct {
			Name string `xml:"name,attr"`
		} `xml:"portdev"`
		Ref struct {
			Filter string `xml:"filter,attr"`
		} `xml:"filterref"`
	}
	if err := xml.Unmarshal([]byte(doc), &p); err != nil {
		return server.NWFilterBinding{}, virterr.New(virterr.XMLError, "this is no binding")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bindings == nil {
		f.bindings = map[server.NWFilterBinding]string{}
	}
	b := server.NWFilterBinding{Port: p.PortDev.Name, Filter: p.Ref.Filter}
	f.bindings[b] = doc
	return b, nil
}

// DeleteNWFilterBinding implements server.NWFilters.
func (f *filters) DeleteNWFilterBinding(_ context.Context, port string) error {
	b, err := f.NWFilterBinding(port)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.bindings, b)
	return err
}
