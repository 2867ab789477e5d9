package hosttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path"
	"strings"
)

// Keep declares what the test leaves behind on purpose: "link NAME" or "table FAMILY NAME"; path.Match patterns work.
func (ns *NS) Keep(leftovers ...string) { ns.keep = append(ns.keep, leftovers...) }

// leftovers lists what is in the namespace beside lo and what was declared.
func (ns *NS) leftovers() ([]string, error) {
	var all, left []string
	links, err := ns.links()
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		all = append(all, "link "+l)
	}
	tables, err := ns.tables()
	if err != nil {
		return nil, err
	}
	all = append(all, tables...)
	for _, l := range all {
		if !ns.kept(l) {
			left = append(left, l)
		}
	}
	return left, nil
}

func (ns *NS) kept(leftover string) bool {
	for _, pattern := range ns.keep {
		if ok, _ := path.Match(pattern, leftover); ok {
			return true
		}
	}
	return false
}

// links lists the links beside lo as `ip` sees them, not as the code under test does. The tunnel devices that some
// kernels give each namespace are none of the test's.
func (ns *NS) links() ([]string, error) {
	out, err := ns.Try("ip", "-j", "-d", "link", "show")
	if err != nil {
		return nil, err
	}
	var links []struct {
		Name string `json:"ifname"`
		Link *int   `json:"link_index"`
	}
	if err := json.Unmarshal([]byte(out), &links); err != nil {
		return nil, fmt.Errorf("read `ip -j link`: %w", err)
	}
	var names []string
	for _, l := range links {
		if l.Name != "lo" && !builtin(l.Name) {
			names = append(names, l.Name)
		}
	}
	return names, nil
}

func builtin(name string) bool {
	switch name {
	case "tunl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "sit0", "ip6tnl0", "ip6gre0":
		return true
	}
	return false
}

// tables lists the nftables tables; none where nft is not installed, since then no test made one.
func (ns *NS) tables() ([]string, error) {
	if _, err := exec.LookPath("nft"); err != nil {
		return nil, nil
	}
	out, err := ns.Try("nft", "list", "tables")
	if err != nil {
		return nil, err
	}
	var tables []string
	for line := range strings.Lines(out) {
		tables = append(tables, strings.TrimSpace(line))
	}
	return tables, nil
}

// empty removes what is in the namespace: the kernel's own teardown of many bridges slows everybody for seconds.
func (ns *NS) empty() error {
	links, err := ns.links()
	if err != nil {
		return err
	}
	var batch bytes.Buffer
	for _, l := range links {
		fmt.Fprintf(&batch, "link delete dev %s\n", l)
	}
	if batch.Len() > 0 {
		c := exec.Command("ip", "-force", "-batch", "-") // a veth's other end goes with it: errors are expected
		c.Stdin = &batch
		if err := ns.Start(c); err != nil {
			return err
		}
		_ = c.Wait()
	}
	if _, err := exec.LookPath("nft"); err != nil {
		return nil
	}
	_, err = ns.Try("nft", "flush", "ruleset")
	return err
}
