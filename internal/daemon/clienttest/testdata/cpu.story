# A processor like the host's is written down where it runs; one that the host cannot give is refused when it is to be
# checked, and otherwise runs without what is lacking.
$ define like.xml
Domain 'like' defined from like.xml
[exit 0]
$ dumpxml like --xpath //cpu
<cpu mode="host-model" check="partial">
  <feature policy="disable" name="svm"/>
</cpu>
[exit 0]
$ start like --paused
Domain 'like' started
[exit 0]
$ dumpxml like --xpath //cpu/@mode
 mode="custom"
[exit 0]
$ dumpxml like --xpath //cpu/@check
 check="full"
[exit 0]
$ dumpxml like --inactive --xpath //cpu
<cpu mode="host-model" check="partial">
  <feature policy="disable" name="svm"/>
</cpu>
[exit 0]
$ destroy like
Domain 'like' destroyed
[exit 0]
$ define checked.xml
Domain 'checked' defined from checked.xml
[exit 0]
$ start checked
error: Failed to start domain 'checked'
error: unsupported configuration: cannot start domain 'checked': the CPU does not fit this host, which does not give guests: avx512f; disable them, or use check='none'
[exit 1]
$ define unchecked.xml
Domain 'unchecked' defined from unchecked.xml
[exit 0]
$ start unchecked --paused
Domain 'unchecked' started
[exit 0]
$ dumpxml unchecked --xpath //cpu/@check
 check="full"
[exit 0]
$ dumpxml unchecked --xpath //cpu/feature[@name='osvw']
<feature policy="disable" name="osvw"/>
[exit 0]
$ destroy unchecked
Domain 'unchecked' destroyed
[exit 0]
$ hypervisor-cpu-compare all.xml --virttype qemu
CPU described in all.xml is identical to the CPU provided by hypervisor on the host
[exit 0]
$ hypervisor-cpu-compare martian.xml --virttype qemu
CPU described in martian.xml is incompatible with the CPU provided by hypervisor on the host
[exit 1]
$ hypervisor-cpu-compare martian.xml --virttype qemu --error
error: Failed to compare hypervisor CPU with martian.xml
error: the CPU is incompatible with host CPU: Host CPU does not provide required features: antennae
[exit 1]
$ hypervisor-cpu-compare old.xml --virttype qemu
The CPU provided by hypervisor on the host is a superset of CPU described in old.xml
[exit 0]
$ hypervisor-cpu-baseline old.xml --virttype qemu
<cpu mode='custom' match='exact'>
  <model fallback='forbid'>core2duo</model>
  <vendor>Intel</vendor>
  <feature policy='disable' name='monitor'/>
</cpu>
[exit 0]
$ hypervisor-cpu-compare old.xml --virttype xen
error: Failed to compare hypervisor CPU with old.xml
error: unsupported configuration: type='xen' is not implemented; use kvm or qemu
[exit 1]
$ hypervisor-cpu-compare none.xml --virttype qemu
error: Failed to compare hypervisor CPU with none.xml
error: unsupported configuration: cpu/model is not supported: the emulator has no model "abacus"; `virsh cpu-models x86_64` lists them
[exit 1]
-- all.xml --
<cpu mode='host-model'/>
-- old.xml --
<cpu><model>core2duo</model><feature policy='disable' name='monitor'/></cpu>
-- none.xml --
<cpu><model>abacus</model></cpu>
-- martian.xml --
<cpu mode='custom'><model>qemu64</model><feature policy='require' name='antennae'/></cpu>
-- like.xml --
<domain type='qemu'>
  <name>like</name>
  <memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='host-model'><feature policy='disable' name='svm'/></cpu>
</domain>
-- checked.xml --
<domain type='qemu'>
  <name>checked</name>
  <memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='custom' check='partial'><model>Nehalem</model><feature policy='require' name='avx512f'/></cpu>
</domain>
-- unchecked.xml --
<domain type='qemu'>
  <name>unchecked</name>
  <memory unit='MiB'>16</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='custom'><model>EPYC</model><topology sockets='1' cores='1' threads='1'/></cpu>
</domain>
