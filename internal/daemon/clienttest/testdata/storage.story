# A pool of type dir: its life.
$ pool-define images.xml
Pool images defined from images.xml
[exit 0]
$ pool-define images.xml
Pool images defined from images.xml
[exit 0]
$ pool-define elsewhere.xml
error: Failed to define pool from elsewhere.xml
error: operation failed: pool 'images' already exists with uuid 00000000-0000-4000-8000-00000000000a
[exit 1]
$ pool-define conflict.xml
error: Failed to define pool from conflict.xml
error: operation failed: Storage source conflict with pool: 'images', which has the folder ROOT/work/images
[exit 1]
$ pool-define relative.xml
error: Failed to define pool from relative.xml
error: XML error: storage pool 'relative': invalid target/path: "images" is not an absolute path
[exit 1]
$ pool-define logical.xml
error: Failed to define pool from logical.xml
error: unsupported configuration: storage pool 'vg': pool/@type is not supported: pools of type "logical" are not kept here; make one of type dir, or give disks by their path
[exit 1]
$ pool-list --all
 Name     State      Autostart
--------------------------------
 images   inactive   no
[exit 0]
$ pool-start images
error: Failed to start pool images
error: cannot open the folder of storage pool 'images': stat ROOT/work/images: no such file or directory; make it, or let it be made (virsh pool-build)
[exit 1]
$ pool-build images
Pool images built
[exit 0]
$ pool-start images
Pool images started
[exit 0]
$ pool-start images
error: Failed to start pool images
error: Requested operation is not valid: storage pool 'images' is already active
[exit 1]
$ pool-build images
error: Failed to build pool images
error: Requested operation is not valid: storage pool 'images' is already active
[exit 1]
$ pool-autostart images
Pool images marked as autostarted
[exit 0]
$ pool-dumpxml images --inactive
<pool type='dir'>
  <name>images</name>
  <uuid>00000000-0000-4000-8000-00000000000a</uuid>
  <capacity unit='bytes'>0</capacity>
  <allocation unit='bytes'><n></allocation>
  <available unit='bytes'>0</available>
  <target>
    <path>ROOT/work/images/</path>
    <permissions>
      <mode>0755</mode>
    </permissions>
  </target>
  <other:thing xmlns:other='http://example.org/other'>kept</other:thing>
</pool>
[exit 0]
$ pool-info images
Name:           images
UUID:           00000000-0000-4000-8000-00000000000a
State:          running
Persistent:     yes
Autostart:      yes
<sizes of the machine's filesystem>
[exit 0]
$ pool-list --all --persistent --autostart --type dir
 Name     State    Autostart
------------------------------
 images   active   yes
[exit 0]
$ pool-list --all --type logical
 Name   State   Autostart
---------------------------
[exit 0]
$ pool-undefine images
error: Failed to undefine pool images
error: Requested operation is not valid: storage pool 'images' is still active
[exit 1]
$ pool-delete images
error: Failed to delete pool images
error: Requested operation is not valid: storage pool 'images' is still active
[exit 1]
$ pool-refresh images
Pool images refreshed
[exit 0]
# Its volumes.
$ vol-create-as images disk.qcow2 1G --format qcow2
Vol disk.qcow2 created
[exit 0]
$ vol-create-as images disk.qcow2 1G --format qcow2
error: Failed to create vol disk.qcow2
error: storage volume name 'disk.qcow2' already in use.
[exit 1]
$ vol-create-as images lazy.qcow2 64M --format qcow2 --prealloc-metadata
Vol lazy.qcow2 created
[exit 0]
$ vol-create-as images above.qcow2 1G --format qcow2 --backing-vol disk.qcow2 --backing-vol-format qcow2
Vol above.qcow2 created
[exit 0]
$ vol-create-as images guessed.qcow2 1G --format qcow2 --backing-vol disk.qcow2
error: Failed to create vol guessed.qcow2
error: XML error: storage volume 'guessed.qcow2': invalid backingStore/format: missing; it is not guessed from the content, which somebody else may have written
[exit 1]
$ vol-create-as images disk.raw 4M --allocation 0
Vol disk.raw created
[exit 0]
$ vol-create-as images full.raw 64k
Vol full.raw created
[exit 0]
$ vol-create-as images disk.vmdk 1M --format vmdk
error: Failed to create vol disk.vmdk
error: unsupported configuration: volumes of format 'vmdk' are not made here; ask for raw or qcow2, or make it with qemu-img
[exit 1]
$ vol-create-as images ../outside 1M
error: Failed to create vol ../outside
error: XML error: storage volume '../outside': invalid name: name "../outside" contains '/'
[exit 1]
$ vol-create-as images .taproom-tmp-x 1M
error: Failed to create vol .taproom-tmp-x
error: invalid argument: volume name '.taproom-tmp-x' is one of those that files have while they are made
[exit 1]
$ vol-create images small.xml
Vol small created from small.xml
[exit 0]
$ vol-list images
 Name          Path
----------------------------------------------------------
 above.qcow2   ROOT/work/images/above.qcow2
 disk.qcow2    ROOT/work/images/disk.qcow2
 disk.raw      ROOT/work/images/disk.raw
 full.raw      ROOT/work/images/full.raw
 lazy.qcow2    ROOT/work/images/lazy.qcow2
 small         ROOT/work/images/small
[exit 0]
$ vol-info disk.qcow2 images
Name:           disk.qcow2
Type:           file
Capacity:       1.00 GiB
Allocation:     <n>
[exit 0]
$ vol-info full.raw images
Name:           full.raw
Type:           file
Capacity:       64.00 KiB
Allocation:     <n>
[exit 0]
$ vol-info full.raw images --physical
Name:           full.raw
Type:           file
Capacity:       64.00 KiB
Physical:       64.00 KiB
[exit 0]
$ vol-dumpxml above.qcow2 images
<volume type='file'>
  <name>above.qcow2</name>
  <key>ROOT/work/images/above.qcow2</key>
  <source/>
  <capacity unit='bytes'>1073741824</capacity>
  <allocation unit='bytes'><n></allocation>
  <physical unit='bytes'>262144</physical>
  <target>
    <path>ROOT/work/images/above.qcow2</path>
    <format type='qcow2'/>
    <permissions>
      <mode>0600</mode>
      <owner>0</owner>
      <group>0</group>
    </permissions>
    <timestamps>
      <atime>…</atime>
      <mtime>…</mtime>
      <ctime>…</ctime>
    </timestamps>
    <compat>1.1</compat>
    <clusterSize unit='B'>65536</clusterSize>
    <features/>
  </target>
  <backingStore>
    <path>ROOT/work/images/disk.qcow2</path>
    <format type='qcow2'/>
  </backingStore>
</volume>
[exit 0]
$ vol-dumpxml small images
<volume type='file'>
  <name>small</name>
  <key>ROOT/work/images/small</key>
  <source/>
  <capacity unit='bytes'>8</capacity>
  <allocation unit='bytes'><n></allocation>
  <physical unit='bytes'>8</physical>
  <target>
    <path>ROOT/work/images/small</path>
    <format type='raw'/>
    <permissions>
      <mode>0640</mode>
      <owner>0</owner>
      <group>0</group>
    </permissions>
    <timestamps>
      <atime>…</atime>
      <mtime>…</mtime>
      <ctime>…</ctime>
    </timestamps>
  </target>
</volume>
[exit 0]
$ vol-path disk.raw images
ROOT/work/images/disk.raw
[exit 0]
$ vol-key disk.raw images
ROOT/work/images/disk.raw
[exit 0]
$ vol-pool ROOT/work/images/disk.raw
images
[exit 0]
$ vol-name ROOT/work/images/disk.raw
disk.raw
[exit 0]
$ vol-pool ROOT/work/images/none
error: failed to get vol 'ROOT/work/images/none'
error: Storage volume not found: no storage vol with matching path 'ROOT/work/images/none'
[exit 1]
$ vol-info none images
error: failed to get vol 'none'
error: Storage volume not found: no storage vol with matching path 'none'
[exit 1]
# What is in them.
$ vol-upload small ROOT/work/content images
[exit 0]
$ vol-download small ROOT/work/again images
[exit 0]
$ vol-download small ROOT/work/piece images --offset 2 --length 3
[exit 0]
$ vol-upload small ROOT/work/content images --length 3
error: cannot close volume small
error: internal error: the client sends more than it announced
[exit 1]
$ vol-resize disk.raw 8M images
Size of volume 'disk.raw' successfully changed to 8M
[exit 0]
$ vol-resize disk.raw 2M images
error: Failed to change size of volume 'disk.raw' to 2M
error: invalid argument: can't shrink capacity below current capacity unless shrink flag explicitly specified
[exit 1]
$ vol-resize disk.raw 2M images --shrink
Size of volume 'disk.raw' successfully changed to 2M
[exit 0]
$ vol-resize disk.raw 1M images --delta
Size of volume 'disk.raw' successfully changed by 1M
[exit 0]
$ vol-resize disk.qcow2 2G images
error: Failed to change size of volume 'disk.qcow2' to 2G
error: Operation not supported: volume 'ROOT/work/images/disk.qcow2' is a qcow2 image, whose tables are not rewritten here; resize it with: qemu-img resize ROOT/work/images/disk.qcow2 2147483648
[exit 1]
$ vol-info disk.raw images
Name:           disk.raw
Type:           file
Capacity:       3.00 MiB
Allocation:     <n>
[exit 0]
$ vol-clone disk.qcow2 clone.qcow2 images
Vol clone.qcow2 cloned from disk.qcow2
[exit 0]
$ vol-clone small clone.raw images
Vol clone.raw cloned from small
[exit 0]
$ vol-create-from images converted.xml small --inputpool images
error: Failed to create vol from converted.xml
error: unsupported configuration: volume 'ROOT/work/images/small' is of format raw; it is copied, not converted to qcow2: do that with qemu-img convert
[exit 1]
$ vol-wipe clone.raw images
Vol clone.raw wiped
[exit 0]
$ vol-delete clone.raw images
Vol clone.raw deleted
[exit 0]
$ vol-delete clone.raw images
error: failed to get vol 'clone.raw'
error: Storage volume not found: no storage vol with matching path 'clone.raw'
[exit 1]
# What somebody else puts there is a volume; what cannot be one is not.
% outside
$ vol-list images
 Name          Path
----------------------------------------------------------
 above.qcow2   ROOT/work/images/above.qcow2
 cd.iso        ROOT/work/images/cd.iso
 clone.qcow2   ROOT/work/images/clone.qcow2
 disk.qcow2    ROOT/work/images/disk.qcow2
 disk.raw      ROOT/work/images/disk.raw
 folder        ROOT/work/images/folder
 full.raw      ROOT/work/images/full.raw
 lazy.qcow2    ROOT/work/images/lazy.qcow2
 link.raw      ROOT/work/images/link.raw
 put.raw       ROOT/work/images/put.raw
 small         ROOT/work/images/small
[exit 0]
$ vol-resize link.raw 2M images
error: Failed to change size of volume 'link.raw' to 2M
error: Requested operation is not valid: volume 'ROOT/work/images/link.raw' is a symbolic link, which is only read; name the file that it leads to
[exit 1]
$ pool-refresh images
Pool images refreshed
[exit 0]
# All of it outlives the daemon, and a boot what starts by itself.
% kill
$ pool-list --all
 Name     State    Autostart
------------------------------
 images   active   yes
[exit 0]
% reboot
$ pool-list --all
 Name     State    Autostart
------------------------------
 images   active   yes
[exit 0]
$ vol-info disk.raw images
Name:           disk.raw
Type:           file
Capacity:       3.00 MiB
Allocation:     <n>
[exit 0]
$ pool-destroy images
Pool images destroyed
[exit 0]
$ vol-list images
error: Failed to list volumes
error: Requested operation is not valid: storage pool 'images' is not active
[exit 1]
$ pool-destroy images
error: Failed to destroy pool images
error: Requested operation is not valid: storage pool 'images' is not active
[exit 1]
$ pool-delete images
error: Failed to delete pool images
error: failed to remove pool 'images': remove ROOT/work/images: directory not empty
[exit 1]
$ pool-undefine images
Pool images has been undefined
[exit 0]
# A pool that is gone with its end.
$ pool-create transient.xml --build
Pool transient created from transient.xml
[exit 0]
$ pool-list --transient
 Name        State    Autostart
---------------------------------
 transient   active   no
[exit 0]
$ pool-autostart transient
error: failed to mark pool transient as autostarted
error: Requested operation is not valid: pool has no config file: storage pool 'transient' is transient
[exit 1]
$ pool-destroy transient
Pool transient destroyed
[exit 0]
$ pool-list --all
 Name   State   Autostart
---------------------------
[exit 0]
# Only to look.
$ pool-create transient.xml
Pool transient created from transient.xml
[exit 0]
r$ pool-list
 Name        State    Autostart
---------------------------------
 transient   active   no
[exit 0]
r$ vol-list transient
 Name   Path
--------------
[exit 0]
r$ pool-destroy transient
error: Failed to destroy pool transient
error: operation forbidden: read only access prevents virStoragePoolDestroy
[exit 1]
r$ vol-create-as transient x 1M
error: Failed to create vol x
error: operation forbidden: read only access prevents virStorageVolCreateXML
[exit 1]
r$ vol-download x ROOT/work/again transient
error: failed to get vol 'x'
error: Storage volume not found: no storage vol with matching path 'x'
[exit 1]
$ pool-destroy transient
Pool transient destroyed
[exit 0]
-- images.xml --
<pool type='dir'>
  <name>images</name>
  <uuid>00000000-0000-4000-8000-00000000000a</uuid>
  <target>
    <path>ROOT/work/images/</path>
    <permissions><mode>0755</mode></permissions>
  </target>
  <other:thing xmlns:other='http://example.org/other'>kept</other:thing>
</pool>
-- elsewhere.xml --
<pool type='dir'><name>images</name><uuid>00000000-0000-4000-8000-00000000000b</uuid><target><path>/nowhere</path></target></pool>
-- conflict.xml --
<pool type='dir'><name>conflict</name><target><path>ROOT/work/images</path></target></pool>
-- relative.xml --
<pool type='dir'><name>relative</name><target><path>images</path></target></pool>
-- logical.xml --
<pool type='logical'><name>vg</name><target><path>/dev/vg</path></target></pool>
-- transient.xml --
<pool type='dir'><name>transient</name><uuid>00000000-0000-4000-8000-00000000000c</uuid><target><path>ROOT/work/transient</path></target></pool>
-- small.xml --
<volume><name>small</name><capacity unit='bytes'>8</capacity><target><permissions><mode>0640</mode></permissions></target></volume>
-- converted.xml --
<volume><name>converted</name><capacity>8</capacity><target><format type='qcow2'/></target></volume>
-- content --
content
