//go:build !amd64

package uml

import "taproom/internal/host"

// syscalls names nothing that runs: there is no kernel for this processor.
func syscalls() host.Syscalls { return host.Syscalls{} }
