// Package healtest holds that networks heal: whatever somebody does to their rules, bridges and settings is put back as it
// was, while a connection through them lives on. It has tests only.
package healtest
