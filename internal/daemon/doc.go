// Package daemon puts the rooms together: settings, sockets, the engine behind them, and an orderly end.
package daemon
