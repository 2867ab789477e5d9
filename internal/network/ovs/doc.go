// Package ovs plugs taps into Open vSwitch, through its database: what state plans becomes one transaction, and the switch
// is waited for as ovs-vsctl does. Every call is bounded in time. Ports are known as ours by labels in their rows
// (external_ids of Port); what others write into rows of ours stays.
package ovs
