package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// FuzzDecode: what lies on disk is a document or has a reason why it is none; no content may do anything else.
func FuzzDecode(f *testing.F) {
	whole := func(body string) []byte {
		sum := sha256.Sum256([]byte(body))
		return append([]byte(magic+hex.EncodeToString(sum[:])+"\n"), body...)
	}
	for _, seed := range [][]byte{
		nil, []byte(magic), []byte(magic + "\n"), whole(""), whole("\n"), whole("{}\n<doc/>"), whole("{}"), whole("[]\n"),
		whole(`{"name":"x","on":true}` + "\n<domain/>\n"), whole(`{"name":7}` + "\n"), []byte(`{"name":"` + "\xff\x00"), []byte(`{"name":"a`),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		item, reason := decode[head]("key", data)
		_ = seemingName(data)
		if reason != "" {
			return
		}
		sum, body, _ := bytes.Cut(data[len(magic):], []byte("\n"))
		if want := sha256.Sum256(body); string(sum) != hex.EncodeToString(want[:]) {
			t.Errorf("accepted with a wrong checksum: %q", data)
		}
		if item.Key != "key" || !bytes.HasSuffix(data, item.Doc) {
			t.Errorf("%+v is not what is in %q", item, data)
		}
	})
}
