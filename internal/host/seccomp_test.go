package host

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// restrictedVariable tells the test that it runs in a process of its own, which it may restrict.
const restrictedVariable = "TAPROOM_TEST_RESTRICTED"

func TestWhatAFilterDoesNotNameFailsAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	if os.Getenv(restrictedVariable) == "" {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), restrictedVariable+"=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	runtime.LockOSThread() // for good: the thread ends with the test
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	var all Syscalls // but one
	for n := range uint32(mostSyscalls) {
		if n != unix.SYS_GETPPID {
			all = append(all, n)
		}
	}
	if err := all[:mostSyscalls-1].Restrict(); err != nil {
		t.Fatal(err)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0); errno != unix.EPERM {
		t.Errorf("getppid: %v, want %v", errno, unix.EPERM)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_GETPID, 0, 0, 0); errno != 0 {
		t.Errorf("getpid: %v", errno)
	}
	if err := exec.Command("true").Run(); err != nil {
		t.Errorf("another process: %v", err)
	}
	c := exec.Command("true")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	if err := c.Run(); !errors.Is(err, unix.EPERM) {
		t.Errorf("another process in a namespace of its own: %v, want %v", err, unix.EPERM)
	}
}

func TestAFilterNamesSomethingAndNotTooMuch(t *testing.T) {
	t.Parallel()
	for _, s := range []Syscalls{{}, make(Syscalls, mostSyscalls+1)} {
		if p, err := s.program(); err == nil {
			t.Errorf("%d system calls: %d instructions, want an error", len(s), len(p))
		}
	}
	p, err := Syscalls{unix.SYS_WRITE, unix.SYS_READ, unix.SYS_WRITE}.program()
	if err != nil || len(p) != 4+2*2+1 || p[len(p)-1].K != unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM) {
		t.Errorf("%+v, %v", p, err)
	}
}
