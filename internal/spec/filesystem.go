package spec

// Filesystem is a folder of the host that a guest mounts: type mount with driver virtiofs.
type Filesystem struct {
	Type       string            `xml:"type,attr,omitempty"`
	AccessMode string            `xml:"accessmode,attr,omitempty"`
	Model      string            `xml:"model,attr,omitempty"`
	Driver     *FilesystemDriver `xml:"driver"`
	Binary     *VirtioFSBinary   `xml:"binary"`
	Source     *FilesystemSource `xml:"source"`
	Target     FilesystemTarget  `xml:"target"`
	ReadOnly   *State            `xml:"readonly"`
	Alias      *Alias            `xml:"alias"`
	Address    *Address          `xml:"address"`
	Extra
}

// FilesystemDriver is virtiofs, and how many requests its queue holds.
type FilesystemDriver struct {
	Type  string `xml:"type,attr,omitempty"`
	Queue string `xml:"queue,attr,omitempty"`
	Extra
}

// VirtioFSBinary is the program that serves the folder, and what it is told.
type VirtioFSBinary struct {
	Path       string              `xml:"path,attr,omitempty"`
	XAttr      string              `xml:"xattr,attr,omitempty"` // on, off
	Cache      *VirtioFSMode       `xml:"cache"`                // none, always
	Sandbox    *VirtioFSMode       `xml:"sandbox"`              // namespace, chroot
	Lock       *VirtioFSLock       `xml:"lock"`
	ThreadPool *VirtioFSThreadPool `xml:"thread_pool"`
	OpenFiles  *VirtioFSOpenFiles  `xml:"openfiles"`
	Extra
}

// VirtioFSMode is an element with a mode.
type VirtioFSMode struct {
	Mode string `xml:"mode,attr"`
	Extra
}

// VirtioFSLock says which locks of the guest are the host's too: on, off.
type VirtioFSLock struct {
	POSIX string `xml:"posix,attr,omitempty"`
	Flock string `xml:"flock,attr,omitempty"`
	Extra
}

// VirtioFSThreadPool is how many threads serve requests.
type VirtioFSThreadPool struct {
	Size string `xml:"size,attr"`
	Extra
}

// VirtioFSOpenFiles bounds how many files may be open at a time.
type VirtioFSOpenFiles struct {
	Max string `xml:"max,attr"`
	Extra
}

// FilesystemSource is the folder, or the socket of a program that somebody else runs.
type FilesystemSource struct {
	Dir    string `xml:"dir,attr,omitempty"`
	Socket string `xml:"socket,attr,omitempty"`
	Extra
}

// FilesystemTarget is the name by which a guest mounts it.
type FilesystemTarget struct {
	Dir string `xml:"dir,attr"`
	Extra
}

func filesystemRules() map[string]rule {
	path := pattern(`/[^\x00]*`, "an absolute path")
	m := map[string]rule{
		"devices/filesystem/@type":                    values("mount", "file block ram bind template volume"),
		"devices/filesystem/@accessmode":              values("passthrough", "mapped squash"),
		"devices/filesystem/@model":                   values("virtio", "virtio-transitional virtio-non-transitional"),
		"devices/filesystem/driver/@type":             values("virtiofs", "path handle loop nbd ploop mtp"),
		"devices/filesystem/driver/@queue":            number(1, 1024),
		"devices/filesystem/binary/@path":             path,
		"devices/filesystem/binary/@xattr":            onOff(),
		"devices/filesystem/binary/cache/@mode":       values("none always", ""),
		"devices/filesystem/binary/sandbox/@mode":     values("namespace chroot", ""),
		"devices/filesystem/binary/lock/@posix":       onOff(),
		"devices/filesystem/binary/lock/@flock":       onOff(),
		"devices/filesystem/binary/thread_pool/@size": number(0, 1024),
		"devices/filesystem/binary/openfiles/@max":    number(1, 1<<31-1),
		"devices/filesystem/source/@dir":              path,
		"devices/filesystem/source/@socket":           path,
		"devices/filesystem/target/@dir":              pattern(`[^\x00]{1,36}`, "a name of at most 36 bytes"),
		"devices/filesystem/boot":                     refuse("guests do not boot from shared folders"),
		"devices/filesystem/idmap":                    refuse("users of a shared folder are not mapped"),
		"devices/filesystem/readonly":                 refuse("virtiofsd cannot share a folder read-only; mount it read-only in the guest, or share a read-only bind mount of it"),
	}
	for _, name := range []string{"fmode", "dmode", "multidevs"} {
		m["devices/filesystem/@"+name] = refuse("it is for folders that QEMU shares itself (9p)")
	}
	for _, name := range []string{"space_hard_limit", "space_soft_limit"} {
		m["devices/filesystem/"+name] = refuse("it is for containers")
	}
	return m
}

// no9p is why only virtiofsd shares folders.
const no9p = "QEMU does not share folders itself (9p): each run of a guest has a user of its own, who could not read what the last one wrote; use <driver type='virtiofs'/>"

// checkFilesystems checks what no rule sees.
func (d *Domain) checkFilesystems() error {
	seen := map[string]bool{}
	for i := range d.Devices.Filesystems {
		f := &d.Devices.Filesystems[i]
		switch {
		case f.Driver == nil || f.Driver.Type == "":
			return unsupported("devices/filesystem/driver", no9p)
		case f.Source == nil || f.Source.Dir == "" && f.Source.Socket == "":
			return invalid("devices/filesystem/source", "it is missing; use <source dir='…'/>")
		case f.Source.Dir != "" && f.Source.Socket != "":
			return invalid("devices/filesystem/source", "it names a folder and a socket; use one of them")
		case f.Source.Socket != "" && f.Binary != nil:
			return invalid("devices/filesystem/binary", "the program behind a socket is somebody else's; leave it out")
		case f.Target.Dir == "":
			return invalid("devices/filesystem/target/@dir", "it is missing; a guest mounts the folder by it")
		case seen[f.Target.Dir]:
			return invalid("devices/filesystem/target/@dir", "target %q is used by two folders", f.Target.Dir)
		case f.Binary != nil && f.Binary.Lock != nil && f.Binary.Lock.POSIX == "on" && f.Binary.Lock.Flock == "off":
			return invalid("devices/filesystem/binary/lock", "posix locks without flock are not possible")
		case !d.memoryShared():
			return unsupported("devices/filesystem", "virtiofs requires shared memory; add <memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>")
		}
		seen[f.Target.Dir] = true
	}
	return nil
}

// memoryShared reports whether other programs of the host can have the guest's memory, all of it.
func (d *Domain) memoryShared() bool {
	b := d.MemoryBacking
	shared := b != nil && b.Access != nil && b.Access.Mode == "shared"
	if d.CPU == nil || d.CPU.NUMA == nil {
		return shared
	}
	for _, c := range d.CPU.NUMA.Cells {
		if c.MemAccess == "private" || c.MemAccess == "" && !shared {
			return false
		}
	}
	return len(d.CPU.NUMA.Cells) > 0 || shared
}
