// Package pool keeps disposable appliances ready, so that one is there when it is asked for.
//
// A pool is a process of the user's own (taproom appliance pool), one for each kind of appliance. Whoever asks first starts
// it, and it ends by itself when nobody has asked for a while. It keeps a few clones that nobody has used, and hands each out
// once, as descriptors over its socket: from then on it is the caller's. Nothing is ever taken back.
//
// What keeps an appliance's QEMU alive is the writing end of a pipe (its leash). The pool alone holds that of a clone that
// waits, so all of them end with the pool, however that ends. With a clone that is handed out its leash goes too, and the
// pool keeps no copy: it ends with its owner, and the end of the pool does nothing to it.
//
// How many wait is a wish. Before each launch the memory is measured that the host has left (package admission), and clones
// that wait are ended when it becomes scarce.
package pool
