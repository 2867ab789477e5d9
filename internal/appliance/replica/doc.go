// Package replica makes changes to an image all at once or not at all: they go to a private copy that has no name, in the image's folder, which
// takes the image's name when all of them are made. The image itself is never written to, so whatever ends the process leaves it as it was, byte by
// byte, or the changed one in its place; a copy that did not come that far is gone with its last descriptor.
//
// Where the file system can share blocks between files (btrfs, xfs) a copy takes neither time nor room. Elsewhere it takes as much of both as the
// image has data; holes stay holes.
package replica
