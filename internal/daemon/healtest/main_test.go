package healtest

import (
	"testing"

	"taproom/internal/daemon/daemontest"
)

func TestMain(m *testing.M) { daemontest.Main(m) }
