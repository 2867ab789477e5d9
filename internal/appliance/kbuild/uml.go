package kbuild

import (
	"bytes"
	_ "embed" // the configuration and the device
	"slices"
)

//go:embed config/uml.config
var umlFragment []byte

//go:embed uml/appliance.c
var umlDevice []byte

// UML is the kernel of appliances that are a process of User-Mode Linux: the same file systems, RAID, LVM and LUKS, nothing of a
// machine, and nothing of the host but what it inherits. It is a static program.
func UML() Config {
	return Config{
		Name: "uml", Fragment: slices.Concat(section("What programs need"), section("RAID, LVM, LUKS"), section("File systems"), umlFragment),
		steps: 1400, arch: "um", edits: umlEdits(),
	}
}

// section is a part of the configuration of appliances, by the beginning of its heading.
func section(heading string) []byte {
	_, rest, _ := bytes.Cut(applianceFragment, []byte("\n# "+heading))
	part, _, _ := bytes.Cut(rest, []byte("\n# "))
	return append(bytes.TrimSpace(bytes.TrimLeft(part, "\n")), '\n')
}

// umlEdits have the kernel take files as descriptors: a user of its own could not open what another one let it have. Its memory is a
// file without a name, wherever it may write, and the agent's line and disks come by a device of ours.
func umlEdits() []edit {
	return []edit{
		{
			file: "arch/um/os-Linux/file.c",
			old:  "\tfd = open64(file, f, mode);\n",
			with: "\tif (sscanf(file, \"/proc/self/fd/%d\", &fd) == 1)\n\t\tfd = fcntl(fd, F_DUPFD_CLOEXEC, 3);\n\telse\n\t\tfd = open64(file, f, mode);\n",
		},
		{
			file: "arch/um/os-Linux/file.c",
			old:  "int os_connect_socket(const char *name)\n",
			with: "int os_place_fd(int fd, int at)\n{\n\tif (fd == at)\n\t\treturn 0;\n\tif (dup3(fd, at, O_CLOEXEC) < 0)\n\t\treturn -errno;\n\tclose(fd);\n\treturn 0;\n}\n\n" +
				"int os_connect_socket(const char *name)\n",
		},
		{
			file: "arch/um/include/shared/os.h",
			old:  "extern int os_connect_socket(const char *name);\n",
			with: "extern int os_connect_socket(const char *name);\nextern int os_place_fd(int fd, int at);\n",
		},
		{
			file: "arch/um/os-Linux/mem.c",
			old:  "static int __init make_tempfile(const char *template)\n{\n\tchar *tempname;\n\tint fd;\n",
			with: "static int __init make_tempfile(const char *template)\n{\n\tchar *tempname;\n\tint fd;\n\n\tfd = memfd_create(\"memory\", MFD_CLOEXEC);\n\tif (fd >= 0)\n\t\treturn fd;\n",
		},
		{ // who dies with its parent must not miss that it has died already: the parent is the session's first process
			file: "arch/um/os-Linux/process.c",
			old:  "\tprctl(PR_SET_PDEATHSIG, SIGKILL);\n",
			with: "\tprctl(PR_SET_PDEATHSIG, SIGKILL);\n\tif (getppid() != getsid(0))\n\t\t_exit(1);\n",
		},
		{ // a flush has no data to go through, and would be answered without reaching the host
			file: "arch/um/drivers/ubd_kern.c",
			old:  "\t\t\tfor (i = 0; !req->error && i < req->desc_cnt; i++)\n\t\t\t\tdo_io(req, &(req->io_desc[i]));\n",
			with: "\t\t\tif (req_op(req->req) == REQ_OP_FLUSH)\n\t\t\t\treq->error = map_error(-os_sync_file(req->fds[1]));\n" +
				"\t\t\tfor (i = 0; !req->error && i < req->desc_cnt; i++)\n\t\t\t\tdo_io(req, &(req->io_desc[i]));\n",
		},
		{file: "arch/um/drivers/appliance.c", with: string(umlDevice)},
		{file: "arch/um/drivers/ubd_kern.c", with: "\n#include \"appliance.c\"\n"},
	}
}
