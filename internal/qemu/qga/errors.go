package qga

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed means that the channel ended: the guest, its agent or QEMU did.
	ErrClosed = errors.New("the channel to the guest agent was closed")
	// ErrUnsynced means that the agent did not answer a guest-sync-delimited in time: it does not listen, or is busy.
	ErrUnsynced = errors.New("the guest agent does not answer")
	// ErrTimeout means that the agent is there and did not answer a command in time. It may still carry it out.
	ErrTimeout = errors.New("the guest agent did not answer in time")
	// ErrNonsense means that what came is no answer of an agent.
	ErrNonsense = errors.New("the guest agent answers with nonsense")
)

// Error is the agent's own refusal of a command.
type Error struct {
	Class   string // "GenericError", "CommandNotFound", "CommandDisabled", …
	Desc    string // the agent's text
	Command string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("the guest agent refused %s: %s", e.Command, e.Desc)
}

// Unknown reports whether the agent has no such command, or its administrator turned it off.
func (e *Error) Unknown() bool { return e.Class == "CommandNotFound" || e.Class == "CommandDisabled" }
