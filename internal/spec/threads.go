package spec

// IOThreadIDs names the guest's I/O threads, which are numbered from 1 where the document does not say.
type IOThreadIDs struct {
	Threads []IOThread `xml:"iothread"`
	Extra
}

// IOThread is one of QEMU's threads for disks: ThreadPoolMin and -Max bound the helpers that block in its place.
type IOThread struct {
	ID            string        `xml:"id,attr"`
	ThreadPoolMin string        `xml:"thread_pool_min,attr,omitempty"`
	ThreadPoolMax string        `xml:"thread_pool_max,attr,omitempty"`
	Poll          *IOThreadPoll `xml:"poll"`
	Extra
}

// IOThreadPoll says how long a thread looks for work before it sleeps: at most Max nanoseconds.
type IOThreadPoll struct {
	Max    string `xml:"max,attr,omitempty"`
	Grow   string `xml:"grow,attr,omitempty"`
	Shrink string `xml:"shrink,attr,omitempty"`
	Extra
}

// DefaultIOThread bounds the helpers of QEMU's main loop.
type DefaultIOThread struct {
	ThreadPoolMin string `xml:"thread_pool_min,attr,omitempty"`
	ThreadPoolMax string `xml:"thread_pool_max,attr,omitempty"`
	Extra
}

// CPUTune bounds and places QEMU's threads, in the order in which libvirt writes it. Periods and quotas are in microseconds.
type CPUTune struct {
	Shares         string          `xml:"shares,omitempty"`
	Period         string          `xml:"period,omitempty"` // of each virtual processor
	Quota          string          `xml:"quota,omitempty"`
	GlobalPeriod   string          `xml:"global_period,omitempty"` // of all together
	GlobalQuota    string          `xml:"global_quota,omitempty"`
	EmulatorPeriod string          `xml:"emulator_period,omitempty"`
	EmulatorQuota  string          `xml:"emulator_quota,omitempty"`
	IOThreadPeriod string          `xml:"iothread_period,omitempty"`
	IOThreadQuota  string          `xml:"iothread_quota,omitempty"`
	VCPUPins       []VCPUPin       `xml:"vcpupin"`
	EmulatorPin    *EmulatorPin    `xml:"emulatorpin"`
	IOThreadPins   []IOThreadPin   `xml:"iothreadpin"`
	EmulatorSched  *Sched          `xml:"emulatorsched"`
	VCPUScheds     []VCPUSched     `xml:"vcpusched"`
	IOThreadScheds []IOThreadSched `xml:"iothreadsched"`
	Extra
}

// VCPUPin says on which of the host's processors a virtual one runs.
type VCPUPin struct {
	VCPU   string `xml:"vcpu,attr"`
	CPUSet string `xml:"cpuset,attr"`
	Extra
}

// EmulatorPin is the same for all threads of QEMU that play no processor and are no I/O thread.
type EmulatorPin struct {
	CPUSet string `xml:"cpuset,attr"`
	Extra
}

// IOThreadPin is the same for an I/O thread.
type IOThreadPin struct {
	IOThread string `xml:"iothread,attr"`
	CPUSet   string `xml:"cpuset,attr"`
	Extra
}

// Sched is how the kernel schedules threads: batch, idle, fifo or rr; the last two have a priority of 1 to 99.
type Sched struct {
	Scheduler string `xml:"scheduler,attr"`
	Priority  string `xml:"priority,attr,omitempty"`
	Extra
}

// VCPUSched is Sched for virtual processors.
type VCPUSched struct {
	VCPUs     string `xml:"vcpus,attr"`
	Scheduler string `xml:"scheduler,attr"`
	Priority  string `xml:"priority,attr,omitempty"`
	Extra
}

// IOThreadSched is Sched for I/O threads.
type IOThreadSched struct {
	IOThreads string `xml:"iothreads,attr"`
	Scheduler string `xml:"scheduler,attr"`
	Priority  string `xml:"priority,attr,omitempty"`
	Extra
}

func threadRules() map[string]rule {
	poll := "iothreadids/iothread/poll/@"
	m := map[string]rule{
		"iothreads":                             number(0, 1024),
		"iothreadids/iothread/@id":              number(1, 1<<31-1),
		"iothreadids/iothread/@thread_pool_min": number(0, 65535),
		"iothreadids/iothread/@thread_pool_max": number(0, 65535),
		poll + "max":                            number(0, 1<<63-1),
		poll + "grow":                           number(0, 1<<31-1),
		poll + "shrink":                         number(0, 1<<31-1),
		"defaultiothread/@thread_pool_min":      number(0, 65535),
		"defaultiothread/@thread_pool_max":      number(0, 65535),
		"devices/disk/driver/@iothread":         number(1, 1<<31-1),
		"devices/controller/driver/@iothread":   number(1, 1<<31-1),

		"vcpu/@cpuset":                     cpuSet(),
		"cputune/vcpupin/@vcpu":            number(0, 65535),
		"cputune/vcpupin/@cpuset":          cpuSet(),
		"cputune/emulatorpin/@cpuset":      cpuSet(),
		"cputune/iothreadpin/@iothread":    number(1, 1<<31-1),
		"cputune/iothreadpin/@cpuset":      cpuSet(),
		"cputune/cachetune":                refuse("caches are not divided among guests"),
		"cputune/memorytune":               refuse("memory bandwidth is not divided among guests"),
		"cputune/vcpusched/@vcpus":         cpuSet(),
		"cputune/iothreadsched/@iothreads": cpuSet(),
		"cputune/shares":                   number(1, 262144),
	}
	for _, who := range []string{"", "global_", "emulator_", "iothread_"} {
		m["cputune/"+who+"period"] = number(1000, 1000000)
		m["cputune/"+who+"quota"] = pattern(`-1|[0-9]{4,17}`, "-1, or at least 1000 microseconds")
	}
	for _, who := range []string{"emulatorsched", "vcpusched", "iothreadsched"} {
		m["cputune/"+who+"/@scheduler"] = values("batch idle fifo rr", "")
		m["cputune/"+who+"/@priority"] = number(1, 99)
	}
	return m
}

// checkThreads holds that what is pinned is there, and is pinned once.
func (d *Domain) checkThreads() error {
	seen := map[string]bool{}
	if d.IOThreadIDs != nil {
		for _, t := range d.IOThreadIDs.Threads {
			if t.ID == "" {
				return invalid("iothreadids/iothread/@id", "it is missing")
			}
			if seen[t.ID] {
				return invalid("iothreadids/iothread/@id", "%s is given more than once", t.ID)
			}
			seen[t.ID] = true
		}
	}
	t := d.CPUTune
	if t == nil {
		return nil
	}
	most, err := d.MaxVCPUs()
	if err != nil {
		return invalid("vcpu", "%s", err)
	}
	pinned := map[string]bool{}
	for _, p := range t.VCPUPins {
		n, err := ParseDecimal(p.VCPU, uint64(most)-1)
		if err != nil {
			return invalid("cputune/vcpupin/@vcpu", "%s", err)
		}
		if p.CPUSet == "" {
			return invalid("cputune/vcpupin/@cpuset", "it is missing")
		}
		if pinned[p.VCPU] {
			return invalid("cputune/vcpupin/@vcpu", "virtual CPU %d is pinned more than once", n)
		}
		pinned[p.VCPU] = true
	}
	if t.EmulatorPin != nil && t.EmulatorPin.CPUSet == "" {
		return invalid("cputune/emulatorpin/@cpuset", "it is missing")
	}
	return t.checkScheds()
}

func (t *CPUTune) checkScheds() error {
	threads := map[string]bool{}
	for _, p := range t.IOThreadPins {
		if p.IOThread == "" || p.CPUSet == "" {
			return invalid("cputune/iothreadpin", "iothread and cpuset are both needed")
		}
		if threads[p.IOThread] {
			return invalid("cputune/iothreadpin/@iothread", "I/O thread %s is pinned more than once", p.IOThread)
		}
		threads[p.IOThread] = true
	}
	check := func(at, scheduler, priority string) error {
		realtime := scheduler == "fifo" || scheduler == "rr"
		switch {
		case scheduler == "":
			return invalid("cputune/"+at+"/@scheduler", "it is missing; use batch, idle, fifo or rr")
		case realtime && priority == "":
			return invalid("cputune/"+at+"/@priority", "it is missing; scheduler %s needs one of 1 to 99", scheduler)
		}
		return nil
	}
	if s := t.EmulatorSched; s != nil {
		if err := check("emulatorsched", s.Scheduler, s.Priority); err != nil {
			return err
		}
	}
	for _, s := range t.VCPUScheds {
		if err := check("vcpusched", s.Scheduler, s.Priority); err != nil {
			return err
		}
	}
	for _, s := range t.IOThreadScheds {
		if err := check("iothreadsched", s.Scheduler, s.Priority); err != nil {
			return err
		}
	}
	return nil
}
