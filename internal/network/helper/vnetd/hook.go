package vnetd

// Hook is told of every step before it is taken, by the goroutine that takes it. Tests end the process there, or let a
// fault happen.
type Hook func(Step)

// Step is something after which the world is not as it was before.
type Step string

// The steps.
const (
	StepFrame Step = "frame" // a frame is looked at
	StepWrite Step = "write" // leases are written to a file
	StepSend  Step = "send"  // a frame is sent
)

func (h Hook) at(s Step) {
	if h != nil {
		h(s)
	}
}
