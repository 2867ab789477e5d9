package helper_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"taproom/internal/host/hosttest"
)

// daemonVariable makes the test program a daemon that runs what it says.
const daemonVariable = "TAPROOM_TEST_DAEMON"

func TestMain(m *testing.M) {
	if doc := os.Getenv(daemonVariable); doc != "" {
		if err := daemon(doc); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	if doc := os.Getenv(vnetVariable); doc != "" {
		if err := vnet(doc); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// The tests wait for clients most of the time, whatever number of CPUs there is.
	flag.Parse()
	if err := flag.Set("test.parallel", "5"); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	hosttest.Main(m)
}
