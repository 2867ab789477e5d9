package spec

import (
	"errors"
	"strings"
	"testing"
)

// nonsense is a value that no attribute and no leaf can have.
const nonsense = "ua-nothing! has this value, really, nowhere"

// offending writes the shortest document that has the thing a rule's path names, with a value the rule must not like.
func offending(root, path string, leaf bool) string {
	path = strings.Replace(path, "*/", "devices/disk/", 1)
	steps := strings.Split(path, "/")
	last := steps[len(steps)-1]
	var b strings.Builder
	b.WriteString("<" + root)
	open := []string{root}
	for i, s := range steps {
		if attr, ok := strings.CutPrefix(s, "@"); ok {
			b.WriteString(" " + attr + "='" + nonsense + "'>")
			break
		}
		b.WriteString("><" + s)
		open = append(open, s)
		if i == len(steps)-1 {
			b.WriteString(" some='yes'>")
		}
	}
	if leaf && !strings.HasPrefix(last, "@") {
		b.WriteString(nonsense)
	}
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteString("</" + open[i] + ">")
	}
	return b.String()
}

func TestEveryRuleOfTheTablesRefusesAndNamesItsElement(t *testing.T) {
	t.Parallel()
	check := func(root, path string, validate func(doc string) error) {
		err := validate(offending(root, path, true))
		var syntax *SyntaxError
		if errors.As(err, &syntax) {
			err = validate(offending(root, path, false))
		}
		want := strings.Replace(path, "*/", "devices/disk/", 1)
		var inv *InvalidError
		var uns *UnsupportedError
		switch {
		case errors.As(err, &inv) && inv.Element == want && inv.Reason != "":
		case errors.As(err, &uns) && uns.Element == want && uns.Reason != "":
		default:
			t.Errorf("%s: got %v\n%s", path, err, offending(root, path, false))
		}
	}
	for path := range domainRules() {
		check("domain", path, validateDomain)
	}
	for path := range networkRules() {
		check("network", path, validateNetwork)
	}
}

func validateDomain(doc string) error {
	d, err := ParseDomain([]byte(doc))
	if err != nil {
		return err
	}
	return d.Validate()
}

func validateNetwork(doc string) error {
	n, err := ParseNetwork([]byte(doc))
	if err != nil {
		return err
	}
	return n.Validate()
}

func TestWhatOnlyOtherHypervisorsOrLaterVersionsDoIsUnsupportedAndNonsenseIsInvalid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		doc         string
		element     string
		unsupported bool
	}{
		{"<domain type='xen'/>", "@type", true},
		{"<domain type='abacus'/>", "@type", false},
		{"<domain><os><varstore/></os></domain>", "os/varstore", true},
		{"<domain><os firmware='bois'/></domain>", "os/@firmware", false},
		{"<domain><on_crash>coredump-destroy</on_crash></domain>", "on_crash", true},
		{"<domain><on_crash>weep</on_crash></domain>", "on_crash", false},
		{"<domain><devices><disk type='volume'/></devices></domain>", "devices/disk/@type", true},
		{"<domain><devices><disk device='lun'/></devices></domain>", "devices/disk/@device", true},
		{"<domain><devices><disk><driver cache='maybe'/></disk></devices></domain>", "devices/disk/driver/@cache", false},
		{"<domain><devices><disk><source startupPolicy='optional'/></disk></devices></domain>", "devices/disk/source/@startupPolicy", true},
		{"<domain><devices><disk><driver type='vmdk'/></disk></devices></domain>", "devices/disk/driver/@type", true},
		{"<domain><devices><interface type='vdpa'/></devices></domain>", "devices/interface/@type", true},
		{"<domain><devices><interface type='hostdev'/></devices></domain>", "devices/interface/@type", true},
		{"<domain><devices><interface><model type='e 1000'/></interface></devices></domain>", "devices/interface/model/@type", false},
		{"<domain><devices><graphics type='sdl'/></devices></domain>", "devices/graphics/@type", true},
		{"<domain><devices><channel type='dbus'/></devices></domain>", "devices/channel/@type", true},
		{"<domain><devices><hostdev mode='subsystem'/></devices></domain>", "devices/hostdev", true},
		{"<domain><devices><disk><iotune><read_bytes_sec>-1</read_bytes_sec></iotune></disk></devices></domain>", "devices/disk/iotune/read_bytes_sec", false},
		{"<domain><devices><rng><address type='ccw'/></rng></devices></domain>", "devices/rng/address/@type", true},
		{"<domain><devices><rng><address slot='0x20'/></rng></devices></domain>", "devices/rng/address/@slot", false},
		{"<domain><features><acpi state='perhaps'/></features></domain>", "features/acpi/@state", false},
		{"<domain><name>a</name><name>b</name></domain>", "name", false},
		{"<domain><devices><graphics tlsPort='5901'/></devices></domain>", "devices/graphics/@tlsPort", true},
		{"<domain><devices><controller><target busNr='1'/></controller></devices></domain>", "devices/controller/target/@busNr", true},
		{"<domain><devices><disk><driver/><driver/></disk></devices></domain>", "devices/disk/driver", false},
		{"<domain xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'><q:capabilities/></domain>", "qemu:capabilities", true},
		{"<domain><override xmlns='http://libvirt.org/schemas/domain/qemu/1.0'/></domain>", "qemu:override", true},
		{"<domain xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'><q:commandline/><q:commandline/></domain>", "qemu:commandline", false},
		{"<domain xmlns:l='http://libvirt.org/schemas/domain/lxc/1.0'><l:namespace/></domain>", "lxc:namespace", true},
		{"<domain xmlns:x='http://libvirt.org/schemas/domain/xen/1.0'><x:commandline/></domain>", "xen:commandline", true},
		{"<network xmlns:d='http://libvirt.org/schemas/network/dnsmasq/1.0'><d:hosts/></network>", "dnsmasq:hosts", true},
		{"<network xmlns:d='http://libvirt.org/schemas/network/dnsmasq/1.0'><d:options/><d:options/></network>", "dnsmasq:options", false},
		{"<domain xmlns:d='http://libvirt.org/schemas/network/dnsmasq/1.0'><d:options/></domain>", "dnsmasq:options", true},
		{"<network><forward mode='sideways'/></network>", "forward/@mode", false},
		{"<network><forward mode='sideways'/></network>", "forward/@mode", false},
		{"<network><bridge macTableManager='guests'/></network>", "bridge/@macTableManager", false},
		{"<network><domain name='a' register='yes'/></network>", "domain/@register", true},
		{"<network><ip family='ipv5' address='fd00::1'/></network>", "ip/@family", false},
		{"<network><portgroup default='x' name='a'/></network>", "portgroup/@default", false},
	} {
		validate := validateDomain
		if strings.HasPrefix(c.doc, "<network") {
			validate = validateNetwork
		}
		err := validate(c.doc)
		var inv *InvalidError
		var uns *UnsupportedError
		if errors.As(err, &uns) && c.unsupported && uns.Element == c.element {
			continue
		}
		if errors.As(err, &inv) && !c.unsupported && inv.Element == c.element {
			continue
		}
		t.Errorf("%s\n got %T %v\nwant one about %s, unsupported: %v", c.doc, err, err, c.element, c.unsupported)
	}
}

func TestADeviceAmongSeveralIsTold(t *testing.T) {
	t.Parallel()
	err := validateDomain("<domain><devices><disk/><disk type='dir'/></devices></domain>")
	const want = `devices/disk/@type is not supported: "dir" is not implemented; use file, block or network (disk 2)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
