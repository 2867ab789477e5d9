// Package badinput holds tests: what a daemon and the command line make of documents, messages, emulators, disks, state
// files and surroundings that are broken or hostile. Each bad thing is done beside a guest and a network that are well;
// the answer must name the object, what was tried and how to fix it, and nothing else may have changed.
package badinput
