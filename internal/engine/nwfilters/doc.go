// Package nwfilters keeps the network filters of a host, which are documents, and their bindings: which filter the link of
// which NIC has, and with what values. What changes of either, the back end gets in one transaction, so that a filter that a
// thousand NICs use is another one for all of them or for none.
//
// Bindings of guests' NICs are their guests' to remember; those that clients made for links of their own are kept here. A
// filter is written down before it is changed in the kernel: whoever finds the document finds what should be, and Restore
// makes that the difference. The back end is opened when the first link is filtered.
package nwfilters
