// Package uml is one disposable appliance as a process of User-Mode Linux: the kernel that kbuild.UML describes, its command line,
// what it may do on the host, and the disks that are plugged into it while it runs. It knows no image formats: disks are raw files.
//
// The guest's kernel is a process of the host. Its programs are processes too, traced by it: each of their system calls is taken from
// them before the host sees it. So what keeps a hostile guest from the host is what that process is allowed.
package uml
