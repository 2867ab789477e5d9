package appliance

import (
	"context"
	"crypto/rand"
	"time"

	"taproom/internal/appliance/wire"
)

// Hello asks who answers and how its boot went.
func (c *Client) Hello(ctx context.Context) (wire.Hello, error) {
	return ask[wire.Hello](ctx, c, wire.OpHello, nil)
}

// WaitReady asks the same, once all devices of the guest have their drivers, or when the time is over: see Ready.
func (c *Client) WaitReady(ctx context.Context, most time.Duration) (wire.Hello, error) {
	return ask[wire.Hello](ctx, c, wire.OpHello, wire.HelloWait{Seconds: int(most / time.Second)})
}

// Ping asks for an answer and nothing else.
func (c *Client) Ping(ctx context.Context) error { return c.Do(ctx, wire.OpPing, nil, nil) }

// Network asks for links, addresses, routes and leases, as they are now.
func (c *Client) Network(ctx context.Context) (wire.Network, error) {
	return ask[wire.Network](ctx, c, wire.OpNetwork, nil)
}

// WaitNetwork asks for the same, once every link with a carrier has a lease and there are at least leases of them, or
// when the time is over: the caller looks at what it got.
func (c *Client) WaitNetwork(ctx context.Context, leases int, most time.Duration) (wire.Network, error) {
	return ask[wire.Network](ctx, c, wire.OpNetwork, wire.NetworkWait{Leases: leases, Seconds: int(most / time.Second)})
}

// Traffic lets the guest send to an echo server.
func (c *Client) Traffic(ctx context.Context, t wire.Traffic) (wire.TrafficResult, error) {
	return ask[wire.TrafficResult](ctx, c, wire.OpTraffic, t)
}

// Listen lets the guest echo on a port, and returns the port.
func (c *Client) Listen(ctx context.Context, l wire.Listen) (int, error) {
	r, err := ask[wire.Listening](ctx, c, wire.OpListen, l)
	return r.Port, err
}

// Blocks asks for the guest's disks.
func (c *Client) Blocks(ctx context.Context) ([]wire.Block, error) {
	return ask[[]wire.Block](ctx, c, wire.OpBlocks, nil)
}

// WriteBlock puts a pattern on a disk.
func (c *Client) WriteBlock(ctx context.Context, t wire.BlockTest) (wire.BlockTestResult, error) {
	return ask[wire.BlockTestResult](ctx, c, wire.OpBlockWrite, t)
}

// ReadBlock compares a disk with a pattern.
func (c *Client) ReadBlock(ctx context.Context, t wire.BlockTest) (wire.BlockTestResult, error) {
	return ask[wire.BlockTestResult](ctx, c, wire.OpBlockRead, t)
}

// Greet sets the guest's clock and gives it random numbers of its own.
func (c *Client) Greet(ctx context.Context) error {
	g := wire.Greet{Seed: make([]byte, 64)}
	if _, err := rand.Read(g.Seed); err != nil {
		return err
	}
	g.UnixNano = time.Now().UnixNano()
	return c.Do(ctx, wire.OpGreet, g, nil)
}

// System asks what the guest sees of its machine.
func (c *Client) System(ctx context.Context) (wire.System, error) {
	return ask[wire.System](ctx, c, wire.OpSystem, nil)
}

// PowerOff asks the guest to power itself off. It returns when the agent took note.
func (c *Client) PowerOff(ctx context.Context) error { return c.Do(ctx, wire.OpPowerOff, nil, nil) }

// Reboot asks the guest to restart itself.
func (c *Client) Reboot(ctx context.Context) error { return c.Do(ctx, wire.OpReboot, nil, nil) }

// Crash lets the guest's kernel panic.
func (c *Client) Crash(ctx context.Context) error { return c.Do(ctx, wire.OpCrash, nil, nil) }

func ask[T any](ctx context.Context, c *Client, op wire.Op, args any) (T, error) {
	var result T
	err := c.Do(ctx, op, args, &result)
	return result, err
}
