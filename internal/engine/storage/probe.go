package storage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"golang.org/x/sys/unix"

	"taproom/internal/api/server"
	"taproom/internal/image/qcow2"
	"taproom/internal/spec"
)

// content is what a volume's file holds.
type content struct {
	format   string
	capacity uint64
	qcow2    qcow2.Header // of a qcow2 image
}

// magics are beginnings of files of formats that are told apart and not looked into. What is none of them is raw.
var magics = []struct {
	format string
	at     int64
	magic  string
}{
	{"iso", 32769, "CD001"},
	{"vmdk", 0, "KDMV"},
	{"vdi", 64, "\x7f\x10\xda\xbe"},
	{"vpc", 0, "conectix"},
	{"vhdx", 0, "vhdxfile"},
	{"qed", 0, "QED\x00"},
	{"luks", 0, "LUKS\xba\xbe"},
}

// probe looks at the beginning of a file of some length in bytes.
func probe(r io.ReaderAt, length uint64) content {
	if h, err := qcow2.Read(r); err == nil {
		return content{format: "qcow2", capacity: h.Capacity, qcow2: h}
	}
	for _, m := range magics {
		b := make([]byte, len(m.magic))
		if _, err := r.ReadAt(b, m.at); err == nil && bytes.Equal(b, []byte(m.magic)) {
			return content{format: m.format, capacity: length}
		}
	}
	return content{format: "raw", capacity: length}
}

// contentOf looks into a volume.
func (s *Pools) contentOf(v *volume) (content, error) {
	if v.dir() {
		return content{format: "dir"}, nil
	}
	f, err := s.open(v, false)
	if err != nil {
		return content{}, err
	}
	defer f.Close()
	return probe(f, uint64(v.facts.Size)), nil
}

// VolumeInfo implements server.Storage.
func (s *Pools) VolumeInfo(_ context.Context, pool, name string) (server.VolumeInfo, error) {
	v, err := s.lookup(pool, name)
	if err != nil {
		return server.VolumeInfo{}, err
	}
	c, err := s.contentOf(v)
	return server.VolumeInfo{Dir: v.dir(), Capacity: c.capacity, Allocation: uint64(v.facts.Blocks) * 512, Physical: uint64(v.facts.Size)}, err
}

// VolumeXML implements server.Storage.
func (s *Pools) VolumeXML(_ context.Context, pool, name string) (string, error) {
	v, err := s.lookup(pool, name)
	if err != nil {
		return "", err
	}
	c, err := s.contentOf(v)
	if err != nil {
		return "", err
	}
	doc := &spec.StorageVolume{
		Type: "file", Name: v.Name, Key: v.Key, Source: &spec.Element{},
		Capacity: spec.Bytes(c.capacity), Allocation: spec.Bytes(uint64(v.facts.Blocks) * 512), Physical: spec.Bytes(uint64(v.facts.Size)),
		Target: &spec.VolumeTarget{
			Path: v.Key, Format: &spec.VolumeFormat{Type: c.format}, Permissions: permissions(v.facts),
			Timestamps: &spec.Timestamps{ATime: stamp(v.facts.Atim), MTime: stamp(v.facts.Mtim), CTime: stamp(v.facts.Ctim)},
		},
	}
	doc.Source.XMLName.Local = "source"
	if v.dir() {
		doc.Type = "dir"
	}
	if c.format == "qcow2" {
		describe(doc, c.qcow2)
	}
	return string(doc.Format()), nil
}

func stamp(t unix.Timespec) string { return fmt.Sprintf("%d.%09d", t.Sec, t.Nsec) }

// describe adds what a qcow2 image says of itself.
func describe(doc *spec.StorageVolume, h qcow2.Header) {
	doc.Target.Compat = "0.10"
	if h.Version == 3 {
		doc.Target.Compat = "1.1"
		doc.Target.Features = &spec.VolumeFeatures{}
		if h.LazyRefcounts {
			doc.Target.Features.LazyRefcounts = &spec.Element{}
			doc.Target.Features.LazyRefcounts.XMLName.Local = "lazy_refcounts"
		}
	}
	doc.Target.ClusterSize = &spec.Size{Unit: "B", Value: fmt.Sprint(1 << h.ClusterBits)}
	if h.Backing == "" || !speakable(h.Backing) {
		return
	}
	below := h.Backing
	if !filepath.IsAbs(below) {
		below = filepath.Join(filepath.Dir(doc.Target.Path), below)
	}
	doc.BackingStore = &spec.VolumeTarget{Path: below}
	if h.BackingFormat != "" && speakable(h.BackingFormat) {
		doc.BackingStore.Format = &spec.VolumeFormat{Type: h.BackingFormat}
	}
}
