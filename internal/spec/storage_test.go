package spec

import (
	"strings"
	"testing"
)

func TestStorageThatIsNotKeptOrMeansNothingIsRefused(t *testing.T) {
	t.Parallel()
	const pool = "<pool type='dir'><name>p</name><target><path>/p</path>%</target></pool>"
	const volume = "<volume%><name>v</name><capacity>1</capacity>#</volume>"
	for doc, want := range map[string]string{
		strings.Replace(pool, "%", "", 1):                                             "",
		strings.Replace(pool, "'dir'", "'netfs'", 1):                                  `pool/@type is not supported: pools of type "netfs"`,
		strings.Replace(pool, " type='dir'", "", 1):                                   "invalid @type",
		"<pool type='dir'><name>p</name></pool>":                                      "invalid target/path: missing",
		strings.Replace(pool, "/p<", "p<", 1):                                         `"p" is not an absolute path`,
		strings.Replace(pool, "%", "<permissions><mode>9</mode></permissions>", 1):    "invalid target/permissions/mode",
		strings.Replace(pool, "%", "<permissions><owner>-1</owner></permissions>", 1): "",
		strings.Replace(pool, "%", "<permissions><group>x</group></permissions>", 1):  "invalid target/permissions/group",
		volume: "",
		strings.Replace(volume, "%", " type='block'", 1):                                                                       "only files are made in a folder",
		strings.Replace(volume, ">1<", " unit='x'>1<", 1):                                                                      `unit "x" is not known`,
		strings.Replace(volume, ">1<", " unit='E'>99<", 1):                                                                     "is too large",
		strings.Replace(volume, "#", "<target><encryption format='luks'/></target>", 1):                                        "encrypted images are not made here",
		strings.Replace(volume, "#", "<target><clusterSize unit='KiB'>64</clusterSize></target>", 1):                           "",
		strings.Replace(volume, "#", "<target><clusterSize unit='KiB'>128</clusterSize></target>", 1):                          "clusters of 64 KiB",
		strings.Replace(volume, "#", "<target><features><extended_l2/></features></target>", 1):                                "extended_l2 is not supported",
		strings.Replace(volume, "#", "<backingStore><path>/b</path></backingStore>", 1):                                        "a raw image has nothing below it",
		strings.Replace(volume, "#", "<target><format type='qcow2'/></target><backingStore><path>/b</path></backingStore>", 1): "not guessed from the content",
	} {
		doc = strings.NewReplacer("%", "", "#", "").Replace(doc)
		var err error
		if strings.HasPrefix(doc, "<pool") {
			var p *StoragePool
			if p, err = ParseStoragePool([]byte(doc)); err == nil {
				err = p.Validate()
			}
		} else {
			var v *StorageVolume
			if v, err = ParseStorageVolume([]byte(doc)); err == nil {
				err = v.Validate()
			}
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", doc, err, want)
		}
	}
}
