package bench

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/version"
)

// Options are what a benchmark takes.
type Options struct {
	Programs   string // folder of taproomd and its siblings
	Peers      string // folder with peers that are not installed, "" for none
	Base       string // folder with the programs of another build to compare with, "" for none
	Rounds     int
	Domains    int      // how many are defined where that is the question
	Networks   int      // how many are served where that is the question
	NICs       int      // of one guest, where that is the question
	Kind       string   // of those NICs: one of NICKinds
	Machine    string   // of that guest
	Counts     []int    // of links made at once, where that is the question
	Guests     int      // at once, where that is the question
	Active     []int    // networks at once, where that is the question
	Backends   []string // of their rules: some of NetworkBackends
	Stream     bool     // of packets through few and many networks, in the place of their starts
	Copied     int      // MiB, where a copy is the question
	Ways       []string // to an appliance: some of BootWays
	Appliances []int    // alive at a time, where that is the question
	Images     int      // that are inspected; 0: none
	Workers    int      // that inspect them
	Rates      []int    // KiB/s, where limits are the question
	Seconds    int      // that one of them is measured for
	Shaped     []int    // NICs with limits, whose set-up is measured instead of the traffic of a single NIC; empty: the traffic
	Through    []string // the ways of a guest to the network: some of ShapeWays
	Filtered   []int    // NICs with a network filter, where that is the question
	Counters   string   // file of counts to compare with, "" for none
	Renew      bool     // that file, after the comparison
	Progress   func(done, total int)
}

// build is a folder of programs that is measured and what its figures' names begin with.
type build struct{ prefix, programs string }

// builds are this build and, where one was given, the other.
func (o Options) builds() []build {
	all := []build{{"", o.Programs}}
	if o.Base != "" {
		all = append(all, build{basePrefix, o.Base})
	}
	return all
}

// Member is one benchmark.
type Member struct {
	Name  string
	About string
	Run   func(context.Context, Options) (*Report, error)

	prepare func(context.Context, Options, func(string)) error // nil where no machine boots that needs files
}

// Members are all benchmarks.
func Members() []Member {
	return []Member{
		{Name: "start", About: "start of a paused guest with one NIC", Run: runStart},
		{Name: "many", About: "a guest with very many NICs, and many guests at once", Run: runMany},
		{Name: "readopt", About: "restart of the daemon beside many guests", Run: runReadopt},
		{Name: "names", About: "links of guests made and removed, beside two algorithms of the past", Run: runNames},
		{Name: "api", About: "lists and small calls on the wire", Run: runAPI},
		{Name: "networks", About: "NAT networks started and removed, with each back end of the firewall", Run: runNetworks},
		{Name: "copy", About: "a file into the ext4 of an image and out of it, from launch to shutdown", Run: runCopy, prepare: prepareAppliance},
		{Name: "boot", About: "an appliance until it is ready, made in each way", Run: runBoot, prepare: prepareAppliance},
		{Name: "uml", About: "an appliance in User-Mode Linux beside those in QEMU", Run: runUML, prepare: prepareAppliance},
		{Name: "parallel", About: "many appliances alive at a time", Run: runParallel, prepare: prepareAppliance},
		{Name: "inspect", About: "images inspected a second, each in an appliance of its own", Run: runInspect, prepare: prepareAppliance},
		{Name: "shape", About: "what bandwidth limits let through, and the delay they add", Run: runShape, prepare: prepareShape},
		{Name: "addresses", About: "DHCP, DNS and advertisements for many networks", Run: runAddresses},
		{Name: "filter", About: "network filters of few and many NICs: attached, redefined, and what they cost a packet", Run: runFilter},
		{Name: "counters", About: "what does not scatter: programs, calls into the host, netlink messages and memory of single operations", Run: runCounters, prepare: prepareAppliance},
	}
}

// ThisHost describes the machine.
func ThisHost() Host {
	h := Host{CPUs: runtime.NumCPU(), Version: version.Version}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		minute, _, _ := strings.Cut(string(b), " ")
		h.Load, _ = strconv.ParseFloat(minute, 64) // the kernel writes a number
	}
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			h.CPU = strings.TrimSpace(value)
			break
		}
	}
	return h
}
