package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/qemu/qga"
	"taproom/internal/spec"
)

const (
	// agentAnswers is how long an agent that is there may take to say so.
	agentAnswers = 5 * time.Second
	// agentShutsDown is how long a guest may take from a request to shut down until it is on its way.
	agentShutsDown = 60 * time.Second
)

// errAgentBusy is an agent that is asked by somebody else all the time.
var errAgentBusy = errors.New("somebody else is asking the guest agent")

// agentTalk is one conversation with a guest's qemu-guest-agent.
type agentTalk func(ctx context.Context, d *domain, run *running, c *qga.Client) error

// talk has a conversation with the agent of a guest that runs. It holds up nobody but others who want to talk to the same
// agent. When the guest or its agent ends meanwhile, so does the conversation.
func (e *Engine) talk(ctx context.Context, uuid spec.UUID, f agentTalk) error {
	d, err := e.domain(uuid)
	if err != nil {
		return err
	}
	run, err := d.running()
	if err != nil {
		return err
	}
	return e.talkTo(ctx, d, run, f)
}

// talkTo is talk to a guest that was found already.
func (e *Engine) talkTo(ctx context.Context, d *domain, run *running, f agentTalk) error {
	path, closed, err := d.agentChannel(run)
	if err != nil {
		return err
	}
	release, err := run.guestAgentTurn(ctx)
	if err != nil {
		return agentError(d, err)
	}
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() {
		select {
		case <-closed:
			cancel(errChannelClosed)
		case <-ctx.Done():
		}
	})
	err = e.converseWithGuest(ctx, path, run.agentTimeout(), func(c *qga.Client) error { return f(ctx, d, run, c) })
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errChannelClosed) {
		err = cause
	}
	return agentError(d, err)
}

// agentChannel is the host's end of the agent's channel, and what is closed when the guest closes its end.
func (d *domain) agentChannel(run *running) (path string, closed <-chan struct{}, err error) {
	if state := d.view().ref.State; state != server.DomainRunning {
		return "", nil, virterr.New(virterr.OperationInvalid, "domain '%s' does not run: its guest agent cannot answer", d.label)
	}
	path, alias := run.channelNamed(guestAgent)
	if path == "" {
		return "", nil, virterr.New(virterr.ArgumentUnsupported,
			"QEMU guest agent is not configured: domain '%s' has no channel of type unix with the target name %s", d.label, guestAgent)
	}
	if closed = run.channels.now(alias); closed == nil {
		return "", nil, virterr.New(virterr.AgentUnresponsive, "QEMU guest agent is not connected: qemu-guest-agent does not run in domain '%s'", d.label)
	}
	return path, closed, nil
}

func (e *Engine) converseWithGuest(ctx context.Context, path string, timeout int32, f func(*qga.Client) error) error {
	conn, err := e.k.DialUnix(ctx, path)
	if err != nil {
		return err
	}
	defer conn.Close()
	c := qga.New(conn)
	within := agentAnswers
	if timeout >= 0 {
		within = min(within, max(time.Duration(timeout)*time.Second, time.Second))
	}
	syncing, cancel := context.WithTimeout(ctx, within)
	err = c.Sync(syncing)
	cancel()
	if err != nil {
		return err
	}
	c.Within = agentPatience(timeout)
	return f(c)
}

// agentPatience is how long a command may take: without end, 5 s, or so many seconds.
func agentPatience(timeout int32) time.Duration {
	switch timeout {
	case server.AgentBlock:
		return 0
	case server.AgentDefault:
		return agentAnswers
	}
	return max(time.Duration(timeout)*time.Second, time.Millisecond)
}

// guestAgentTurn waits until nobody else talks to the guest's agent, for as long as for anything else that is under way.
func (run *running) guestAgentTurn(ctx context.Context) (release func(), err error) {
	wait := time.NewTimer(answerWithin)
	defer wait.Stop()
	select {
	case run.guestAgent <- struct{}{}:
		return func() { <-run.guestAgent }, nil
	case <-wait.C:
		return nil, errAgentBusy
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// agentTimeout is what SetAgentTimeout set.
func (run *running) agentTimeout() int32 {
	if t := run.rec().AgentTimeout; t != nil {
		return *t
	}
	return server.AgentBlock
}

// SetAgentTimeout implements server.GuestAgents. It holds until the guest ends.
func (e *Engine) SetAgentTimeout(ctx context.Context, uuid spec.UUID, timeout int32) error {
	if timeout < server.AgentBlock {
		return virterr.New(virterr.InvalidArg, "guest agent timeout '%d' is less than the minimum '%d'", timeout, server.AgentBlock)
	}
	return e.control(ctx, uuid, "set the patience with the agent of", func(_ context.Context, d *domain, run *running) error {
		return e.rerecord(d, run, func(rec *record) { rec.AgentTimeout = &timeout })
	})
}

// rerecord changes what is written down of a guest that runs. The caller holds the slot.
func (e *Engine) rerecord(d *domain, run *running, change func(rec *record)) error {
	before := run.hardware()
	now := *before
	change(&now.rec)
	return e.become(d, run, before, &now)
}

// agentError says what went wrong with which guest's agent, with libvirt's number. It returns nil for nil.
func agentError(d *domain, err error) error {
	var refusal *qga.Error
	var coded *virterr.Error
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.As(err, &refusal):
		return virterr.New(virterr.AgentCommandFailed, "unable to execute QEMU agent command '%s': %s", refusal.Command, refusal.Desc)
	case errors.Is(err, qga.ErrTimeout):
		return virterr.New(virterr.AgentCommandTimeout, "domain '%s': %w", d.label, err)
	case errors.Is(err, qga.ErrNonsense):
		return virterr.New(virterr.AgentUnsynced, "domain '%s': %w", d.label, err)
	case errors.Is(err, errAgentBusy):
		return virterr.New(virterr.OperationTimeout, "domain '%s': %w", d.label, err)
	}
	return virterr.New(virterr.AgentUnresponsive, "Guest agent not available for now: domain '%s': %w", d.label, err)
}
