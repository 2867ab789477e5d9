package build

import (
	"os"
	"testing"

	"taproom/internal/appliance/pid1/pid1test"
)

// initEnv tells the tests where TestMain put their first process.
const initEnv = "TAPROOM_TEST_INIT"

func TestMain(m *testing.M) {
	os.Exit(pid1test.Main(m, "taproom/internal/appliance/build/inittest", initEnv))
}
