// Package nft speaks nf_tables over nfnetlink: a Transaction of tables, chains, sets, rules and elements is sent as one
// batch, and a table is read back as the same objects.
//
// It covers the subset that is used here and says so when it meets more: an expression it does not know is dumped as
// Opaque and refuses to be sent. Everything it can send it can also print (Transaction.String is input for `nft -f`) and
// parse back (Load), and the two forms are held together by tests that compare what the kernel made of each.
//
// # What an error means
//
// A batch is atomic in the kernel, but its answer can be lost: the kernel can commit and then fail to queue the answer
// (ENOBUFS). So after any error other than an *Error, which names the object that the kernel refused, nothing is known:
// dump again before deciding anything. Only the last object of a batch asks for an acknowledgement, so what a success has
// to read does not grow with the batch.
//
// # What is not done
//
// Intervals of keys, flow tables, named counters, `owner` tables and notifications are outside the subset.
package nft
