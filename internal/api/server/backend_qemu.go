package server

import (
	"context"

	"taproom/internal/spec"
)

// Monitors is what lies open of a guest's QEMU.
type Monitors interface {
	// MonitorCommand hands QEMU's monitor a command as JSON, or with human as a line of its human monitor, and returns its
	// answer: JSON, a refusal included, or text.
	MonitorCommand(ctx context.Context, uuid spec.UUID, command string, human bool) (string, error)
}

// Flags of monitor commands and of registrations for the monitor's events.
const (
	MonitorCommandHMP   = 1
	MonitorEventRegex   = 1
	MonitorEventNocase  = 2
	monitorEventPattern = 4096 // bytes, at most
)
