// Taproom-agent is the first process of the built-in guest.
package main

import (
	"context"
	"os"

	"taproom/internal/appliance/agent"
	"taproom/internal/version"
)

func main() {
	os.Exit(agent.Main(context.Background(), version.Version, os.Args))
}
