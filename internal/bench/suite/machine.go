package suite

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"taproom/internal/bench"
	"taproom/internal/host"
	"taproom/internal/qemu"
	"taproom/internal/version"
)

// Here describes this machine and the programs on it that take part.
func Here(ctx context.Context) (Machine, []Version) {
	h := bench.ThisHost()
	m := Machine{Kernel: h.Kernel, CPU: h.CPU, CPUs: runtime.NumCPU(), Memory: memory(), KVM: kvm(ctx)}
	versions := []Version{{"taproom", version.Version}, {"Go", runtime.Version()}}
	for _, program := range []struct{ name, command string }{
		{"QEMU", "qemu-system-x86_64 --version"},
		{"nftables", "nft --version"},
		{"iptables", "iptables --version"},
		{"firewalld", "firewall-offline-cmd --version"},
		{"Open vSwitch", "ovs-vsctl --version"},
		{"fio", "fio --version"},
	} {
		versions = append(versions, Version{program.name, firstLine(ctx, program.command)})
	}
	return m, versions
}

// kvm says whether guests run on the processor itself.
func kvm(ctx context.Context) string {
	k := host.New(host.Options{})
	defer k.Close()
	if v := qemu.ProbeKVM(ctx, k); !v.Usable {
		return v.Reason
	}
	return "usable"
}

// firstLine is the first line that a program prints, or that it is not there.
func firstLine(ctx context.Context, command string) string {
	words := strings.Fields(command)
	if _, err := exec.LookPath(words[0]); err != nil {
		return "not installed"
	}
	out, err := exec.CommandContext(ctx, words[0], words[1:]...).Output()
	if err != nil {
		return words[0] + ": " + err.Error()
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

// memory is the machine's, in MiB, or 0 where the kernel does not tell.
func memory() int {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if rest, ok := strings.CutPrefix(s.Text(), "MemTotal:"); ok {
			kib, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(rest, "kB"))) // the kernel writes a number
			return kib / 1024
		}
	}
	return 0
}
