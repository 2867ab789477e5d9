// Package server speaks libvirt's remote protocol to any number of clients and hands what they ask to a Backend.
//
// What it guarantees: one client never holds up another; calls that answer from memory, and calls marked as priority in the
// protocol's table, pass calls that are stuck; an idle connection costs one goroutine and a small buffer; a client that
// does not read its events is disconnected; a panic ends one call; Shutdown returns when everything the server started
// has ended.
//
// What it refuses: file descriptors in messages (SUPPORTS_FEATURE says so), authentication (sockets are guarded by their
// mode and group), and, on a read-only connection, every call that is not marked read-only in the table.
package server
