package pool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"taproom/internal/host"
)

// What a pool does when nobody says otherwise, and how many may wait at most.
const (
	DefaultSize = 4
	MostSize    = 1000
	DefaultIdle = 5 * time.Minute
)

// measureEvery is how often a pool looks at the host's memory when nothing else makes it look.
const measureEvery = 2 * time.Second

// Config is a pool to run.
type Config struct {
	Kernel *host.Kernel
	Order  Order
	Place  Place
	Size   int           // how many wait
	Idle   time.Duration // 0 is for ever
	Ready  func() error  // called when it can be asked, before anything waits
}

// ErrServed says that there is such a pool already.
var ErrServed = errors.New("such a pool runs already")

// Run is the pool's process: it returns when ctx is done, when nobody has asked for a while, or when a client has it end. Clones
// that wait have ended then, and what was handed out lives on.
func Run(ctx context.Context, c Config) (err error) {
	k := c.Kernel
	if err := c.Place.prepare(k); err != nil {
		return fmt.Errorf("run a pool of appliances: %w", err)
	}
	f, err := c.Place.listen(ctx, k)
	if err != nil {
		return fmt.Errorf("run a pool of appliances: %w", err)
	}
	listener, err := net.FileListener(f)
	_ = f.Close()
	if err != nil {
		return fmt.Errorf("run a pool of appliances: %w", err)
	}
	defer listener.Close()
	if err := c.Ready(); err != nil {
		return err
	}
	maker := &maker{spec: c.Order.Spec(k)}
	defer func() { err = errors.Join(err, maker.close()) }()
	look := time.NewTicker(measureEvery)
	defer look.Stop()
	stock := NewStock(ctx, StockConfig{
		Make: maker.make, Room: k.MemoryRoom, Memory: c.Order.Memory << 20, Size: c.Size, Launchers: runtime.NumCPU(), Look: look.C,
	})
	defer stock.Close()
	s := &Server{Kernel: k, Listener: listener, Stock: stock, Idle: c.Idle, Leave: func() { c.Place.leave(ctx, k) }}
	return s.Serve(ctx)
}
