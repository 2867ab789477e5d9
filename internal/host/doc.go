// Package host is the Linux kernel and nothing else: links, addresses, taps, sysctls, cgroups, processes, sockets and
// files. It knows no network, no guest and no policy.
//
// Every call that can change or observe the host goes through a Kernel and announces itself to the Kernel's hook first.
// That is what lets a test end the daemon at every single call.
package host
