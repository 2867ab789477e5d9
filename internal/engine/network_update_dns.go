package engine

import (
	"slices"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/spec"
)

// dnsOf is the <dns> that an update edits. It appears with its first record; an empty one that is left means what none does.
func dnsOf(doc *spec.Network) *spec.DNS {
	if doc.DNS == nil {
		return &spec.DNS{}
	}
	return doc.DNS
}

func notModified(what string) error {
	return virterr.New(virterr.OperationInvalid, "DNS %s records cannot be modified, only added or deleted", what)
}

// recordErrors are what an edit of records is refused with, in libvirt's words for the kind.
type recordErrors struct {
	taken   error
	missing error
	several error // nil: the first of several is deleted
}

// edited returns records with one added or deleted; at are the places of those that match it.
func edited[T any](records []T, one T, at []int, u server.NetworkUpdate, errs recordErrors) ([]T, error) {
	switch {
	case adds(u) && len(at) > 0:
		return records, errs.taken
	case adds(u):
		return added(records, one, u), nil
	case len(at) == 0:
		return records, errs.missing
	case len(at) > 1 && errs.several != nil:
		return records, errs.several
	}
	return slices.Delete(records, at[0], at[0]+1), nil
}

func updateDNSHost(doc *spec.Network, u server.NetworkUpdate) error {
	if u.Command == updateModify {
		return notModified("HOST")
	}
	h, err := spec.ParseDNSHost([]byte(u.XML))
	if err != nil {
		return documentError(err)
	}
	if h.IP == "" && len(h.Hostnames) == 0 {
		return virterr.New(virterr.XMLDetail, "Missing ip and hostname in network '%s' DNS HOST record", doc.Name)
	}
	d := dnsOf(doc)
	at := matching(d.Hosts, func(o *spec.DNSHost) bool {
		// One name may have several addresses, so only a deletion goes by name.
		return sameAddress(o.IP, h.IP) || !adds(u) && slices.ContainsFunc(h.Names(), func(n string) bool { return slices.Contains(o.Names(), n) })
	})
	if d.Hosts, err = edited(d.Hosts, *h, at, u, recordErrors{
		taken:   virterr.New(virterr.OperationInvalid, "there is already at least one DNS HOST record with a matching field in network %s", doc.Name),
		missing: virterr.New(virterr.OperationInvalid, "couldn't locate a matching DNS HOST record in network %s", doc.Name),
		several: virterr.New(virterr.OperationInvalid, "multiple matching DNS HOST records were found in network %s", doc.Name),
	}); err != nil {
		return err
	}
	doc.DNS = d
	return nil
}

func updateDNSTXT(doc *spec.Network, u server.NetworkUpdate) error {
	if u.Command == updateModify {
		return notModified("TXT")
	}
	t, err := spec.ParseDNSTXT([]byte(u.XML))
	if err != nil {
		return documentError(err)
	}
	if t.Name == "" {
		return virterr.New(virterr.XMLDetail, "missing required name attribute in DNS TXT record of network %s", doc.Name)
	}
	d := dnsOf(doc)
	at := matching(d.TXT, func(o *spec.DNSTXT) bool { return o.Name == t.Name })
	if d.TXT, err = edited(d.TXT, *t, at, u, recordErrors{
		taken:   virterr.New(virterr.OperationInvalid, "there is already a DNS TXT record with name '%s' in network %s", t.Name, doc.Name),
		missing: virterr.New(virterr.OperationInvalid, "couldn't locate a matching DNS TXT record in network %s", doc.Name),
	}); err != nil {
		return err
	}
	doc.DNS = d
	return nil
}

func updateDNSSRV(doc *spec.Network, u server.NetworkUpdate) error {
	if u.Command == updateModify {
		return notModified("SRV")
	}
	s, err := spec.ParseDNSSRV([]byte(u.XML))
	if err != nil {
		return documentError(err)
	}
	d := dnsOf(doc)
	at := matching(d.SRV, func(o *spec.DNSSRV) bool {
		for _, f := range [][2]string{
			{s.Domain, o.Domain},
			{s.Service, o.Service},
			{s.Protocol, o.Protocol},
			{s.Target, o.Target},
			{s.Port, o.Port},
			{s.Priority, o.Priority},
			{s.Weight, o.Weight},
		} {
			if f[0] != "" && f[0] != f[1] {
				return false
			}
		}
		return true
	})
	if d.SRV, err = edited(d.SRV, *s, at, u, recordErrors{
		taken:   virterr.New(virterr.OperationInvalid, "there is already at least one DNS SRV record matching all specified fields in network %s", doc.Name),
		missing: virterr.New(virterr.OperationInvalid, "couldn't locate a matching DNS SRV record in network %s", doc.Name),
		several: virterr.New(virterr.OperationInvalid, "multiple DNS SRV records matching all specified fields were found in network %s", doc.Name),
	}); err != nil {
		return err
	}
	doc.DNS = d
	return nil
}
