package spec

import (
	"reflect"
	"strings"
)

// IOTune bounds how much a guest reads from and writes to a disk: bytes and requests in a second, in total or for each
// direction; what it may have more of for a while, and for how many seconds. Disks with the same Group share a bound.
type IOTune struct {
	TotalBytes    string `xml:"total_bytes_sec,omitempty"`
	ReadBytes     string `xml:"read_bytes_sec,omitempty"`
	WriteBytes    string `xml:"write_bytes_sec,omitempty"`
	TotalIOPS     string `xml:"total_iops_sec,omitempty"`
	ReadIOPS      string `xml:"read_iops_sec,omitempty"`
	WriteIOPS     string `xml:"write_iops_sec,omitempty"`
	TotalBytesMax string `xml:"total_bytes_sec_max,omitempty"`
	ReadBytesMax  string `xml:"read_bytes_sec_max,omitempty"`
	WriteBytesMax string `xml:"write_bytes_sec_max,omitempty"`
	TotalIOPSMax  string `xml:"total_iops_sec_max,omitempty"`
	ReadIOPSMax   string `xml:"read_iops_sec_max,omitempty"`
	WriteIOPSMax  string `xml:"write_iops_sec_max,omitempty"`
	SizeIOPS      string `xml:"size_iops_sec,omitempty"`
	Group         string `xml:"group_name,omitempty"`
	TotalBytesFor string `xml:"total_bytes_sec_max_length,omitempty"`
	ReadBytesFor  string `xml:"read_bytes_sec_max_length,omitempty"`
	WriteBytesFor string `xml:"write_bytes_sec_max_length,omitempty"`
	TotalIOPSFor  string `xml:"total_iops_sec_max_length,omitempty"`
	ReadIOPSFor   string `xml:"read_iops_sec_max_length,omitempty"`
	WriteIOPSFor  string `xml:"write_iops_sec_max_length,omitempty"`
	Extra
}

// Bound is one of the bounds of a disk, by its name in documents.
type Bound struct {
	Name  string
	Value *string
}

// Bounds are all that there can be, set or not, in the order of libvirt's parameters.
func (t *IOTune) Bounds() []Bound {
	var out []Bound
	v := reflect.ValueOf(t).Elem()
	for i := range v.NumField() {
		if s, ok := v.Field(i).Addr().Interface().(*string); ok {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("xml"), ",")
			out = append(out, Bound{name, s})
		}
	}
	return out
}

// GroupName is the name of the bound that is a text.
const GroupName = "group_name"

// mostIO is libvirt's largest bound: QEMU's THROTTLE_VALUE_MAX.
const mostIO = 1_000_000_000_000_000

func ioTuneRules() map[string]rule {
	m := map[string]rule{}
	for _, b := range new(IOTune).Bounds() {
		m["devices/disk/iotune/"+b.Name] = number(0, mostIO)
	}
	m["devices/disk/iotune/"+GroupName] = pattern(`[A-Za-z0-9_.-]{1,64}`, "a name of letters, digits and _.-")
	return m
}

// check refuses what QEMU does not take together, in libvirt's words: a total beside a bound of one direction, more for a
// while that is not more.
func (t *IOTune) check() error {
	if t == nil {
		return nil
	}
	n := map[string]uint64{}
	for _, b := range t.Bounds() {
		n[b.Name], _ = ParseDecimal(*b.Value, mostIO) // a rule has judged it; "" is 0
	}
	for _, kind := range []string{"bytes_sec", "iops_sec", "bytes_sec_max", "iops_sec_max"} {
		if n["total_"+kind] > 0 && (n["read_"+kind] > 0 || n["write_"+kind] > 0) {
			return invalid("devices/disk/iotune", "total and read/write %s cannot be set at the same time", kind)
		}
	}
	for _, b := range t.Bounds() {
		base, most := strings.CutSuffix(b.Name, "_max")
		long, length := strings.CutSuffix(b.Name, "_length")
		switch {
		case n[b.Name] == 0:
		case most && n[base] == 0:
			return invalid("devices/disk/iotune", "value '%s' cannot be set if '%s' is not set", b.Name, base)
		case most && n[b.Name] < n[base]:
			return invalid("devices/disk/iotune", "value '%s' cannot be smaller than '%s'", b.Name, base)
		case length && n[long] == 0:
			return invalid("devices/disk/iotune", "value '%s' cannot be set if '%s' is not set", b.Name, long)
		}
	}
	return nil
}
