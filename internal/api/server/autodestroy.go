package server

import "context"

// owns has a guest that was started with StartAutodestroy end with the connection.
func (q *request) owns(d Domain, flags uint32, err error) {
	if err != nil || flags&StartAutodestroy == 0 {
		return
	}
	q.conn.mu.Lock()
	defer q.conn.mu.Unlock()
	q.conn.owned = append(q.conn.owned, d)
}

// endOwned ends the guests that end with the connection, which is over: no call of it runs any more. A daemon that ends
// first leaves that to the next one.
func (c *conn) endOwned() {
	c.mu.Lock()
	owned := c.owned
	c.mu.Unlock()
	for _, d := range owned {
		if err := c.srv.backend.EndRun(context.WithoutCancel(c.srv.ctx), d.UUID, d.ID); err != nil {
			c.srv.log.Error("end a guest whose client has gone", "domain", d.Name, "error", err)
		}
	}
}
