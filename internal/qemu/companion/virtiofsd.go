package companion

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
)

// VirtioFSDirs are where programs for QEMU's vhost-user devices describe themselves (QEMU, vhost-user.json): the
// administrator's, which go before the distribution's.
func VirtioFSDirs() []string { return []string{"/etc/qemu/vhost-user", "/usr/share/qemu/vhost-user"} }

// VirtioFSPlaces are where virtiofsd is when nothing describes it.
func VirtioFSPlaces() []string {
	return []string{"/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd", "/usr/lib/virtiofsd"}
}

// VirtioFSBinary reads a description; "" for a program that is for something else, and for what is no description.
func VirtioFSBinary(description []byte) string {
	var d struct {
		Type   string `json:"type"`
		Binary string `json:"binary"`
	}
	if json.Unmarshal(description, &d) != nil || d.Type != "fs" || !filepath.IsAbs(d.Binary) {
		return ""
	}
	return d.Binary
}

// VirtioFSCapabilities reads what a virtiofsd answers to --print-capabilities: whether it has an option for each thing, as
// the one in Rust has, or takes them all behind -o, as the one that came with QEMU before 8.0.
func VirtioFSCapabilities(answer []byte) (separateOptions bool) {
	var c struct {
		Features []string `json:"features"`
	}
	return json.Unmarshal(answer, &c) == nil && slices.Contains(c.Features, "separate-options")
}

// Share is a folder to be shared. What is empty is left to virtiofsd.
type Share struct {
	Binary, Dir    string
	XAttr          string // on, off
	Cache, Sandbox string
	POSIX, Flock   string // on, off
	Threads, Files string // numbers
	Separate       bool   // see VirtioFSCapabilities
}

// VirtioFSD is the program that shares a folder. It runs as root, since files in the folder belong to many users and the
// guest's root is root there, and shuts itself in: in namespaces whose root is the folder, with the capabilities that
// files need and a filter of system calls. It gets nothing of the guest but its memory.
func VirtioFSD(s Share) Program {
	args := []string{s.Binary, "--fd=" + strconv.Itoa(SocketFD)}
	if s.Separate {
		args = append(args, "--shared-dir", s.Dir)
		args = s.separate(args)
	} else {
		args = append(args, "-o", "source="+escapeComma(s.Dir))
		args = s.behindO(args)
	}
	if s.Threads != "" {
		args = append(args, "--thread-pool-size="+s.Threads)
	}
	if s.Files != "" {
		args = append(args, "--rlimit-nofile="+s.Files)
	}
	return Program{Name: "virtiofsd", Args: args}
}

// separate are the options of the program in Rust. It knows no locks of the host: what they say is its default then.
func (s Share) separate(args []string) []string {
	if s.Cache != "" {
		args = append(args, "--cache", map[string]string{"none": "never", "always": "always"}[s.Cache])
	}
	if s.XAttr == "on" {
		args = append(args, "--xattr")
	}
	if s.Sandbox != "" {
		args = append(args, "--sandbox", s.Sandbox)
	}
	return args
}

func (s Share) behindO(args []string) []string {
	for _, o := range []struct{ name, value string }{{"xattr", s.XAttr}, {"flock", s.Flock}, {"posix_lock", s.POSIX}} {
		switch o.value {
		case "on":
			args = append(args, "-o", o.name)
		case "off":
			args = append(args, "-o", "no_"+o.name)
		}
	}
	if s.Cache != "" {
		args = append(args, "-o", "cache="+s.Cache)
	}
	if s.Sandbox != "" {
		args = append(args, "-o", "sandbox="+s.Sandbox)
	}
	return args
}

// escapeComma keeps a comma in a value behind -o (libfuse, fuse_opt_parse).
func escapeComma(s string) string {
	var b []byte
	for i := range len(s) {
		if s[i] == ',' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return string(b)
}
