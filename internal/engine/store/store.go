// Package store keeps documents on disk, one file each, so that a crash or a full disk leaves either the old or the new
// one whole. Every file carries a checksum; a damaged file is set aside and reported, never guessed at.
package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// Store is one directory of documents. Head is what is known of a document without parsing it.
type Store[Head any] struct {
	k       *host.Kernel
	dir     string
	durable bool
}

// Item is one document: its name in the store, its head and its text.
type Item[Head any] struct {
	Key  string
	Head Head
	Doc  []byte
}

// Damaged is a file that cannot be read, or whose checksum or form is wrong. It was moved to Aside.
type Damaged struct {
	Key         string
	Name        string // what it seems to be about; "" when not even that can be read
	Path, Aside string // Aside is "" when it could not be moved
	Reason      string
}

// Error names the file, what is wrong with it and where it went.
func (d *Damaged) Error() string {
	of, went := "", "it cannot be moved away either"
	if d.Name != "" {
		of = fmt.Sprintf(" of %q", d.Name)
	}
	if d.Aside != "" {
		went = "it was moved to " + d.Aside
	}
	return fmt.Sprintf("state file %s%s is damaged (%s); %s", d.Path, of, d.Reason, went)
}

const magic = "taproom-state 1 sha256="

// Open returns the store in dir, which is made when missing. A durable store is synced to disk on every change, one that
// is not survives the daemon but not the machine.
func Open[Head any](k *host.Kernel, dir string, durable bool) (*Store[Head], error) {
	if err := k.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if _, err := k.SweepTemp(dir); err != nil {
		return nil, err
	}
	return &Store[Head]{k: k, dir: dir, durable: durable}, nil
}

// Put writes a document. When it returns an error the old one is still there.
func (s *Store[Head]) Put(item Item[Head]) error {
	head, err := json.Marshal(item.Head)
	if err != nil {
		return fmt.Errorf("encode the head of %s: %w", item.Key, err)
	}
	body := append(append(head, '\n'), item.Doc...)
	sum := sha256.Sum256(body)
	file := append([]byte(magic+hex.EncodeToString(sum[:])+"\n"), body...)
	return s.k.WriteFile(s.path(item.Key), file, 0o600, s.durable)
}

// Delete removes a document; one that is not there is success. From a durable store it is gone for good.
func (s *Store[Head]) Delete(key string) error {
	if err := s.k.Remove(s.path(key)); err != nil || !s.durable {
		return err
	}
	return s.k.SyncDir(s.dir)
}

// Load reads every document. Damaged ones are set aside and returned beside the whole ones.
func (s *Store[Head]) Load() ([]Item[Head], []*Damaged, error) {
	entries, err := s.k.ReadDir(s.dir)
	if err != nil {
		return nil, nil, err
	}
	var items []Item[Head]
	var damaged []*Damaged
	for _, entry := range entries {
		key, ok := strings.CutSuffix(entry.Name(), suffix)
		if !ok {
			continue
		}
		item, d, err := s.load(key)
		switch {
		case err != nil:
			return nil, nil, err
		case d != nil:
			damaged = append(damaged, d)
		default:
			items = append(items, item)
		}
	}
	return items, damaged, nil
}

// load reads one document, or sets its file aside. What the whole machine lacks is no damage.
func (s *Store[Head]) load(key string) (Item[Head], *Damaged, error) {
	data, err := s.k.ReadFile(s.path(key))
	if Scarce(err) {
		return Item[Head]{}, nil, err
	}
	var item Item[Head]
	var reason string
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		reason = "it cannot be read: " + path.Err.Error()
	case err != nil:
		reason = "it cannot be read: " + err.Error()
	default:
		item, reason = decode[Head](key, data)
	}
	if reason == "" {
		return item, nil, nil
	}
	d := &Damaged{Key: key, Name: seemingName(data), Path: s.path(key), Aside: s.path(key) + aside, Reason: reason}
	if err := s.k.Rename(d.Path, d.Aside); err != nil {
		d.Aside = ""
	}
	return item, d, nil
}

// Scarce reports whether an error is of something that the whole machine, or the process, has run out of. It says nothing
// of what was asked for.
func Scarce(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

// seemingName is the name in a head that cannot be trusted, for messages.
func seemingName(data []byte) string {
	_, rest, _ := bytes.Cut(data, []byte(`{"name":`))
	var name string
	if json.NewDecoder(bytes.NewReader(rest)).Decode(&name) != nil {
		return ""
	}
	return name
}

// IsAside reports whether a document was once damaged and set aside.
func (s *Store[Head]) IsAside(key string) (bool, error) {
	_, err := s.k.FileUse(s.path(key) + aside)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

const (
	suffix = ".state"
	aside  = ".damaged" // behind the whole name
)

// Path is where a document lies.
func (s *Store[Head]) Path(key string) string { return s.path(key) }

func (s *Store[Head]) path(key string) string { return filepath.Join(s.dir, key+suffix) }

// decode returns the document or what is wrong with its file.
func decode[Head any](key string, data []byte) (Item[Head], string) {
	item := Item[Head]{Key: key}
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return item, "it does not begin as a state file"
	}
	sum, body, ok := bytes.Cut(rest, []byte("\n"))
	if !ok {
		return item, "it ends within its first line"
	}
	if got := sha256.Sum256(body); hex.EncodeToString(got[:]) != string(sum) {
		return item, "its checksum does not match"
	}
	head, doc, ok := bytes.Cut(body, []byte("\n"))
	if !ok {
		return item, "it has no head"
	}
	if err := json.Unmarshal(head, &item.Head); err != nil {
		return item, "its head cannot be read: " + err.Error()
	}
	item.Doc = doc
	return item, ""
}
