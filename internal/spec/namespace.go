package spec

import "strings"

// QEMUNamespace is the namespace of qemu:commandline.
const QEMUNamespace = "http://libvirt.org/schemas/domain/qemu/1.0"

// knownPrefix is the prefix libvirt writes for a namespace of its own, or "". Clients may choose another one, so
// elements are recognised by namespace and always named with this prefix.
func knownPrefix(uri string) string {
	switch uri {
	case QEMUNamespace:
		return "qemu"
	case "http://libvirt.org/schemas/domain/lxc/1.0":
		return "lxc"
	case "http://libvirt.org/schemas/domain/xen/1.0":
		return "xen"
	case "http://libvirt.org/schemas/domain/bhyve/1.0":
		return "bhyve"
	case "http://libvirt.org/schemas/domain/vmware/1.0":
		return "vmware"
	case DnsmasqNamespace:
		return "dnsmasq"
	}
	return ""
}

// binding is one xmlns attribute in force.
type binding struct{ prefix, uri string }

// bind adds the declarations on an element to those in force and returns how many there were before.
func (d *decoder) bind(t token) (before int, err error) {
	before = len(d.bindings)
	for _, a := range t.attrs {
		if a.Name.Local == "xmlns" {
			d.bindings = append(d.bindings, binding{"", a.Value})
		} else if p, ok := strings.CutPrefix(a.Name.Local, "xmlns:"); ok {
			d.bindings = append(d.bindings, binding{p, a.Value})
		}
	}
	if len(d.bindings) > maxNamespaces {
		return before, d.fail(t.at, "more than %d namespaces are declared", maxNamespaces)
	}
	return before, nil
}

// key is the name to look an element up by: its plain name, "qemu:name" for a namespace of libvirt's, and "" for
// everybody else's. ok is false when the prefix was never declared.
func (d *decoder) key(name string) (key string, ok bool) {
	if len(d.bindings) == 0 {
		return name, !strings.Contains(name, ":")
	}
	prefix, local, prefixed := strings.Cut(name, ":")
	if !prefixed {
		prefix, local = "", name
	}
	for i := len(d.bindings) - 1; i >= 0; i-- {
		if d.bindings[i].prefix != prefix {
			continue
		}
		uri := d.bindings[i].uri
		if uri == "" {
			return local, !prefixed
		}
		if p := knownPrefix(uri); p != "" {
			return p + ":" + local, true
		}
		return "", true
	}
	return local, !prefixed
}
