package suite

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// setting is what makes figures of one machine comparable with each other.
type setting struct {
	cpus, cpu, kernel, qemu string
	kvm                     bool
}

// The forms in which a machine is described, in the document and by the programs themselves.
var (
	described  = regexp.MustCompile(`^Machine ([A-Z]): (\d+) cores of (?:an? )?(.+?)(?: \(family \d+\))?, Linux (\d+\.\d+)`)
	qemuNumber = regexp.MustCompile(`QEMU (?:emulator version )?(\d+\.\d+)`)
	kernelName = regexp.MustCompile(`^\d+\.\d+`)
)

// placed finds the letter of the report's machine in the document, or describes the machine after the others.
func placed(lines []string, r *Report) (with []string, letter string, err error) {
	here := settingOf(r)
	end, last := 0, byte(0)
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "Machine ") {
			continue
		}
		end = i
		for end < len(lines) && lines[end] != "" {
			end++
		}
		text := strings.Join(lines[i:end], " ")
		m := described.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		s := setting{cpus: m[2], cpu: m[3], kernel: m[4], kvm: !strings.Contains(text, "no usable KVM")}
		if q := qemuNumber.FindStringSubmatch(text); q != nil {
			s.qemu = q[1]
		}
		if s == here {
			return lines, m[1], nil
		}
		last = max(last, m[1][0])
	}
	switch last {
	case 0:
		return nil, "", errors.New(`the document describes no machine; a paragraph of it begins "Machine A: 2 cores of NAME, Linux 6.1"`)
	case 'Z':
		return nil, "", errors.New("the document describes 26 machines, and there is no letter left for this one; remove those that no row names")
	}
	letter = string(last + 1)
	kvm := "no usable KVM (guests run in TCG)"
	if here.kvm {
		kvm = "KVM"
	}
	text := fmt.Sprintf("Machine %s: %s cores of %s, Linux %s, %s, QEMU %s.", letter, here.cpus, here.cpu, here.kernel, kvm, here.qemu)
	with = append(with, lines[:end]...)
	with = append(with, "", text)
	return append(with, lines[end:]...), letter, nil
}

// settingOf is that of a report.
func settingOf(r *Report) setting {
	s := setting{
		cpus: fmt.Sprint(r.Machine.CPUs), cpu: strings.TrimSpace(r.Machine.CPU),
		kernel: kernelName.FindString(r.Machine.Kernel), kvm: r.Machine.KVM == "usable",
	}
	for _, v := range r.Versions {
		if m := qemuNumber.FindStringSubmatch(v.Version); v.Name == "QEMU" && m != nil {
			s.qemu = m[1]
		}
	}
	return s
}
