// Package filtertest holds the suite that every nwfilter.Backend passes. It sends frames through a real bridge and taps, both
// ways, and compares what comes through with what the language says, and with nwfilter.Simulate where that is asked.
package filtertest
