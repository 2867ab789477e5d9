// Package inspect says which operating system is in a tree of files: its distribution, version, architecture, host name, packages,
// mount points, boot loaders, kernels and init. It only reads, through fs.FS: a mounted image (disk.Appliance.FS), an os.Root, or a test's map.
//
// Whoever made the tree is not trusted. Of each file and folder no more is read than a bound says, symbolic links are followed a bounded
// number of times and within the tree alone, and what cannot be read or makes no sense is a Problem of its own beside what was found: only a tree
// without any system is an error. Strings come as they are in the tree, at most 4096 bytes each, and may hold control characters.
//
// Linux (Debian, Ubuntu, Fedora, RHEL, SUSE, Alpine, Arch, NixOS and their relatives), FreeBSD and Windows are known. Databases of
// packages are read without the programs that wrote them: dpkg, rpm (SQLite and ndb), apk, pacman, the Nix store, FreeBSD's pkg, and what
// Windows lists as installed.
package inspect
