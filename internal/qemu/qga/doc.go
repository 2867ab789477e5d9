// Package qga talks to qemu-ga, the agent that distributions install in their guests (QEMU's docs/interop/qemu-ga-ref.rst):
// JSON objects, one after the other, over a serial port.
//
// The other end is the guest's: it may be gone, slow, of any age, or taken over. So each conversation begins with a
// guest-sync-delimited, which tells old answers from new ones; an answer is bounded in length, and waiting for one by the
// caller's context. What an answer says is the guest's claim and nothing more.
package qga
