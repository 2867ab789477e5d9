package nfttest

import "strings"

// Listed is what nft lists, in the words of nft 1.0: that of 1.1 has a name for the priority of dstnat at the output hook too.
func Listed(out string) string {
	return strings.ReplaceAll(out, "hook output priority dstnat;", "hook output priority -100;")
}
