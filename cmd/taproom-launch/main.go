// Command taproom-launch becomes a guest's QEMU: it gives up privileges, confines itself and executes QEMU in its place.
// taproomd starts it; it is not meant for people.
package main

import (
	"fmt"
	"os"

	"taproom/internal/qemu/launch"
	"taproom/internal/version"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("taproom-launch", version.Version)
		return
	}
	if err := launch.Main(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
