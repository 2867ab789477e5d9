package guesttest

import (
	_ "embed"
	"strings"
)

// elements are the elements and attributes of libvirt's domain format, one path to a line: facts, as libvirt's own Go
// module (libvirt.org/go/libvirtxml 1.12007) has them in the tags of its types, without what repeats itself in depth.
//
//go:embed elements.txt
var elements string

// Elements lists what libvirt's domain documents may hold, sorted: an element comes before what is in it.
func Elements() []string { return strings.Fields(elements) }

// others are documents' parts outside of <devices>, by what they are a context for.
var others = map[string][]string{
	"clock/timer":                     {`<clock offset='utc'><timer name='rtc' tickpolicy='catchup' track='guest'/></clock>`, `<clock offset='utc'><timer name='pit' tickpolicy='delay'/></clock>`, `<clock offset='utc'><timer name='hpet' present='no'/></clock>`, `<clock offset='utc'><timer name='tsc' frequency='1000000000'/></clock>`},
	"memoryBacking/hugepages/page":    {`<memoryBacking><hugepages><page size='2048' unit='KiB' nodeset='0'/></hugepages></memoryBacking><cpu><numa><cell id='0' cpus='0-1' memory='65536'/></numa></cpu>`},
	"features/hyperv/vendor_id":       {`<features><acpi/><hyperv mode='custom'><vendor_id state='on' value='abc'/></hyperv></features>`},
	"features/hyperv/synic":           {`<features><acpi/><hyperv mode='custom'><vpindex state='on'/><synic state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/vpindex":         {`<features><acpi/><hyperv mode='custom'><vpindex state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/vapic":           {`<features><acpi/><hyperv mode='custom'><vapic state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/relaxed":         {`<features><acpi/><hyperv mode='custom'><relaxed state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/xmm_input":       {`<features><acpi/><hyperv mode='custom'><xmm_input state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/tlbflush":        {`<features><acpi/><hyperv mode='custom'><vpindex state='on'/><synic state='on'/><tlbflush state='on'><direct state='on'/><extended state='on'/></tlbflush></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/stimer":          {`<features><acpi/><hyperv mode='custom'><vpindex state='on'/><synic state='on'/><stimer state='on'><direct state='on'/></stimer></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/runtime":         {`<features><acpi/><hyperv mode='custom'><runtime state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/reset":           {`<features><acpi/><hyperv mode='custom'><reset state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/reenlightenment": {`<features><acpi/><hyperv mode='custom'><reenlightenment state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/ipi":             {`<features><acpi/><hyperv mode='custom'><vpindex state='on'/><synic state='on'/><ipi state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/frequencies":     {`<features><acpi/><hyperv mode='custom'><frequencies state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/evmcs":           {`<features><acpi/><hyperv mode='custom'><evmcs state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/emsr_bitmap":     {`<features><acpi/><hyperv mode='custom'><emsr_bitmap state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"features/hyperv/avic":            {`<features><acpi/><hyperv mode='custom'><avic state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`},
	"sysinfo/entry":                   {`<sysinfo type='fwcfg'><entry name='opt/x'>y</entry></sysinfo>`, `<sysinfo type='fwcfg'><entry name='opt/x' file='/img/x'/></sysinfo>`},
	"os/smbios":                       {`<os><type arch='x86_64' machine='q35'>hvm</type><smbios mode='sysinfo'/></os><sysinfo type='smbios'><system><entry name='manufacturer'>x</entry></system></sysinfo>`},
	"os/bootmenu":                     {`<os><type arch='x86_64' machine='q35'>hvm</type><bootmenu enable='yes' timeout='3000'/></os>`},
	"memtune":                         {`<memtune><hard_limit unit='MiB'>512</hard_limit><soft_limit unit='MiB'>256</soft_limit><swap_hard_limit unit='MiB'>1024</swap_hard_limit></memtune>`},
	"currentMemory":                   {`<currentMemory unit='KiB'>32768</currentMemory>`},
	"cpu/numa/cell/distances":         {`<cpu><numa><cell id='0' cpus='0' memory='32768'><distances><sibling id='1' value='21'/></distances></cell><cell id='1' cpus='1' memory='32768'/></numa></cpu>`},
	"cpu/maxphysaddr":                 {`<cpu mode='maximum'><maxphysaddr mode='emulate' bits='42'/></cpu>`},
	"cpu/topology":                    {`<vcpu>8</vcpu><cpu mode='maximum'><topology sockets='2' dies='2' cores='1' threads='2'/></cpu>`},
	"cpu/cache":                       {`<cpu mode='maximum'><cache mode='emulate' level='3'/></cpu>`, `<cpu mode='custom' match='exact'><model>qemu64</model><cache mode='emulate' level='3'/></cpu>`},
	"os":                              {`<os><type arch='x86_64' machine='q35'>hvm</type><boot dev='hd'/></os>`, `<os firmware='efi'><type arch='x86_64' machine='q35'>hvm</type></os>`, `<os><type arch='x86_64' machine='q35'>hvm</type><kernel>/img/kernel</kernel><initrd>/img/initrd</initrd></os>`},
	"os/nvram":                        {`<os><type arch='x86_64' machine='q35'>hvm</type><loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader><nvram type='file'><source file='/img/vars.fd'/></nvram></os>`, `<os><type arch='x86_64' machine='q35'>hvm</type><loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader><nvram template='/usr/share/OVMF/OVMF_VARS_4M.fd'>/img/vars.fd</nvram></os>`},
	"os/firmware":                     {`<os firmware='efi'><type arch='x86_64' machine='q35'>hvm</type><firmware><feature enabled='no' name='secure-boot'/></firmware></os>`},
	"os/loader": {
		`<os><type arch='x86_64' machine='q35'>hvm</type><loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader></os>`,
		`<os><type arch='x86_64' machine='q35'>hvm</type><loader type='rom'>/usr/share/seabios/bios-256k.bin</loader></os>`,
	},
	"cpu":                   {`<cpu mode='custom' match='exact'><model fallback='forbid'>qemu64</model><topology sockets='1' cores='2' threads='1'/><feature policy='require' name='aes'/></cpu>`, `<cpu mode='maximum'/>`},
	"cpu/numa":              {`<cpu><numa><cell id='0' cpus='0' memory='32768'/><cell id='1' cpus='1' memory='32768'/></numa></cpu>`, `<memoryBacking><source type='memfd'/></memoryBacking><cpu><numa><cell id='0' cpus='0' memory='32768'/><cell id='1' cpus='1' memory='32768'/></numa></cpu>`},
	"clock":                 {`<clock offset='utc'><timer name='rtc'/></clock>`, `<clock offset='variable'/>`, `<clock offset='absolute' start='0'/>`, `<clock offset='timezone' timezone='Europe/Prague'/>`, `<clock offset='utc'><timer name='tsc'/></clock>`, `<clock offset='utc'><timer name='hpet'/></clock>`},
	"seclabel":              {`<seclabel type='dynamic' model='dac'/>`, `<seclabel type='none'/>`},
	"sysinfo":               {`<os><type arch='x86_64' machine='q35'>hvm</type><smbios mode='sysinfo'/></os><sysinfo type='smbios'><system><entry name='manufacturer'>x</entry></system></sysinfo>`, `<sysinfo type='fwcfg'><entry name='opt/x'>y</entry></sysinfo>`},
	"memoryBacking":         {`<memoryBacking/>`, `<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>`, `<memoryBacking><hugepages><page size='2048'/></hugepages></memoryBacking>`},
	"maxMemory":             {`<maxMemory slots='4' unit='MiB'>256</maxMemory><cpu><numa><cell id='0' cpus='0-1' memory='65536'/></numa></cpu>`},
	"iothreads":             {`<iothreads>2</iothreads>`},
	"iothreadids":           {`<iothreads>1</iothreads><iothreadids><iothread id='1'/></iothreadids>`},
	"numatune":              {`<numatune><memory mode='strict' nodeset='0'/></numatune>`, `<numatune><memnode cellid='0' mode='strict' nodeset='0'/></numatune><cpu><numa><cell id='0' cpus='0-1' memory='65536'/></numa></cpu>`},
	"cputune/vcpupin":       {`<cputune><vcpupin vcpu='0' cpuset='0'/></cputune>`},
	"cputune/iothreadpin":   {`<iothreads>1</iothreads><cputune><iothreadpin iothread='1' cpuset='0'/></cputune>`},
	"cputune/iothreadsched": {`<iothreads>1</iothreads><cputune><iothreadsched iothreads='1' scheduler='batch'/></cputune>`},
	"cputune/emulatorpin":   {`<cputune><emulatorpin cpuset='0'/></cputune>`},
	"cputune/vcpusched":     {`<cputune><vcpusched vcpus='0' scheduler='fifo' priority='1'/></cputune>`},
	"cputune/emulatorsched": {`<cputune><emulatorsched scheduler='batch'/></cputune>`},
	"blkiotune/device":      {`<blkiotune><device><path>/dev/sda</path><weight>500</weight></device></blkiotune>`},
	"vcpus":                 {`<vcpus><vcpu id='0' enabled='yes' hotpluggable='no'/><vcpu id='1' enabled='yes' hotpluggable='yes'/></vcpus>`},
	"features/kvm":          {`<features><acpi/><kvm><hidden state='on'/></kvm></features>`},
	"features/hyperv":       {`<features><acpi/><hyperv mode='custom'><relaxed state='on'/><vapic state='on'/><vpindex state='on'/><synic state='on'/></hyperv></features><clock offset='utc'><timer name='hypervclock' present='yes'/></clock>`, `<features><acpi/><hyperv mode='custom'><spinlocks state='on' retries='8191'/></hyperv></features>`},
	"features/tcg":          {`<features><acpi/><tcg><tb-cache unit='MiB'>128</tb-cache></tcg></features>`},
	"qemu:commandline":      {`<qemu:commandline><qemu:arg value='-no-hpet'/><qemu:env name='A' value='b'/></qemu:commandline>`},
}

// devices are devices that are whole, by kind; the first ones are the simplest.
var devices = map[string][]string{
	"disk": {
		`<controller type='scsi' index='0' model='virtio-scsi'/><disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='/img/a.raw'/><target dev='sdb' bus='scsi'/><address type='drive' controller='0' bus='0' target='0' unit='3'/></disk>`, `<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='/img/a.qcow2'/><target dev='vda' bus='virtio'/></disk>`,
		`<disk type='file' device='cdrom'><source file='/img/a.iso'/><target dev='sda' bus='sata'/></disk>`,
		`<disk type='block' device='disk'><source dev='/dev/sdx'/><target dev='sda' bus='scsi'/></disk>`,
		`<disk type='network' device='disk'><source protocol='nbd' name='x'><host name='localhost' port='10809'/></source><target dev='vda' bus='virtio'/></disk>`,
		`<disk type='network' device='disk'><source protocol='https' name='x'><host name='localhost' port='443'/></source><target dev='vda' bus='virtio'/></disk>`,
		`<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='/img/a.qcow2'/><backingStore type='file'><format type='qcow2'/><source file='/img/b.qcow2'/></backingStore><target dev='vda' bus='virtio'/></disk>`,
	},
	"controller": {
		`<controller type='scsi' index='0' model='virtio-scsi'/>`,
		`<controller type='virtio-serial' index='0'/>`,
		`<controller type='usb' index='0' model='qemu-xhci'/>`,
		`<controller type='pci' index='1' model='pcie-root-port'><model name='ioh3420'/><target chassis='7' port='0x8' hotplug='off'/></controller><controller type='pci' index='0' model='pcie-root'/>`,
	},
	"filesystem": {
		`<filesystem type='mount'><driver type='virtiofs'/><source dir='/img'/><target dir='share'/></filesystem>`,
		`<filesystem type='mount' accessmode='mapped'><source dir='/img'/><target dir='share'/></filesystem>`,
		`<filesystem type='mount'><driver type='virtiofs'/><source socket='/img/sock'/><target dir='share'/></filesystem>`,
	},
	"interface": {
		`<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br0'/><model type='virtio'/><link state='down'/><mtu size='1400'/><boot order='1'/><alias name='ua-x'/><address type='pci' domain='0x0000' bus='0x00' slot='0x09' function='0x0' multifunction='on'/></interface>`, `<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br0'/><model type='virtio'/></interface>`,
		`<interface type='network'><source network='default'/><model type='virtio'/></interface>`,
		`<interface type='user'><model type='virtio'/></interface>`,
		`<interface type='direct'><source dev='eth0' mode='bridge'/><model type='virtio'/></interface>`,
		`<interface type='network'><source network='default'/><bandwidth><inbound average='1000' peak='2000' burst='100' floor='100'/><outbound average='1000' peak='2000' burst='100'/></bandwidth><model type='virtio'/></interface>`,
		`<interface type='user'><backend type='passt'/><model type='virtio'/></interface>`,
		`<interface type='bridge'><source bridge='br0'/><vlan><tag id='7'/></vlan><virtualport type='openvswitch'/><model type='virtio'/></interface>`,
		`<interface type='bridge'><source bridge='br0'/><filterref filter='clean-traffic'><parameter name='IP' value='192.0.2.7'/></filterref><model type='virtio'/></interface>`,
		`<interface type='udp'><source address='127.0.0.1' port='7'><local address='127.0.0.1' port='9'/></source><model type='virtio'/></interface>`,
	},
	"smartcard": {`<graphics type='spice' autoport='yes'/><smartcard mode='passthrough' type='spicevmc'/>`},
	"serial": {
		`<serial type='pty'><target type='isa-serial' port='0'><model name='isa-serial'/></target></serial>`, `<serial type='pty'><target type='isa-serial' port='0'/></serial>`, `<serial type='unix'><source mode='bind' path='/img/s'/></serial>`,
		`<serial type='file'><source path='/img/s'/></serial>`, `<serial type='tcp'><source mode='bind' host='127.0.0.1' service='4555'/><protocol type='raw'/></serial>`,
	},
	"parallel": {`<parallel type='tcp'><source mode='bind' host='127.0.0.1' service='4555'/><protocol type='raw'/></parallel>`, `<parallel type='file'><source path='/img/p'/><target port='0'/></parallel>`, `<parallel type='pty'/>`},
	"console":  {`<console type='tcp'><source mode='bind' host='127.0.0.1' service='4555'/><protocol type='raw'/><target type='virtio'/></console>`, `<console type='pty'><target type='virtio'/></console>`, `<console type='unix'><source mode='bind' path='/img/s'/><target type='virtio'/></console>`},
	"channel": {
		`<channel type='unix'><source mode='bind' path='/img/s'/><target type='virtio' name='a'/><address type='virtio-serial' controller='0' bus='0' port='3'/></channel>`, `<channel type='tcp'><source mode='bind' host='127.0.0.1' service='4555'/><protocol type='raw'/><target type='virtio' name='a'/></channel>`, `<channel type='qemu-vdagent'><source><clipboard copypaste='yes'/><mouse mode='client'/></source><target type='virtio' name='com.redhat.spice.0'/></channel>`, `<channel type='unix'><source mode='bind' path='/img/s'/><target type='virtio' name='a'/></channel>`,
		`<channel type='pty'><target type='virtio' name='a'/></channel>`, `<graphics type='spice' autoport='yes'/><channel type='spicevmc'><target type='virtio' name='com.redhat.spice.0'/></channel>`,
	},
	"input":       {`<input type='tablet' bus='usb'><address type='usb' bus='0' port='3'/></input>`, `<input type='tablet' bus='usb'/>`, `<input type='keyboard' bus='virtio'/>`},
	"tpm":         {`<tpm model='tpm-crb'><backend type='emulator' version='2.0'/></tpm>`, `<tpm model='tpm-tis'><backend type='external'><source type='unix' mode='connect' path='/img/s'/></backend></tpm>`},
	"graphics":    {`<graphics type='vnc' port='-1' autoport='yes' passwd='x' passwdValidTo='2030-01-31T23:59:59' keymap='de' sharePolicy='ignore'/>`, `<graphics type='vnc' port='-1' autoport='yes'/>`, `<graphics type='spice' autoport='yes'/>`, `<graphics type='vnc' port='5900' autoport='no'/>`, `<graphics type='vnc'><listen type='address' address='127.0.0.1'/></graphics>`, `<graphics type='vnc'><listen type='network' network='default'/></graphics>`, `<graphics type='vnc'><listen type='socket'/></graphics>`, `<graphics type='vnc'><audio id='1'/></graphics><audio id='1' type='none'/>`, `<graphics type='spice' port='5901'><channel name='main' mode='any'/></graphics>`},
	"sound":       {`<sound model='usb' multichannel='yes'/>`, `<sound model='virtio' streams='2'/>`, `<sound model='ich9'><audio id='1'/></sound><audio id='1' type='none'/>`, `<sound model='ich9'/>`, `<sound model='ac97'/>`},
	"audio":       {`<graphics type='vnc'><audio id='1'/></graphics><audio id='1' type='none'/>`, `<graphics type='spice' autoport='yes'/><sound model='ich9'/><audio id='1' type='spice'/>`},
	"video":       {`<video><model type='virtio' heads='1' primary='yes'><resolution x='800' y='600'/></model></video>`, `<video><model type='virtio'/></video>`, `<video><model type='qxl'/></video>`, `<video><model type='vga'/></video>`},
	"hostdev":     {`<hostdev mode='subsystem' type='pci' managed='yes'><source><address domain='0' bus='0' slot='2' function='0'/></source></hostdev>`},
	"redirdev":    {`<redirdev bus='usb' type='tcp'><source mode='bind' host='127.0.0.1' service='4555'/><protocol type='raw'/></redirdev>`, `<graphics type='spice' autoport='yes'/><redirdev bus='usb' type='spicevmc'><boot order='1'/></redirdev>`},
	"redirfilter": {`<graphics type='spice' autoport='yes'/><redirdev bus='usb' type='spicevmc'/><redirfilter><usbdev allow='yes'/></redirfilter>`},
	"hub":         {`<hub type='usb'/>`},
	"watchdog":    {`<watchdog model='i6300esb' action='reset'/>`},
	"memballoon":  {`<memballoon model='virtio' autodeflate='on' freePageReporting='on'><stats period='5'/></memballoon>`, `<memballoon model='virtio'/>`},
	"rng":         {`<rng model='virtio'><rate bytes='1024' period='2000'/><backend model='builtin'/></rng>`, `<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>`, `<rng model='virtio'><backend model='builtin'/></rng>`},
	"nvram":       {`<nvram/>`},
	"panic":       {`<panic model='isa'/>`},
	"shmem":       {`<shmem name='x'><model type='ivshmem-plain'/><size unit='M'>4</size></shmem>`},
	"memory":      {`<memory model='dimm'><source><pagesize unit='KiB'>4</pagesize></source><target><size unit='KiB'>131072</size><node>0</node></target></memory>`, `<memory model='dimm'><target><size unit='KiB'>131072</size><node>0</node></target><address type='dimm' slot='1' base='0x100000000'/></memory>`, `<memory model='dimm'><target><size unit='KiB'>131072</size><node>0</node></target></memory>`},
	"iommu":       {`<iommu model='intel'/>`},
	"vsock":       {`<vsock model='virtio'><cid auto='no' address='3'/></vsock>`, `<vsock model='virtio'><cid auto='yes'/></vsock>`},
	"crypto":      {`<crypto model='virtio' type='qemu'><backend model='builtin' queues='1'/></crypto>`},
	"pstore":      {`<pstore backend='acpi-erst'><path>/img/p</path><size unit='KiB'>8</size></pstore>`},
	"lease":       {`<lease><lockspace>x</lockspace><key>y</key><target path='/img/l'/></lease>`},
}

// beside is what the kinds of devices that need outside of <devices>: memory that is laid out, or shared.
var beside = map[string]string{
	"filesystem": `<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>`,
	"memory":     `<maxMemory slots='4' unit='MiB'>512</maxMemory><cpu><numa><cell id='0' cpus='0-1' memory='65536'/></numa></cpu>`,
}

const (
	head      = `<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><name>x</name><uuid>00000000-0000-4000-8000-000000000001</uuid><memory unit='KiB'>65536</memory><vcpu>2</vcpu>`
	plainOS   = `<os><type arch='x86_64' machine='q35'>hvm</type></os>`
	plainFeat = `<features><acpi/><apic/></features>`
)

// Contexts are the documents that a path can be tried in, simplest first.
func Contexts(path string) []string {
	var out []string
	if kind, ok := strings.CutPrefix(path, "devices/"); ok {
		kind, _, _ = strings.Cut(kind, "/")
		for _, d := range devices[kind] {
			out = append(out, head+plainOS+plainFeat+beside[kind]+"<devices>"+d+"</devices></domain>")
		}
		if len(out) > 0 {
			return out
		}
	}
	for at := path; at != ""; {
		for _, part := range others[at] {
			out = append(out, assemble(part))
		}
		i := strings.LastIndexByte(at, '/')
		at = at[:max(i, 0)]
	}
	return append(out, assemble(""))
}

// Others are the same documents on machine pc, for what cannot be on q35.
func Others(path string) []string {
	out := Contexts(path)
	for i := range out {
		out[i] = strings.Replace(out[i], "machine='q35'", "machine='pc'", 1)
	}
	return out
}

// assemble is a whole document with a part that may replace its own.
func assemble(part string) string {
	doc := head
	if strings.Contains(part, "<vcpu>") {
		doc = strings.Replace(doc, "<vcpu>2</vcpu>", "", 1)
	}
	if !strings.Contains(part, "<os") {
		doc += plainOS
	}
	if !strings.Contains(part, "<features") {
		doc += plainFeat
	}
	return doc + part + "<devices></devices></domain>"
}
