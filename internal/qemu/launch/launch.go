package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/host"
)

// firstKept is the first descriptor after the standard three.
const firstKept = 3

// Main becomes the program that the Spec on the given descriptor describes. It returns only when that failed, after it
// told the parent.
func Main(args []string) error {
	// Credentials, capabilities and Landlock belong to a thread. exec keeps those of the thread that calls it.
	runtime.LockOSThread()
	if len(args) != 1 {
		return errors.New("taproom-launch is started by taproomd, with the number of a descriptor")
	}
	fd, err := strconv.Atoi(args[0])
	if err != nil || fd < firstKept {
		return fmt.Errorf("taproom-launch: %q is not the number of a descriptor", args[0])
	}
	s, err := read(fd)
	if err != nil {
		return err // there is no status descriptor to tell
	}
	var r Report
	stage, err := s.become(&r)
	r.Stage, r.Failure = stage, err.Error()
	var errno unix.Errno
	if errors.As(err, &errno) {
		r.Errno = int(errno)
	}
	return errors.Join(err, s.report(r))
}

func read(fd int) (Spec, error) {
	var s Spec
	f := os.NewFile(uintptr(fd), "launch spec")
	b, err := io.ReadAll(f)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err == nil && s.StatusFD < firstKept {
		err = errors.New("no status descriptor")
	}
	if err != nil {
		return s, fmt.Errorf("taproom-launch: read what to start: %w", err)
	}
	return s, nil
}

func (s Spec) report(r Report) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = unix.Write(s.StatusFD, b)
	return err
}

// become does it all; it returns only with an error.
func (s Spec) become(r *Report) (stage string, err error) {
	if !s.Root && (s.UID == 0 || s.GID == 0) || s.Root && s.UID|s.GID != 0 || slices.Contains(s.Groups, 0) {
		return StageSpec, errors.New("refused to run it as root: it needs a user and a group of its own")
	}
	if s.Path == "" || len(s.Args) == 0 || s.Keep < 0 {
		return StageSpec, errors.New("nothing to execute")
	}
	if err := s.surroundings(); err != nil {
		return StageConfine, err
	}
	if err := s.writePID(); err != nil {
		return StageConfine, err
	}
	// A daemon that comes after the parent reads the pid file to learn what there is: who writes it later must not go on.
	if s.PIDFile != 0 && os.Getppid() != s.Parent {
		return StageConfine, errors.New("the parent is gone")
	}
	if err := s.landlock(r); err != nil { // before the user changes: it names files that user need not reach
		return StageConfine, err
	}
	if !s.Root {
		if err := dropPrivileges(s.UID, s.GID, s.Groups); err != nil {
			return StageConfine, err
		}
	}
	if err := s.tieToParent(); err != nil { // after the user changed: that resets it
		return StageConfine, err
	}
	if err := s.putOnLeash(); err != nil { // likewise: the kernel asks whether who set it may send the signal
		return StageConfine, err
	}
	if s.Syscalls != nil { // last: what is above is not among them
		if err := s.Syscalls.Restrict(); err != nil {
			return StageConfine, err
		}
	}
	if err := s.report(*r); err != nil {
		return StageConfine, fmt.Errorf("tell the parent: %w", err)
	}
	return StageExec, fmt.Errorf("execute %s: %w", s.Path, unix.Exec(s.Path, s.Args, s.Env))
}

// surroundings sets what needs no special order.
func (s Spec) surroundings() error {
	unix.Umask(s.Umask)
	if s.OOMScore != nil {
		if err := os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(*s.OOMScore)), 0); err != nil {
			return fmt.Errorf("set the OOM score: %w", err)
		}
	}
	for _, l := range s.Limits {
		if err := setLimit(l); err != nil {
			return err
		}
	}
	if s.NoHugePages {
		if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("turn off transparent huge pages: %w", err)
		}
	}
	if s.NoRandomize {
		const addrNoRandomize = 0x40000 // linux/personality.h
		if _, _, errno := unix.Syscall(unix.SYS_PERSONALITY, addrNoRandomize, 0, 0); errno != 0 {
			return fmt.Errorf("turn off random addresses: %w", errno)
		}
	}
	// Ours and whatever leaked into us must not reach QEMU.
	if err := unix.CloseRange(uint(firstKept+s.Keep), ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close the other descriptors: %w", err)
	}
	return nil
}

// setLimit sets a limit in the kernel. The raw call, because the runtime restores the limit of open files at exec when
// it was changed through package syscall.
func setLimit(l Limit) error {
	rlim := unix.Rlimit{Cur: l.Soft, Max: l.Hard}
	err := unix.Prlimit(0, l.Resource, &rlim, nil)
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("set resource limit %d to %d/%d: %w; taproomd needs CAP_SYS_RESOURCE for it", l.Resource, l.Soft, l.Hard, err)
	}
	if err != nil {
		return fmt.Errorf("set resource limit %d to %d/%d: %w", l.Resource, l.Soft, l.Hard, err)
	}
	return nil
}

// writePID records who this process will still be after exec.
func (s Spec) writePID() error {
	if s.PIDFile == 0 {
		return nil
	}
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return err
	}
	stat := string(b)
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const startTime = 22 - 3 // proc_pid_stat(5), counted from the state
	if len(fields) <= startTime {
		return fmt.Errorf("cannot read /proc/self/stat: %q", stat)
	}
	start, err := strconv.ParseUint(fields[startTime], 10, 64)
	if err != nil {
		return fmt.Errorf("cannot read /proc/self/stat: %w", err)
	}
	record, err := json.Marshal(PIDRecord{PID: os.Getpid(), Start: start})
	if err != nil {
		return err
	}
	if _, err := unix.Pwrite(s.PIDFile, append(record, '\n'), 0); err != nil {
		return fmt.Errorf("write the pid file: %w", err)
	}
	return nil
}

func (s Spec) landlock(r *Report) error {
	if s.Landlock == nil {
		r.NoLandlock = "not asked for"
		return nil
	}
	abi, err := s.Landlock.RestrictThread()
	var missing *host.Missing
	if errors.As(err, &missing) { // the user, no_new_privs and seccomp still hold
		r.NoLandlock = missing.Error()
		return nil
	}
	if err != nil {
		return err
	}
	r.Landlock = abi
	return nil
}

func (s Spec) tieToParent() error {
	if !s.DieWithParent {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("set the death signal: %w", err)
	}
	if os.Getppid() != s.Parent {
		return errors.New("the parent is gone")
	}
	return nil
}
