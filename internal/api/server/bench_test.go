package server_test

import (
	"io"
	"testing"

	"taproom/internal/api/remote"
	"taproom/internal/api/server/servertest"
	"taproom/internal/api/xdr"
)

// exchange sends the same call again and again and reads the answer's bytes, as a raw client does that wants to know
// what the server's part is.
func exchange(b *testing.B, procedure uint32, args, ret xdr.Value) {
	f := servertest.New()
	f.AddDomains(500)
	w := opened(b, serve(b, f).Socket)
	w.must(procedure, args, ret)
	call, err := remote.Append(nil, callHeader(procedure, 7), args)
	if err != nil {
		b.Fatal(err)
	}
	answer, err := remote.Append(nil, callHeader(procedure, 7), ret)
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, len(answer))
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		w.write(call)
		if _, err := io.ReadFull(w.nc, buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListAllDomains500(b *testing.B) {
	exchange(b, remote.ProcConnectListAllDomains, &remote.NeedFlags{Need: 1}, &remote.Domains{})
}

func BenchmarkDomainInfo(b *testing.B) {
	exchange(b, remote.ProcDomainGetInfo, &guest, &remote.DomainInfo{})
}
