package proto

import "context"

// Connect brings the appliance's NIC up and returns when it has an address. That can be asked for once. A network without a DHCP
// server has it wait until ctx ends. One whose NIC is missing is ENODEV.
func (c *Client) Connect(ctx context.Context, m Connect) (Link, error) {
	var l Link
	err := c.do(ctx, request{op: OpConnect, args: &m, result: &l})
	return l, err
}
