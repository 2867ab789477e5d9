// Package launch makes disposable appliances: small machines, each in a QEMU of its own, that open disk images on behalf of
// a caller who does not trust them. An appliance belongs to the process that launched it. It has no name, no file and, unless
// that is asked for, no network, it ends with its owner however that ends, and it is never used for a second caller.
//
// A cold appliance boots. A clone begins where a template stopped: a machine of the same making that was booted once and
// kept, its memory in one file that all clones map privately. Open makes ready what launches share, Launch does both for one.
package launch
