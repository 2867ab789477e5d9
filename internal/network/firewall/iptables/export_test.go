package iptables

import "time"

// SetInterval makes a Watch look more often.
func (f *Firewall) SetInterval(d time.Duration) { f.interval = d }
