package nftables_test

import (
	"testing"

	"taproom/internal/host/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }
