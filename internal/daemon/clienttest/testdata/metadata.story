# What a guest is said to be: in the definition, in what runs, or in both; and what applications keep in its document.
$ define guest.xml
Domain 'guest' defined from guest.xml
[exit 0]
$ desc guest
No description for domain: guest
[exit 0]
$ desc guest --title
No title for domain: guest
[exit 0]
$ desc guest --config A guest of the tests
Domain description updated successfully
[exit 0]
$ desc guest --title --config Test
Domain title updated successfully
[exit 0]
$ desc guest
A guest of the tests
[exit 0]
$ desc guest --title
Test
[exit 0]
$ metadata guest http://example.org/app
[exit 0]
$ metadata guest http://example.org/app --key app --set <settings><colour>green</colour></settings> --config
Metadata modified
[exit 0]
$ metadata guest http://example.org/app
<settings><colour>green</colour></settings>
[exit 0]
$ metadata guest http://example.org/other --key other --set <x/> --config
Metadata modified
[exit 0]
$ metadata guest http://example.org/bad --key b:d --set <x/> --config
error: XML error: domain 'guest': invalid metadata: "b:d" cannot be a prefix of a namespace
[exit 1]
$ metadata guest http://example.org/bad --key b --set <x> --config
error: XML error: domain 'guest': line 1: document ends inside <x>
[exit 1]
$ dumpxml guest --xpath //title|//description|//metadata
<title>Test</title>
<description>A guest of the tests</description>
<metadata>
  <app:settings xmlns:app="http://example.org/app">
    <app:colour>green</app:colour>
  </app:settings>
  <other:x xmlns:other="http://example.org/other"/>
</metadata>
[exit 0]
$ desc guest --live nothing runs
error: Failed to set new domain description
error: Requested operation is not valid: domain 'guest' is not running
[exit 1]
# What runs has a document of its own; only --config changes what the next start has.
$ start guest
Domain 'guest' started
[exit 0]
$ desc guest --live Running
Domain description updated successfully
[exit 0]
$ metadata guest http://example.org/app --key app --set <settings><colour>red</colour></settings>
Metadata modified
[exit 0]
$ metadata guest http://example.org/other --live --config --remove
Metadata removed
[exit 0]
$ desc guest
Running
[exit 0]
$ desc guest --config
A guest of the tests
[exit 0]
$ dumpxml guest --xpath //metadata
<metadata>
  <app:settings xmlns:app="http://example.org/app">
    <app:colour>red</app:colour>
  </app:settings>
</metadata>
[exit 0]
$ dumpxml guest --inactive --xpath //metadata
<metadata>
  <app:settings xmlns:app="http://example.org/app">
    <app:colour>green</app:colour>
  </app:settings>
</metadata>
[exit 0]
# Another daemon finds it so.
% kill
$ desc guest
Running
[exit 0]
$ metadata guest http://example.org/app
<settings><colour>red</colour></settings>
[exit 0]
r$ desc guest
Running
[exit 0]
r$ desc guest no
error: Failed to set new domain description
error: operation forbidden: read only access prevents virDomainSetMetadata
[exit 1]
$ destroy guest
Domain 'guest' destroyed
[exit 0]
$ desc guest
A guest of the tests
[exit 0]
$ metadata guest http://example.org/app
<settings><colour>green</colour></settings>
[exit 0]
$ metadata guest http://example.org/app --remove --config
Metadata removed
[exit 0]
$ metadata guest http://example.org/app
[exit 0]
$ dumpxml guest --xpath //metadata
[exit 0]
-- guest.xml --
<domain type='qemu'>
  <name>guest</name>
  <uuid>00000000-0000-4000-8000-000000000001</uuid>
  <memory unit='MiB'>16</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64'>hvm</type></os>
</domain>
