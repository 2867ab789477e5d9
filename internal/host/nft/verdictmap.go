package nft

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// verdictData is the Data of a map whose keys lead to verdicts.
const verdictData = "verdict"

// VerdictMap looks a key up in a map and does what it leads to: `iifname vmap @ports`. A packet whose key the map has not goes
// on with the rest of the rule, that is, with the next one.
type VerdictMap struct {
	Key []Term
	Map string
}

// String is the statement in nft's language.
func (m VerdictMap) String() string {
	terms := make([]string, len(m.Key))
	for i, t := range m.Key {
		terms[i] = t.String()
	}
	return strings.Join(terms, " . ") + " vmap @" + m.Map
}

func (m VerdictMap) encode(e *ruleEncoder) error {
	if err := e.key(m.Key, m.Map); err != nil {
		return err
	}
	e.add(&expr.Lookup{SourceRegister: unix.NFT_REG32_00, DestRegister: unix.NFT_REG_VERDICT, IsDestRegSet: true, SetName: m.Map})
	return nil
}

// parseVerdict reads a verdict as an element of a map has it: "accept", "goto other".
func parseVerdict(s string) (Verdict, error) {
	kind, chain, _ := strings.Cut(s, " ")
	v := Verdict{Kind: kind, Chain: chain}
	return v, v.check()
}

func (v Verdict) check() error {
	if _, ok := verdicts()[v.Kind]; !ok {
		return fmt.Errorf("verdict %q: use accept, drop, return, jump or goto", v.Kind)
	}
	if needs := v.Kind == "jump" || v.Kind == "goto"; needs != (v.Chain != "") {
		return errors.New("jump and goto, and only they, name a chain")
	}
	if v.Chain != "" {
		return checkNames(v.Chain)
	}
	return nil
}

// verdictValue is a verdict as the data of an element.
func verdictValue(v Verdict) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		ae.Nested(unix.NFTA_DATA_VERDICT, func(d *netlink.AttributeEncoder) error {
			d.Uint32(unix.NFTA_VERDICT_CODE, uint32(verdicts()[v.Kind]))
			if v.Chain != "" {
				d.String(unix.NFTA_VERDICT_CHAIN, v.Chain)
			}
			return nil
		})
		return nil
	}
}

// readVerdict undoes verdictValue. The attributes are those of the data.
func readVerdict(data *attrSet) (Verdict, error) {
	s := readAttrs(data.bytes(unix.NFTA_DATA_VERDICT))
	kind := expr.VerdictKind(int32(s.uint32(unix.NFTA_VERDICT_CODE)))
	for name, k := range verdicts() {
		if k == kind && s.err == nil {
			return Verdict{Kind: name, Chain: s.string(unix.NFTA_VERDICT_CHAIN)}, nil
		}
	}
	return Verdict{}, fmt.Errorf("%w: verdict %d", errMalformed, kind)
}
