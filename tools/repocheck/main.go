// Command repocheck holds what the repo promises of itself: rooms point down only, files and functions stay small, every
// export is documented, every figure in PROMISES.md has a command, every command in the documents is run by a test.
//
//	go run -C tools ./repocheck /path/to/repo
//	go run -C tools ./repocheck --seal-counters /path/to/profile /path/to/repo
package main

import (
	"fmt"
	"os"
	"time"
)

// checks each return what is wrong, a line each.
var checks = []func(*tree) []string{
	layers, depguard, architecture, sizes, documented, habits, skips, waits, generated, promises, documents, machines, musts, flakes(time.Now()),
}

func main() {
	args := os.Args[1:]
	seal := len(args) == 3 && args[0] == "--seal-counters"
	if len(args) != 1 && !seal {
		fmt.Fprintln(os.Stderr, "usage: repocheck [--seal-counters PROFILE] REPO")
		os.Exit(2)
	}
	repo, err := load(args[len(args)-1])
	if err == nil && seal {
		err = sealCounters(repo, args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "repocheck:", err)
		os.Exit(2)
	}
	if seal {
		return
	}
	var complaints []string
	for _, check := range checks {
		complaints = append(complaints, check(repo)...)
	}
	notice, stale := freshCounters(repo)
	complaints = append(complaints, stale...)
	fmt.Print(repo.summary())
	if notice != "" {
		fmt.Println(notice)
	}
	for _, c := range complaints {
		fmt.Println(c)
	}
	if len(complaints) > 0 {
		fmt.Printf("%d complaints\n", len(complaints))
		os.Exit(1)
	}
}
