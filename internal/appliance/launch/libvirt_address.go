package launch

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taproom/internal/host"
)

// libvirtAddress says which libvirt daemon is asked, and as what.
type libvirtAddress struct {
	uri     string   // as the daemon knows it
	sockets []string // the first that is there is taken
}

// systemURI is the machine's daemon, which root has started.
const systemURI = "qemu:///system"

// parseLibvirt reads one of libvirt's URIs, of a QEMU driver on this host: qemu:///system or qemu:///session, with ?socket=PATH for
// a daemon at a place of its own. "" is the machine's for root, and the session's for others. A daemon on another host would open
// other files than the ones that were named.
func parseLibvirt(uri string) (libvirtAddress, error) {
	if uri == "" {
		if uri = "qemu:///session"; os.Geteuid() == 0 {
			uri = systemURI
		}
	}
	u, err := url.Parse(uri)
	if err != nil {
		return libvirtAddress{}, fmt.Errorf("libvirt's URI %q: %w", uri, err)
	}
	switch {
	case u.Scheme != "qemu" && u.Scheme != "qemu+unix":
		return libvirtAddress{}, fmt.Errorf("libvirt's URI %q: appliances are domains of qemu: or qemu+unix:", uri)
	case u.Host != "" || u.User != nil:
		return libvirtAddress{}, fmt.Errorf("libvirt's URI %q: it is on another host, which has other files; use qemu:///system", uri)
	case u.Path != "/system" && u.Path != "/session":
		return libvirtAddress{}, fmt.Errorf("libvirt's URI %q: its path is /system or /session", uri)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return libvirtAddress{}, fmt.Errorf("libvirt's URI %q: %w", uri, err)
	}
	a := libvirtAddress{uri: "qemu://" + u.Path}
	if s := query.Get("socket"); s != "" {
		a.sockets = []string{s}
		return a, nil
	}
	dir := "/run/libvirt"
	if u.Path == "/session" {
		dir = filepath.Join(runtimeDir(), "libvirt")
	}
	a.sockets = []string{filepath.Join(dir, "libvirt-sock"), filepath.Join(dir, "virtqemud-sock")}
	return a, nil
}

// runtimeDir is where a user's sockets are.
func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return dir
	}
	return fmt.Sprintf("/run/user/%d", os.Getuid())
}

// socket is the one that is there.
func (a libvirtAddress) socket(k *host.Kernel) (string, error) {
	i := slices.IndexFunc(a.sockets, func(path string) bool {
		_, err := k.FileFacts(path)
		return err == nil
	})
	if i < 0 {
		return "", errors.New("no libvirt daemon serves " + strings.Join(a.sockets, " or ") + "; start taproomd or libvirtd")
	}
	return a.sockets[i], nil
}
