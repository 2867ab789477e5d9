// Taproom-init is the first process of a disposable appliance.
package main

import (
	"context"
	"os"

	"taproom/internal/appliance/inside"
	"taproom/internal/version"
)

func main() {
	os.Exit(inside.Main(context.Background(), version.Version, os.Args))
}
