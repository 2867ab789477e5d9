// Package nictest holds that a NIC of every model works wherever it is attached: a real guest gets an address by DHCP on each,
// and TCP and UDP pass both ways. It has tests only.
//
// `make test` boots one guest whose NICs are of all attachments and of all models, each once; `make nics` boots one for each
// model, with a NIC of it on every attachment, and guests with up to 82.
package nictest
