package emutest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"taproom/internal/host/hosttest"
)

// Environment of a test binary that holds a slot until it is killed.
const envHolds = "TAPROOM_TEST_HOLDS_SLOT"

func TestMain(m *testing.M) {
	if folder := os.Getenv(envHolds); folder != "" {
		holdSlot(folder)
	}
	hosttest.Main(m)
}

// holdSlot takes the only slot, starts a program that would keep an inherited descriptor open, says so, and stays. It drops
// release, and the garbage collector has run before it says so.
func holdSlot(folder string) {
	if _, err := acquire(folder, 1); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	child := exec.Command("cat") // ends with this process's standard input
	child.Stdin = os.Stdin
	if err := child.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	collected := make(chan bool)
	runtime.AddCleanup(new([64]byte), func(done chan bool) { close(done) }, collected)
	runtime.GC()
	<-collected
	fmt.Println("holds", child.Process.Pid)
	select {}
}

func TestSlot_IsReleasedByAProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	holder := exec.Command("/proc/self/exe")
	holder.Env = append(os.Environ(), envHolds+"="+folder)
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "holds ")))
	if err != nil {
		t.Fatal(line)
	}

	got := make(chan error, 1)
	var killed atomic.Bool
	go func() {
		release, err := acquire(folder, 1)
		if err == nil {
			release()
			if !killed.Load() {
				err = fmt.Errorf("slot acquired while process %d holds it", holder.Process.Pid)
			}
		}
		got <- err
	}()
	if err := until(t.Context(), func() bool { return waitsInFlock(t, folder) || len(got) > 0 }); err != nil {
		t.Fatal(err)
	}
	killed.Store(true)
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(fmt.Sprint("/proc/", child)); err != nil {
		t.Errorf("the holder's child ended before the slot was released: %v; the test shows nothing", err)
	}
	_ = holder.Wait()
}

// waitsInFlock reports whether a lock of the folder's first slot is waited for.
func waitsInFlock(t *testing.T, folder string) bool {
	t.Helper()
	info, err := os.Stat(filepath.Join(folder, "0"))
	if err != nil {
		t.Fatal(err)
	}
	inode := fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(locks)) {
		if strings.Contains(line, "-> FLOCK") && strings.Contains(line, inode) {
			return true
		}
	}
	return false
}

func TestSlots_BoundHowManyAreHeldAtOnce(t *testing.T) {
	t.Parallel()
	const slots, holders = 3, 20
	folder := t.TempDir()
	var held, most atomic.Int64
	var all sync.WaitGroup
	for range holders {
		all.Go(func() {
			release, err := acquire(folder, slots)
			if err != nil {
				t.Error(err)
				return
			}
			now := held.Add(1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			runtime.Gosched()
			held.Add(-1)
			release()
		})
	}
	all.Wait()
	if n := most.Load(); n > slots || n == 0 {
		t.Errorf("%d held at once, want at most %d", n, slots)
	}
}

func TestSlot_IsRefusedToATestThatHoldsOne(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	booted, err := take(t, folder, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := take(t, folder, 2); err == nil {
		t.Error("a second slot for one test: tests that all did so would wait for each other")
	}
	booted()
	booted()
	again, err := take(t, folder, 1)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
