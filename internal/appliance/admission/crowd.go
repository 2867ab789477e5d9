package admission

import (
	"context"
	"sync"

	"taproom/internal/host"
)

// Crowd is the appliances that are alive while others come and go, as many as there is memory for. Its methods may be called at the same time.
type Crowd struct {
	room   func() (host.MemoryRoom, error)
	memory uint64 // bytes of an appliance, which one is thought to take until one was measured

	mu    sync.Mutex
	some  sync.Cond // waits for one to start or leave
	alive int
	young int    // whose memory does not show yet
	most  uint64 // bytes, the most that was measured of one
}

// NewCrowd makes a crowd of nobody. room measures the memory that there is; memory is what an appliance has of it, in bytes.
func NewCrowd(room func() (host.MemoryRoom, error), memory uint64) *Crowd {
	c := &Crowd{room: room, memory: memory}
	c.some.L = &c.mu
	return c
}

// Enter returns when there is memory for one more: at once, or when others have started or left. Where nobody is there who could leave it
// is an *NoRoom.
func (c *Crowd) Enter(ctx context.Context) error {
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
		err = Ledger{Room: room, Each: each, Starting: c.young}.Admit()
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

// Started is called once for each that has entered, when its launch is over: what it takes then shows in the host's memory.
func (c *Crowd) Started() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young--
	c.some.Broadcast()
}

// Measure notes how many bytes of memory an appliance takes that has done its work.
func (c *Crowd) Measure(pss uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = max(c.most, pss)
}

// Leave is called once for each that has entered, when it takes nothing any more.
func (c *Crowd) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alive--
	c.some.Broadcast()
}

// Most is the most that was measured of one, in bytes; 0 where none was.
func (c *Crowd) Most() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most
}
