package nodedev

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Functions are the links of an SR-IOV NIC's virtual functions, in the order of their numbers. A function without a link,
// such as one that a guest has, is left out.
func (s Sysfs) Functions(dev string) ([]string, error) {
	dir := s.link(s.path("class", "net", dev))
	if dir == "" {
		return nil, fmt.Errorf("there is no link %s; name one of the host's (ip link)", dev)
	}
	pci := s.link(filepath.Join(dir, "device"))
	if pci == "" || s.attribute(pci, "sriov_totalvfs") == "" {
		return nil, fmt.Errorf("%s is no SR-IOV NIC: it has no virtual functions to give to guests", dev)
	}
	entries, err := s.Kernel.ReadDir(pci)
	if err != nil {
		return nil, err
	}
	numbers := []int{}
	for _, e := range entries {
		rest, is := strings.CutPrefix(e.Name(), "virtfn")
		if n, err := strconv.Atoi(rest); is && err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	var out []string
	for _, n := range numbers {
		function := s.link(filepath.Join(pci, "virtfn"+strconv.Itoa(n)))
		links, err := s.Kernel.ReadDir(filepath.Join(function, "net"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			out = append(out, l.Name())
		}
	}
	return out, nil
}
