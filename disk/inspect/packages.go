package inspect

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"taproom/disk/inspect/internal/rpmdb"
	"taproom/disk/inspect/internal/sqlite"
)

// database is a kind of packages, where its database may be, and what reads it.
type database struct {
	name string
	at   []string
	read func(t *tree, at string) ([]Package, error)
}

// rpmFiles are the databases of rpm that are read, the present place first. A Berkeley database is only recognised.
var rpmFiles = []string{
	"usr/lib/sysimage/rpm/rpmdb.sqlite", "var/lib/rpm/rpmdb.sqlite", "usr/share/rpm/rpmdb.sqlite",
	"usr/lib/sysimage/rpm/Packages.db", "var/lib/rpm/Packages.db", "var/lib/rpm/Packages",
}

// databases are looked for in this order, the first that is there is read.
var databases = []database{
	{"dpkg", []string{"var/lib/dpkg/status", "var/lib/dpkg/status.d"}, dpkg},
	{"rpm", rpmFiles, rpm},
	{"apk", []string{"lib/apk/db/installed", "usr/lib/apk/db/installed"}, apk},
	{"pacman", []string{"var/lib/pacman/local"}, pacman},
	{"nix", []string{"nix/store"}, nix},
	{"pkg", []string{"var/db/pkg/local.sqlite"}, pkg},
}

// dpkg reads dpkg's status file, or the folder of such files that images without dpkg have.
func dpkg(t *tree, at string) ([]Package, error) {
	if !t.isDir(at) {
		return dpkgFile(t, at)
	}
	var out []Package
	for _, name := range t.names(at) {
		if strings.HasSuffix(name, ".md5sums") {
			continue
		}
		list, err := dpkgFile(t, path.Join(at, name))
		t.problem(path.Join(at, name), err)
		if out = append(out, list...); len(out) > mostPackages {
			return out[:mostPackages], errTooMany
		}
	}
	return out, nil
}

var errTooMany = fmt.Errorf("it has more than the %d packages that are read", mostPackages)

// dpkgFile reads paragraphs as deb-control(5) describes them. Without a Status, as in status.d, a package is installed.
func dpkgFile(t *tree, at string) ([]Package, error) {
	var out []Package
	var p Package
	installed := true
	done := func() {
		if p.Name != "" && installed {
			out = append(out, p)
		}
		p, installed = Package{}, true
	}
	err := t.lines(at, func(line []byte) error {
		if len(line) == 0 {
			done()
			return tooMany(out)
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || line[0] == ' ' || line[0] == '\t' {
			return nil
		}
		switch string(name) {
		case "Package":
			p.Name = field(value)
		case "Version":
			p.Version = field(value)
		case "Architecture":
			p.Arch = field(value)
		case "Status":
			installed = bytes.HasSuffix(bytes.TrimSpace(value), []byte(" installed"))
		}
		return nil
	})
	done()
	return out, err
}

// apk reads apk's database: paragraphs with one letter before each value.
func apk(t *tree, at string) ([]Package, error) {
	var out []Package
	var p Package
	done := func() {
		if p.Name != "" {
			out = append(out, p)
		}
		p = Package{}
	}
	err := t.lines(at, func(line []byte) error {
		if len(line) == 0 {
			done()
			return tooMany(out)
		}
		if len(line) < 2 || line[1] != ':' {
			return nil
		}
		switch line[0] {
		case 'P':
			p.Name = field(line[2:])
		case 'V':
			p.Version = field(line[2:])
		case 'A':
			p.Arch = field(line[2:])
		}
		return nil
	})
	done()
	return out, err
}

func tooMany(list []Package) error {
	if len(list) >= mostPackages {
		return errTooMany
	}
	return nil
}

// field is a value of a database's line.
func field(b []byte) string { return clip(strings.ToValidUTF8(string(bytes.TrimSpace(b)), "\uFFFD")) }

// lines calls do for each line of a file, without its end. Of a line that is longer than a string may be, the rest is left out.
func (t *tree) lines(name string, do func([]byte) error) error {
	f, _, err := t.regular(name)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(io.LimitReader(f, mostDatabase), 64<<10)
	for {
		line, more, err := r.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(line)
		}
		for more && err == nil {
			_, more, err = r.ReadLine()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// pacman reads the names of pacman's folders, NAME-VERSION-RELEASE. What is beside them is in a file of each, which is not read.
func pacman(t *tree, at string) ([]Package, error) {
	var out []Package
	for _, name := range t.names(at) {
		release := strings.LastIndexByte(name, '-')
		if release <= 0 {
			continue
		}
		if version := strings.LastIndexByte(name[:release], '-'); version > 0 {
			out = append(out, Package{Name: name[:version], Version: name[version+1:]})
		}
	}
	return out, nil
}

// nixHash is the length of the hash in the name of each folder of the Nix store.
const nixHash = 32

// nix reads the names in the Nix store, HASH-NAME-VERSION: what is there, whether anything leads to it or not.
func nix(t *tree, at string) ([]Package, error) {
	var out []Package
	for _, name := range t.names(at) {
		if len(name) < nixHash+2 || name[nixHash] != '-' || strings.HasSuffix(name, ".drv") {
			continue
		}
		name = name[nixHash+1:]
		for i := 1; i+1 < len(name); i++ { // a version begins with a digit, as builtins.parseDrvName has it
			if name[i] == '-' && name[i+1] >= '0' && name[i+1] <= '9' {
				out = append(out, Package{Name: name[:i], Version: name[i+1:]})
				break
			}
		}
	}
	return out, nil
}

// rpm reads rpm's database.
func rpm(t *tree, at string) ([]Package, error) {
	if path.Base(at) == "Packages" {
		return nil, errors.New("it is a Berkeley database, as rpm wrote before 4.16: what is installed is not read from it")
	}
	r, size, done, err := t.readerAt(at)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []Package
	add := func(h rpmdb.Package) error {
		version := h.Version + "-" + h.Release
		if h.Epoch != "" {
			version = h.Epoch + ":" + version
		}
		out = append(out, Package{Name: clip(h.Name), Version: clip(version), Arch: clip(h.Arch)})
		return tooMany(out)
	}
	if path.Base(at) == "Packages.db" {
		return out, rpmdb.NDB(r, size, add)
	}
	db, done2, err := t.sqlite(at, r, size)
	if err != nil {
		return nil, err
	}
	defer done2()
	err = rpmdb.SQLite(db, add)
	return out, err
}

// pkg reads the database of FreeBSD's pkg.
func pkg(t *tree, at string) ([]Package, error) {
	r, size, done, err := t.readerAt(at)
	if err != nil {
		return nil, err
	}
	defer done()
	db, done2, err := t.sqlite(at, r, size)
	if err != nil {
		return nil, err
	}
	defer done2()
	var out []Package
	err = db.Rows("packages", func(r sqlite.Row) error {
		if p := (Package{Name: field(r.Bytes("name")), Version: field(r.Bytes("version")), Arch: field(r.Bytes("arch"))}); p.Name != "" {
			out = append(out, p)
		}
		return tooMany(out)
	})
	return out, err
}

// sqlite opens a database with what its write-ahead log has.
func (t *tree) sqlite(at string, r io.ReaderAt, size int64) (*sqlite.DB, func(), error) {
	wal, walSize, done, err := t.readerAt(at + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		db, err := sqlite.Open(r, size, nil, 0)
		return db, func() {}, err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("its write-ahead log: %w", err)
	}
	db, err := sqlite.Open(r, size, wal, walSize)
	if err != nil {
		done()
		return nil, nil, err
	}
	return db, done, nil
}

// readerAt opens a regular file for reading anywhere in it. Where the file system's files cannot do that it is read whole.
func (t *tree) readerAt(name string) (io.ReaderAt, int64, func(), error) {
	f, size, err := t.regular(name)
	if err != nil {
		return nil, 0, nil, err
	}
	if size > mostDatabase {
		_ = f.Close()
		return nil, 0, nil, fmt.Errorf("it has %d bytes, more than the %d that are read", size, mostDatabase)
	}
	if r, ok := f.(io.ReaderAt); ok {
		return r, size, func() { _ = f.Close() }, nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostDatabase))
	if err != nil {
		return nil, 0, nil, err
	}
	return bytes.NewReader(b), int64(len(b)), func() {}, nil
}
