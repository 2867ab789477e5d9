// Toolstest stands for the tools of an appliance where they are tested: it does what its first argument says.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	switch os.Args[1] {
	case "cat": // its input to its output, and how much it was to the other
		n, _ := io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintln(os.Stderr, n)
	case "env":
		dir, _ := os.Getwd()
		fmt.Println(dir, strings.Join(os.Environ(), " "))
	case "read": // a file
		b, err := os.ReadFile(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_, _ = os.Stdout.Write(b)
	case "fetch": // what a server of TCP says
		c, err := net.Dial("tcp", os.Args[2])
		if err == nil {
			_, err = io.Copy(os.Stdout, c)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "write":
		if err := os.WriteFile(os.Args[2], []byte(os.Args[3]), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "flood":
		for {
			_, _ = os.Stdout.Write(bytes.Repeat([]byte("flood\n"), 1000))
		}
	case "sleep": // for ever, and a child that does
		c := exec.Command(os.Args[0], "child")
		c.Stdout = os.Stdout
		if c.Start() == nil {
			fmt.Println("asleep")
		}
		<-forever()
	case "child":
		<-forever()
	case "daemon": // leaves one behind that holds its output open
		c := exec.Command(os.Args[0], "child")
		c.Stdout, c.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			os.Exit(1)
		}
		fmt.Println("left one behind")
	case "die":
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGTERM)
		<-forever()
	case "idle": // how often a thread of the first process went to sleep again while nothing was asked of it
		before := switches()
		<-time.After(2 * time.Second)
		fmt.Println(switches() - before)
	case "exit":
		os.Exit(7)
	}
}

// switches is how often the threads of the first process have gone to sleep.
func switches() (sum int) {
	threads, _ := filepath.Glob("/proc/1/task/*/status")
	if len(threads) == 0 {
		os.Exit(1)
	}
	for _, path := range threads {
		b, _ := os.ReadFile(path)
		for line := range strings.Lines(string(b)) {
			if text, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				n, err := strconv.Atoi(strings.TrimSpace(text))
				if err != nil {
					os.Exit(1)
				}
				sum += n
			}
		}
	}
	return sum
}

// forever is never ready. A channel alone would have Go see a deadlock.
func forever() <-chan struct{} {
	c := make(chan struct{})
	go func() {
		var b [1]byte
		r, _, _ := os.Pipe()
		_, _ = r.Read(b[:])
	}()
	return c
}
