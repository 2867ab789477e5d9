// Command repocheck holds what the repo promises of itself: rooms point down only, files and functions stay small, every
// export is documented, every figure in PROMISES.md has a command, every command in the documents is run by a test.
//
//	go run -C tools ./repocheck /path/to/repo
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
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: repocheck REPO")
		os.Exit(2)
	}
	repo, err := load(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "repocheck:", err)
		os.Exit(2)
	}
	var complaints []string
	for _, check := range checks {
		complaints = append(complaints, check(repo)...)
	}
	fmt.Print(repo.summary())
	for _, c := range complaints {
		fmt.Println(c)
	}
	if len(complaints) > 0 {
		fmt.Printf("%d complaints\n", len(complaints))
		os.Exit(1)
	}
}
