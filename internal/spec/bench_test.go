package spec

import (
	"bytes"
	"encoding/xml"
	"os"
	"testing"
)

func BenchmarkParseDomain(b *testing.B) {
	doc, err := os.ReadFile("testdata/bench.xml")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("spec", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseDomain(doc); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-xml-tokens", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			d := xml.NewDecoder(bytes.NewReader(doc))
			for {
				if _, err := d.RawToken(); err != nil {
					break
				}
			}
		}
	})
}

func BenchmarkFormatDomain(b *testing.B) {
	doc, err := os.ReadFile("testdata/bench.xml")
	if err != nil {
		b.Fatal(err)
	}
	d, err := ParseDomain(doc)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		d.Format()
	}
}
