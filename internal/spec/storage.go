package spec

import (
	"encoding/xml"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"
	"reflect"
	"strings"
)

// StoragePool is a <pool> document (libvirt, formatstorage.html). The three sizes are answers, and not read.
type StoragePool struct {
	XMLName    xml.Name    `xml:"pool"`
	Type       string      `xml:"type,attr"`
	Name       string      `xml:"name"`
	UUID       *UUID       `xml:"uuid"`
	Capacity   *Size       `xml:"capacity"`
	Allocation *Size       `xml:"allocation"`
	Available  *Size       `xml:"available"`
	Source     *Element    `xml:"source"`
	Target     *PoolTarget `xml:"target"`
	Extra
}

// PoolTarget is where the volumes of a pool are on the host.
type PoolTarget struct {
	Path        string       `xml:"path"`
	Permissions *Permissions `xml:"permissions"`
	Extra
}

// Permissions are of a pool's folder or a volume's file: Mode is octal, Owner and Group are numbers.
type Permissions struct {
	Mode  string `xml:"mode,omitempty"`
	Owner string `xml:"owner,omitempty"`
	Group string `xml:"group,omitempty"`
	Label string `xml:"label,omitempty"`
	Extra
}

// Size is an amount of storage; without a unit it is bytes.
type Size struct {
	Unit  string `xml:"unit,attr,omitempty"`
	Value string `xml:",chardata"`
	Extra
}

// StorageVolume is a <volume> document. Key and physical size are answers, and not read.
type StorageVolume struct {
	XMLName      xml.Name      `xml:"volume"`
	Type         string        `xml:"type,attr,omitempty"`
	Name         string        `xml:"name"`
	Key          string        `xml:"key,omitempty"`
	Source       *Element      `xml:"source"`
	Capacity     *Size         `xml:"capacity"`
	Allocation   *Size         `xml:"allocation"`
	Physical     *Size         `xml:"physical"`
	Target       *VolumeTarget `xml:"target"`
	BackingStore *VolumeTarget `xml:"backingStore"`
	Extra
}

// VolumeTarget is a file of a volume: its own, or the one below it.
type VolumeTarget struct {
	Path        string          `xml:"path,omitempty"`
	Format      *VolumeFormat   `xml:"format"`
	Permissions *Permissions    `xml:"permissions"`
	Timestamps  *Timestamps     `xml:"timestamps"`
	Compat      string          `xml:"compat,omitempty"`
	ClusterSize *Size           `xml:"clusterSize"`
	Features    *VolumeFeatures `xml:"features"`
	Encryption  *Element        `xml:"encryption"`
	NoCOW       *Element        `xml:"nocow"`
	Extra
}

// VolumeFormat is how the file holds its content: raw, qcow2, iso…
type VolumeFormat struct {
	Type string `xml:"type,attr"`
	Extra
}

// VolumeFeatures are those of a qcow2 image.
type VolumeFeatures struct {
	LazyRefcounts *Element `xml:"lazy_refcounts"`
	ExtendedL2    *Element `xml:"extended_l2"`
	Extra
}

// Timestamps are seconds since 1970 with nine decimals.
type Timestamps struct {
	ATime string `xml:"atime,omitempty"`
	MTime string `xml:"mtime,omitempty"`
	CTime string `xml:"ctime,omitempty"`
	Extra
}

// ParseStoragePool reads a <pool> document. Errors are of type *SyntaxError.
func ParseStoragePool(doc []byte) (*StoragePool, error) {
	p := new(StoragePool)
	if err := decodeDocument(doc, "pool", p); err != nil {
		return nil, err
	}
	return p, nil
}

// ParseStorageVolume reads a <volume> document. Errors are of type *SyntaxError.
func ParseStorageVolume(doc []byte) (*StorageVolume, error) {
	v := new(StorageVolume)
	if err := decodeDocument(doc, "volume", v); err != nil {
		return nil, err
	}
	return v, nil
}

// Format returns the document in libvirt's layout.
func (p *StoragePool) Format() []byte { return formatDocument("pool", p) }

// Format returns the document in libvirt's layout.
func (v *StorageVolume) Format() []byte { return formatDocument("volume", v) }

// Validate refuses a pool that contradicts itself, and every type but dir.
func (p *StoragePool) Validate() error {
	if p.Type == "" {
		return invalid("@type", "a pool has a type; the one that is kept here is dir")
	}
	if p.Type != "dir" {
		return unsupported("pool/@type", "pools of type %q are not kept here; make one of type dir, or give disks by their path", p.Type)
	}
	if err := checkName("name", p.Name); err != nil {
		return err
	}
	if p.Target == nil || p.Target.Path == "" {
		return invalid("target/path", "missing; it is the folder of the volumes")
	}
	if !filepath.IsAbs(p.Target.Path) {
		return invalid("target/path", "%q is not an absolute path", p.Target.Path)
	}
	return p.Target.Permissions.check("target/permissions")
}

// Validate refuses a volume that contradicts itself or asks for what is not done.
func (v *StorageVolume) Validate() error {
	if v.Type != "" && v.Type != "file" {
		return unsupported("volume/@type", "only files are made in a folder, not %q", v.Type)
	}
	if err := checkName("name", v.Name); err != nil {
		return err
	}
	for element, size := range map[string]*Size{"capacity": v.Capacity, "allocation": v.Allocation} {
		if _, err := size.Bytes(); err != nil {
			return invalid(element, "%s", err)
		}
	}
	if err := v.checkBacking(); err != nil {
		return err
	}
	return v.Target.check()
}

func (v *StorageVolume) checkBacking() error {
	switch b := v.BackingStore; {
	case b == nil || b.Path == "":
		return nil
	case v.FormatOr("raw") != "qcow2":
		return invalid("backingStore", "a %s image has nothing below it; ask for the format qcow2", v.FormatOr("raw"))
	case b.Format == nil || b.Format.Type == "":
		return invalid("backingStore/format", "missing; it is not guessed from the content, which somebody else may have written")
	}
	return nil
}

func (t *VolumeTarget) check() error {
	if t == nil {
		return nil
	}
	if t.Encryption != nil {
		return unsupported("target/encryption", "encrypted images are not made here")
	}
	if t.Features != nil && t.Features.ExtendedL2 != nil {
		return unsupported("target/features/extended_l2", "make the image with qemu-img")
	}
	if t.ClusterSize != nil {
		if n, err := t.ClusterSize.Bytes(); err != nil || n != 1<<16 {
			return unsupported("target/clusterSize", "images are made with clusters of 64 KiB; make others with qemu-img")
		}
	}
	return t.Permissions.check("target/permissions")
}

func (p *Permissions) check(element string) error {
	if p == nil {
		return nil
	}
	if p.Mode != "" {
		if _, err := parseDigits(p.Mode, strings.TrimSpace(p.Mode), 8, 0o7777); err != nil {
			return invalid(element+"/mode", "%s", err)
		}
	}
	for name, id := range map[string]string{"owner": p.Owner, "group": p.Group} {
		if id == "" || strings.TrimSpace(id) == "-1" {
			continue
		}
		if _, err := ParseDecimal(id, math.MaxUint32-1); err != nil {
			return invalid(element+"/"+name, "%s", err)
		}
	}
	return nil
}

// FormatOr is the format of a volume, or another one when it names none.
func (v *StorageVolume) FormatOr(other string) string {
	if v.Target == nil || v.Target.Format == nil || v.Target.Format.Type == "" {
		return other
	}
	return v.Target.Format.Type
}

// Bytes returns the amount in bytes. A nil Size is 0.
func (s *Size) Bytes() (uint64, error) {
	if s == nil {
		return 0, nil
	}
	n, err := ParseDecimal(s.Value, math.MaxUint64)
	if err != nil {
		return 0, err
	}
	scale := uint64(1)
	if s.Unit != "" {
		var ok bool
		if scale, ok = unitBytes(s.Unit); !ok {
			return 0, fmt.Errorf("unit %q is not known; use bytes, KiB, MiB, GiB…", s.Unit)
		}
	}
	high, low := bits.Mul64(n, scale)
	if high != 0 || low > math.MaxInt64 {
		return 0, fmt.Errorf("%s %s is too large", s.Value, s.Unit)
	}
	return low, nil
}

// Bytes is an amount as it is answered.
func Bytes(n uint64) *Size { return &Size{Unit: "bytes", Value: fmt.Sprint(n)} }

// storageDocuments are the types of this file that are documents.
func storageDocuments() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[StoragePool](), reflect.TypeFor[StorageVolume]()}
}
