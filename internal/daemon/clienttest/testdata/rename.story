# A guest that does not run can have another name. All that is its own follows.
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
$ define other.xml
Domain 'other' defined from other.xml
[exit 0]
$ autostart guest
Domain 'guest' marked as autostarted
[exit 0]
$ desc guest --config Said of it
Domain description updated successfully
[exit 0]
$ domrename guest guest
error: Requested operation is not valid: domain 'guest' has that name already
[exit 1]
$ domrename guest other
error: Requested operation is not valid: domain with name 'other' already exists, with uuid 00000000-0000-4000-8000-000000000002
[exit 1]
$ domrename guest a/b
error: XML error: invalid name: name "a/b" contains '/'
[exit 1]
$ domrename nobody else
error: failed to get domain 'nobody'
[exit 1]
r$ domrename guest no
error: operation forbidden: read only access prevents virDomainRename
[exit 1]
$ domrename guest newname
Domain successfully renamed
[exit 0]
$ list --all
 Id   Name      State
--------------------------
 -    newname   shut off
 -    other     shut off
[exit 0]
$ dominfo newname
Id:             -
Name:           newname
UUID:           00000000-0000-4000-8000-000000000001
OS Type:        hvm
State:          shut off
CPU(s):         1
Max memory:     16384 KiB
Used memory:    16384 KiB
Persistent:     yes
Autostart:      enable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
$ dominfo guest
error: failed to get domain 'guest'
[exit 1]
$ dumpxml newname --xpath /domain/name
<name>newname</name>
[exit 0]
$ desc newname
Said of it
[exit 0]
% kill
$ list --all
 Id   Name      State
--------------------------
 -    newname   shut off
 -    other     shut off
[exit 0]
$ start newname
Domain 'newname' started
[exit 0]
$ domrename newname again
error: Requested operation is not valid: cannot rename domain 'newname' while it runs; shut it down first
[exit 1]
$ managedsave newname

Domain 'newname' state saved by libvirt
[exit 0]
$ domrename newname again
error: Requested operation is not valid: cannot rename domain 'newname' while it has a managed save image; start it, or remove the image with `virsh managedsave-remove`
[exit 1]
$ managedsave-remove newname
Removed managedsave image for domain 'newname'
[exit 0]
$ domrename newname guest
Domain successfully renamed
[exit 0]
$ dominfo guest
Id:             -
Name:           guest
UUID:           00000000-0000-4000-8000-000000000001
OS Type:        hvm
State:          shut off
CPU(s):         1
Max memory:     16384 KiB
Used memory:    16384 KiB
Persistent:     yes
Autostart:      enable
Managed save:   no
Security model: none
Security DOI:   0
[exit 0]
$ undefine guest
Domain 'guest' has been undefined
[exit 0]
$ undefine other
Domain 'other' has been undefined
[exit 0]
-- guest.xml --
<domain type='qemu'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <memory unit='MiB'>16</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64'>hvm</type></os>
</domain>
-- other.xml --
<domain type='qemu'>
  <name>other</name>
  <uuid>00000000-0000-4000-8000-000000000002</uuid>
  <memory unit='MiB'>16</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64'>hvm</type></os>
</domain>
