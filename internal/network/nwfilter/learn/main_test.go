package learn

import (
	"testing"

	"taproom/internal/host/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }
