package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"taproom/internal/api/virterr"
	"taproom/internal/appliance"
	"taproom/internal/appliance/wire"
)

// Agent implements server.Documents: it hands one request to the agent of the built-in guest and returns its answer.
func (e *Engine) Agent(ctx context.Context, what string, request json.RawMessage) (json.RawMessage, error) {
	d, err := e.domainNamed(what)
	if err != nil {
		return nil, err
	}
	run, err := d.running()
	if err != nil {
		return nil, err
	}
	var q struct {
		Op   wire.Op         `json:"op"`
		Args json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal(request, &q); err != nil {
		return nil, virterr.New(virterr.InvalidArg, "the request to the agent is no JSON object with op and args: %v", err)
	}
	answer, err := e.askAgent(ctx, run, q.Op, q.Args)
	switch {
	case errors.Is(err, errNoAgent):
		return nil, virterr.New(virterr.OperationUnsupported, "domain '%s' has no channel %s: add one with type='unix' and that target name", d.label, wire.PortName)
	case err != nil:
		return nil, virterr.New(virterr.AgentUnresponsive, "the agent of domain '%s' does not answer: %w", d.label, err)
	}
	return answer, nil
}

// errNoAgent is a guest without a channel for our agent.
var errNoAgent = errors.New("no channel for the agent")

// askAgent waits until the guest's agent listens and asks it. When the guest restarts meanwhile the answer will not come.
func (e *Engine) askAgent(ctx context.Context, run *running, op wire.Op, args json.RawMessage) (json.RawMessage, error) {
	path, alias := run.channelNamed(wire.PortName)
	if path == "" {
		return nil, errNoAgent
	}
	// A serial port carries one conversation at a time.
	release, err := run.agentTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	closed, err := run.channels.await(ctx, alias)
	if err != nil {
		return nil, err
	}
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
	answer, err := e.converse(ctx, path, op, args)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, errChannelClosed) && (op == wire.OpPowerOff || op == wire.OpReboot || op == wire.OpCrash) {
		return json.RawMessage("{}"), nil // that is how it answers
	}
	return answer, err
}

// converse puts one question through the host's end of the channel.
func (e *Engine) converse(ctx context.Context, path string, op wire.Op, args json.RawMessage) (answer json.RawMessage, err error) {
	conn, err := e.k.DialUnix(ctx, path)
	if err != nil {
		return nil, err
	}
	c, err := appliance.NewClient(ctx, conn)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var a any
	if len(args) > 0 {
		a = args
	}
	err = c.Do(ctx, op, a, &answer)
	return answer, err
}
