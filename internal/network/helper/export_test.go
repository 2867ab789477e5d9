package helper

import "taproom/internal/spec"

// Keeps reports whether the daemon holds a network's packet socket too.
func (h *Helper) Keeps(id spec.UUID) bool { return h.kept.has(id) }
