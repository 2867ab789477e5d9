package bench

import (
	"context"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/version"
)

// Options are what a benchmark takes.
type Options struct {
	Programs string // folder of taproomd and its siblings
	Peers    string // folder with peers that are not installed, "" for none
	Rounds   int
	Domains  int // how many are defined where that is the question
	Progress func(done, total int)
}

// Member is one benchmark.
type Member struct {
	Name  string
	About string
	Run   func(context.Context, Options) (*Report, error)
}

// Members are all benchmarks.
func Members() []Member {
	return []Member{
		{Name: "start", About: "start of a paused guest with one NIC", Run: runStart},
		{Name: "api", About: "lists and small calls on the wire", Run: runAPI},
	}
}

// thisHost describes the machine.
func thisHost(qemu string) Host {
	h := Host{CPUs: runtime.NumCPU(), QEMU: qemu, Version: version.Version}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
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
