package guest

import (
	"slices"
	"strings"
)

// OwnNode reports whether a block node of a running QEMU has a name that chain and flash give: a disk's target, the layer
// below, and what the node is for. What an administrator adds to a QEMU himself is his, and called otherwise.
func OwnNode(name string) bool {
	parts := strings.Split(name, "-")
	if len(parts) == 3 && strings.Trim(parts[1], "0123456789") == "" && parts[1] != "" {
		parts = slices.Delete(parts, 1, 2)
	}
	if len(parts) != 2 || !slices.Contains([]string{"storage", "format", "cor"}, parts[1]) {
		return false
	}
	if parts[0] == "pflash0" || parts[0] == "pflash1" {
		return true
	}
	for _, bus := range []string{"hd", "sd", "vd", "fd", "xvd", "ubd"} {
		if letters, ok := strings.CutPrefix(parts[0], bus); ok && letters != "" && strings.Trim(letters, "abcdefghijklmnopqrstuvwxyz") == "" {
			return true
		}
	}
	return false
}
