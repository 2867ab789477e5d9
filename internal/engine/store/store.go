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

// Damaged is a file whose checksum or form is wrong. It was moved to Aside.
type Damaged struct {
	Path, Aside string
	Reason      string
}

// Error names the file, what is wrong with it and where it went.
func (d *Damaged) Error() string {
	return fmt.Sprintf("state file %s is damaged (%s); it was moved to %s: restore it from a backup, or define the object again", d.Path, d.Reason, d.Aside)
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
		data, err := s.k.ReadFile(s.path(key))
		if err != nil {
			return nil, nil, err
		}
		item, reason := decode[Head](key, data)
		if reason == "" {
			items = append(items, item)
			continue
		}
		d := &Damaged{Path: s.path(key), Aside: s.path(key) + aside, Reason: reason}
		if err := s.k.Rename(d.Path, d.Aside); err != nil {
			return nil, nil, err
		}
		damaged = append(damaged, d)
	}
	return items, damaged, nil
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
