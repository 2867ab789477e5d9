package spec

import (
	"strings"
	"unicode"
)

// SourceHost is a server of a disk: a name and a port, or with transport unix a Socket.
type SourceHost struct {
	Name      string `xml:"name,attr,omitempty"`
	Port      string `xml:"port,attr,omitempty"`
	Transport string `xml:"transport,attr,omitempty"`
	Socket    string `xml:"socket,attr,omitempty"`
	Extra
}

// SourceSSL says whether the server's certificate is verified.
type SourceSSL struct {
	Verify string `xml:"verify,attr,omitempty"`
	Extra
}

// Readahead is how many bytes are fetched at once.
type Readahead struct {
	Size string `xml:"size,attr"`
	Extra
}

// SourceTimeout is how long a server may take to answer.
type SourceTimeout struct {
	Seconds string `xml:"seconds,attr"`
	Extra
}

// DiskGeometry is what an old firmware is told of a disk.
type DiskGeometry struct {
	Cylinders string `xml:"cyls,attr"`
	Heads     string `xml:"heads,attr"`
	Sectors   string `xml:"secs,attr"`
	Trans     string `xml:"trans,attr,omitempty"`
	Extra
}

// BlockIO are the block sizes that the guest sees, in bytes.
type BlockIO struct {
	Logical     string `xml:"logical_block_size,attr,omitempty"`
	Physical    string `xml:"physical_block_size,attr,omitempty"`
	Granularity string `xml:"discard_granularity,attr,omitempty"`
	Extra
}

// networkDiskRules judges disks that a server of the network has.
func networkDiskRules() map[string]rule {
	secret := refuse("there is no store of secrets")
	at := "devices/disk/source/"
	return map[string]rule{
		at + "@protocol":                            values("nbd http https", "ftp ftps tftp rbd iscsi sheepdog gluster vxhs nfs ssh"),
		at + "@tls":                                 values("no", "yes"),
		at + "@tlsHostname":                         refuse("NBD is not encrypted yet"),
		at + "@query":                               pattern(`[^\x00-\x20#]*`, "the part of a URL behind the question mark"),
		at + "host/@name":                           pattern(`[A-Za-z0-9._:-]+|\[[0-9a-fA-F:.]+\]`, "a host's name or address"),
		at + "host/@port":                           number(1, 65535),
		at + "host/@transport":                      values("tcp unix", "rdma vsock"),
		at + "host/@socket":                         pattern(`/[^\x00]*`, "an absolute path"),
		at + "ssl/@verify":                          yesNo(),
		at + "readahead/@size":                      number(512, 1<<30),
		at + "timeout/@seconds":                     number(1, 86400),
		at + "cookies":                              refuse("they could be read in the list of processes"),
		at + "auth":                                 secret,
		at + "snapshot":                             refuse("it is for Ceph"),
		at + "initiator":                            refuse("it is for iSCSI"),
		at + "config":                               refuse("it is for Ceph"),
		at + "reconnect":                            refuse("a lost server is not connected to again"),
		at + "knownHosts":                           refuse("it is for SSH"),
		at + "identity":                             refuse("it is for NFS and SSH"),
		"devices/disk/auth":                         secret,
		"devices/disk/geometry/@cyls":               number(1, 65535),
		"devices/disk/geometry/@heads":              number(1, 255),
		"devices/disk/geometry/@secs":               number(1, 255),
		"devices/disk/geometry/@trans":              values("none lba auto", ""),
		"devices/disk/blockio/@logical_block_size":  blockSize(),
		"devices/disk/blockio/@physical_block_size": blockSize(),
		"devices/disk/blockio/@discard_granularity": number(0, 1<<31),
		"devices/disk/target/@rotation_rate":        number(1, 65534),
		"devices/disk/driver/@queue_size":           blockSize(),
	}
}

// blockSize allows the powers of two up to 32768.
func blockSize() rule {
	return values("2 4 8 16 32 64 128 256 512 1024 2048 4096 8192 16384 32768", "")
}

// checkNetwork holds that the disk's server and what it is asked for are given, and fit together.
func (k *Disk) checkNetwork() error {
	s, dev := k.Source, k.Target.Dev
	const at = "devices/disk/source"
	switch {
	case s == nil || s.Protocol == "":
		return invalid(at+"/@protocol", "%s: it is missing; use nbd, http or https", dev)
	case s.File != "" || s.Dev != "":
		return invalid(at, "%s: a disk of type network takes a protocol and a host", dev)
	case len(s.Hosts) != 1:
		return invalid(at+"/host", "%s: one is needed, not %d", dev, len(s.Hosts))
	}
	h := s.Hosts[0]
	web := s.Protocol != "nbd"
	switch {
	case h.Transport == "unix" && (h.Socket == "" || h.Name != "" || h.Port != ""):
		return invalid(at+"/host", "%s: transport unix takes a socket and nothing else", dev)
	case h.Transport != "unix" && (h.Name == "" || h.Socket != ""):
		return invalid(at+"/host", "%s: it takes a name, and a port", dev)
	case web && h.Transport == "unix":
		return unsupported(at+"/host/@transport", "%s: unix is for NBD", dev)
	case web && s.Name == "":
		return invalid(at+"/@name", "%s: it is missing: the path on the server", dev)
	case !web && (s.Query != "" || s.SSL != nil || s.Readahead != nil || s.Timeout != nil):
		return invalid(at, "%s: query, ssl, readahead and timeout are for http and https", dev)
	case s.SSL != nil && s.Protocol != "https":
		return invalid(at+"/ssl", "%s: it is for https", dev)
	case web && k.ReadOnly == nil && k.Device != "cdrom":
		return unsupported(at+"/@protocol", "%s: nothing can be written by %s; add <readonly/>", dev, s.Protocol)
	case strings.ContainsFunc(s.Name, unicode.IsControl):
		return invalid(at+"/@name", "%s: %q has a control character", dev, s.Name)
	case strings.HasPrefix(s.Name, "//"):
		return invalid(at+"/@name", "%s: %q begins with two slashes", dev, s.Name)
	}
	return nil
}
