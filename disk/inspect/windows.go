package inspect

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"taproom/disk/inspect/internal/regf"
)

const (
	versionKey = `Microsoft\Windows NT\CurrentVersion`
	// Programs for 32 bits have a part of the registry of their own.
	uninstallKey     = `Microsoft\Windows\CurrentVersion\Uninstall`
	uninstallKeyWide = `WOW6432Node\` + uninstallKey
)

// fold finds a file by its name without regard to case, as Windows does, and returns the name as it is written; "" where there is none.
func (t *tree) fold(name string) string {
	done := "."
	for part := range strings.SplitSeq(name, "/") {
		if next := path.Join(done, part); t.exists(next) {
			done = next
			continue
		}
		if done == "." && !t.isDir(done) {
			return ""
		}
		names := t.names(done)
		i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, part) })
		if i < 0 {
			return ""
		}
		done = path.Join(done, names[i])
	}
	return done
}

// windows reads what Windows says in its registry.
func (s *System) windows(t *tree, o Options) {
	s.OS, s.Distribution = "windows", "windows"
	t.hive("Windows/System32/config/SOFTWARE", func(h *regf.Hive) error {
		if !o.NoPackages {
			s.Packaging = "windows"
			for _, key := range []string{uninstallKey, uninstallKeyWide} {
				if err := s.uninstall(h, key); err != nil && !errors.Is(err, regf.ErrNone) {
					t.problem(`SOFTWARE\`+key, err)
				}
			}
		}
		return s.windowsVersion(h)
	})
	t.hive("Windows/System32/config/SYSTEM", func(h *regf.Hive) error { return s.windowsMachine(h) })
	for _, f := range []string{"bootmgr", "Boot/BCD", "EFI/Microsoft/Boot/bootmgfw.efi"} {
		if at := t.fold(f); at != "" {
			s.BootLoaders = append(s.BootLoaders, BootLoader{Name: "windows", Path: "/" + at})
			break
		}
	}
	if at := t.fold("Windows/System32/ntoskrnl.exe"); at != "" {
		s.Kernels = []Kernel{{Version: s.Version, Image: "/" + at}}
	}
}

// hive opens a registry file and has do read it. What is wrong is written down.
func (t *tree) hive(name string, do func(*regf.Hive) error) {
	at := t.fold(name)
	if at == "" {
		t.problem(name, errors.New("there is no such file, which Windows has"))
		return
	}
	r, size, done, err := t.readerAt(at)
	if err == nil {
		defer done()
		var h *regf.Hive
		if h, err = regf.Open(r, size); err == nil {
			err = do(h)
		}
	}
	t.problem(at, err)
}

// windowsVersion reads which Windows it is. ProductName still says 10 in Windows 11, whose builds begin at 22000.
func (s *System) windowsVersion(h *regf.Hive) error {
	k, err := h.Find(versionKey)
	if err != nil {
		return err
	}
	r := &values{k: k}
	s.Name, s.Codename = clip(r.text("ProductName")), clip(r.text("DisplayVersion"))
	build := r.text("CurrentBuildNumber")
	if n, err := strconv.Atoi(build); err == nil && n >= 22000 {
		s.Name = strings.Replace(s.Name, "Windows 10", "Windows 11", 1)
	}
	major := r.number("CurrentMajorVersionNumber")
	s.Version = clip(r.text("CurrentVersion") + "." + build) // before Windows 10
	if major > 0 {
		s.Version = fmt.Sprintf("%d.%d.%s", major, r.number("CurrentMinorVersionNumber"), clip(build))
	}
	return r.err
}

// values reads values of a key, and keeps the first error.
type values struct {
	k   *regf.Key
	err error
}

func (v *values) text(name string) string {
	s, err := v.k.String(name)
	if err != nil && v.err == nil {
		v.err = err
	}
	return s
}

func (v *values) number(name string) uint32 {
	n, err := v.k.Number(name)
	if err != nil && v.err == nil {
		v.err = err
	}
	return n
}

// windowsMachine reads what is of this machine: its name, its processor, and which letters its drives have.
func (s *System) windowsMachine(h *regf.Hive) error {
	k, err := h.Find("Select")
	if err != nil {
		return err
	}
	set, err := k.Number("Current")
	if err != nil {
		return err
	}
	current := fmt.Sprintf(`ControlSet%03d\`, set)
	for _, v := range []struct {
		to        *string
		key, name string
	}{
		{&s.Hostname, `Control\ComputerName\ComputerName`, "ComputerName"},
		{&s.Hostname, `Services\Tcpip\Parameters`, "Hostname"},
		{&s.Arch, `Control\Session Manager\Environment`, "PROCESSOR_ARCHITECTURE"},
		{&s.TimeZone, `Control\TimeZoneInformation`, "TimeZoneKeyName"},
	} {
		k, err := h.Find(current + v.key)
		if errors.Is(err, regf.ErrNone) {
			continue
		}
		if err != nil {
			return err
		}
		text, err := k.String(v.name)
		if err != nil {
			return err
		}
		if text != "" {
			*v.to = clip(text)
		}
	}
	if known := map[string]string{"AMD64": "x86_64", "x86": "i686", "ARM64": "aarch64"}[s.Arch]; known != "" {
		s.Arch = known
	}
	return s.drives(h)
}

// drives are the letters that volumes have.
func (s *System) drives(h *regf.Hive) error {
	k, err := h.Find("MountedDevices")
	if err != nil {
		if errors.Is(err, regf.ErrNone) {
			return nil
		}
		return err
	}
	return k.Values(func(name string) error {
		if letter, ok := strings.CutPrefix(name, `\DosDevices\`); ok && len(s.Mounts) < 1000 {
			s.Mounts = append(s.Mounts, MountPoint{Device: clip(name), At: clip(letter)})
		}
		return nil
	})
}

// uninstall reads what Windows would offer to remove.
func (s *System) uninstall(h *regf.Hive, key string) error {
	k, err := h.Find(key)
	if err != nil {
		return err
	}
	return k.Each(func(below *regf.Key) error {
		r := &values{k: below}
		p := Package{Name: clip(r.text("DisplayName")), Version: clip(r.text("DisplayVersion"))}
		if p.Name != "" {
			s.Packages = append(s.Packages, p)
		}
		if r.err != nil {
			return r.err
		}
		return tooMany(s.Packages)
	})
}
