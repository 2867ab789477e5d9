package bench

import (
	"context"
	"sync"

	"taproom/internal/appliance/admission"
	"taproom/internal/appliance/launch"
	"taproom/internal/host"
)

// crowd is the appliances that are alive while others come and go, as many as there is memory for.
type crowd struct {
	room   func() (host.MemoryRoom, error)
	memory uint64 // bytes of an appliance, which one is thought to take until one was measured

	mu    sync.Mutex
	some  sync.Cond // waits for one to start or leave
	alive int
	young int    // whose memory does not show yet
	most  uint64 // bytes, the most that was measured of one
}

func newCrowd(room func() (host.MemoryRoom, error), memory uint64) *crowd {
	c := &crowd{room: room, memory: memory}
	c.some.L = &c.mu
	return c
}

// enter returns when there is memory for one more: at once, or when others have started or left. Where nobody is there who could leave it
// is an *admission.NoRoom.
func (c *crowd) enter(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.some.Broadcast()
	})
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for ctx.Err() == nil {
		room, err := c.room()
		if err != nil {
			return err
		}
		each := c.most
		if each == 0 {
			each = c.memory
		}
		err = admission.Ledger{Room: room, Each: each, Starting: c.young}.Admit()
		if err == nil {
			c.alive++
			c.young++
			return nil
		}
		if c.alive == 0 {
			return err
		}
		c.some.Wait()
	}
	return context.Cause(ctx)
}

// started is called once for each that has entered, when its launch is over: what it takes then shows in the host's memory.
func (c *crowd) started() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young--
	c.some.Broadcast()
}

// measure notes how much memory an appliance takes that has done its work.
func (c *crowd) measure(a *launch.Appliance) {
	pss, _ := a.PSS() // one that has died takes nothing
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = max(c.most, pss)
}

// leave is called once for each that has entered, when it takes nothing any more.
func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alive--
	c.some.Broadcast()
}
