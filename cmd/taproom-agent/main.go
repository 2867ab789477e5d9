// Taproom-agent is the first process of the built-in guest.
package main

import (
	"context"
	"os"

	"taproom/internal/appliance/agent"
)

// version is set when the binary is linked.
var version = "devel"

func main() {
	os.Exit(agent.Main(context.Background(), version, os.Args))
}
