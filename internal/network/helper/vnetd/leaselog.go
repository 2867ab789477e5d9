package vnetd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"taproom/internal/network/helper"
	"taproom/internal/network/lease"
)

// leaseLog is a network's lease file. During a compaction there are two, and after a daemon that died in the middle of
// one there may be for a while: all are written, so whichever has the name is complete.
type leaseLog struct {
	files   []*os.File // the newest last
	records int
	torn    bool // a last line may lack its end
	damaged int
	disk    chan struct{}
	clock   lease.Clock
	hook    Hook
}

// openLog reads a lease file. disk limits how many goroutines wait for storage at a time, each of which takes a thread.
func openLog(f *os.File, disk chan struct{}, clock lease.Clock) (*leaseLog, []lease.Lease, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, helper.MaxLog+1))
	if err == nil && len(data) > helper.MaxLog {
		err = fmt.Errorf("larger than %d bytes", helper.MaxLog)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the lease file: %w", err)
	}
	l := &leaseLog{files: []*os.File{f}, disk: disk, torn: len(data) > 0 && data[len(data)-1] != '\n', clock: clock}
	leases, damaged := clock.Parse(data)
	l.records, l.damaged = len(leases)+damaged, damaged
	return l, leases, nil
}

// read returns what the file has now.
func (l *leaseLog) read() ([]lease.Lease, error) {
	last := l.files[len(l.files)-1]
	data, err := io.ReadAll(io.NewSectionReader(last, 0, helper.MaxLog))
	if err != nil {
		return nil, fmt.Errorf("read the lease file: %w", err)
	}
	leases, _ := l.clock.Parse(data)
	return leases, nil
}

// names returns what the daemon calls the files.
func (l *leaseLog) names() []string {
	var out []string
	for _, f := range l.files {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err == nil && st.Nlink > 0 {
			out = append(out, fmt.Sprintf("%s %d:%d", helper.DescLeases, st.Dev, st.Ino))
		}
	}
	return out
}

// write stores leases.
func (l *leaseLog) write(leases []lease.Lease) error {
	changes := make([]lease.Change, len(leases))
	for i, one := range leases {
		changes[i].Lease = one
	}
	return l.append(changes)
}

// append stores changes; when it returns nil they survive a power cut.
func (l *leaseLog) append(changes []lease.Change) error {
	if len(changes) == 0 {
		return nil
	}
	l.disk <- struct{}{}
	defer func() { <-l.disk }()
	var b []byte
	if l.torn {
		b = append(b, '\n')
	}
	for _, c := range changes {
		b = l.clock.Append(b, c.Lease)
	}
	var err error
	for _, f := range l.files {
		err = errors.Join(err, l.store(f, b))
	}
	l.torn = err != nil
	l.records += len(changes)
	return err
}

func (l *leaseLog) store(f *os.File, b []byte) error {
	l.hook.at(StepWrite)
	if _, err := f.Write(b); err != nil {
		return err
	}
	return dataSync(f)
}

func dataSync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// compact writes what is known to a new, empty file and keeps it up to date too until commit.
func (l *leaseLog) compact(to *os.File, leases []lease.Lease) error {
	var b []byte
	for _, one := range leases {
		b = l.clock.Append(b, one)
	}
	if err := l.store(to, b); err != nil {
		return fmt.Errorf("write the compacted lease file: %w", err)
	}
	l.prune()
	l.files = append(l.files, to)
	return nil
}

// prune lets go of files without a name, which nobody will ever read. What an interrupted compaction left is one.
func (l *leaseLog) prune() {
	var named []*os.File
	for i, f := range l.files {
		var st unix.Stat_t
		last := i == len(l.files)-1 && len(named) == 0
		if err := unix.Fstat(int(f.Fd()), &st); !last && err == nil && st.Nlink == 0 {
			f.Close()
			continue
		}
		named = append(named, f)
	}
	l.files = named
}

// commit lets go of all files but the newest, which has the name by now.
func (l *leaseLog) commit(records int) error {
	last := len(l.files) - 1
	if last == 0 {
		return errors.New("no compaction is under way")
	}
	closeAll(l.files[:last])
	l.files, l.torn, l.records, l.damaged = l.files[last:], false, records, 0
	return nil
}

func (l *leaseLog) close() { closeAll(l.files) }
