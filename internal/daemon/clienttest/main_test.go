// Package clienttest holds what libvirt's clients, unmodified, see of the real daemon: virsh and python3-libvirt of the
// distribution, and, where TAPROOM_VIRSH and TAPROOM_QEMU10 name them, those and the QEMU of its backports.
package clienttest

import (
	"testing"

	"taproom/internal/daemon/daemontest"
)

func TestMain(m *testing.M) { daemontest.Main(m) }
