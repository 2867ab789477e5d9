// Package emutest bounds what tests wait for an emulated machine, by how fast this host emulates: a package run boots a
// reference guest once, and every limit is a multiple of that time. Slots shared by all test processes of a user bound how many
// machines boot at once.
//
// Without KVM a guest boots in seconds on an idle host, and in minutes on a loaded one. A deadline in absolute seconds is then
// either too short or hides a hang. A machine that stands still is noticed earlier: a wait that is given a Progress ends halfway
// when the machine neither writes to its console nor has events.
package emutest
