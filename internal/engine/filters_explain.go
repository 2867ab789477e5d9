package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"taproom/internal/api/own"
	"taproom/internal/api/virterr"
	"taproom/internal/network/nwfilter/explain"
)

// FilterExplain implements server.FilterViews.
func (e *Engine) FilterExplain(_ context.Context, r own.FilterExplainRequest) (own.FilterExplainResult, error) {
	out := own.FilterExplainResult{NICs: []own.FilterExplanation{}}
	all, err := e.filteredNICs(r.Guest)
	if err != nil {
		return out, err
	}
	ask := explain.Ask{
		In: r.Ask.In, Frame: r.Ask.Frame, TCP: r.Ask.TCP, UDP: r.Ask.UDP, ICMP: r.Ask.ICMP, ARP: r.Ask.ARP, SrcMAC: r.Ask.SrcMAC, DstMAC: r.Ask.DstMAC,
		State: r.Ask.State, Reply: r.Ask.Reply, Connections: r.Ask.Connections,
	}
	for _, b := range all {
		if r.MAC != "" && !strings.EqualFold(r.MAC, b.MAC) {
			continue
		}
		q, err := ask.Question(b.MAC)
		if err != nil {
			return out, virterr.Wrap(virterr.InvalidArg, err)
		}
		p, err := e.nwfilters.Program(b.Port)
		if err != nil {
			return out, err
		}
		answer, err := explain.Explain(p.Program, p.Values, q)
		if err != nil {
			return out, virterr.Wrap(virterr.InvalidArg, err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return out, fmt.Errorf("encode what becomes of a frame: %w", err)
		}
		out.NICs = append(out.NICs, own.FilterExplanation{FilterNIC: e.filterNIC(b), Passes: answer.Passes, Text: answer.String(), Answer: text})
	}
	if len(out.NICs) == 0 {
		return out, virterr.New(virterr.InvalidArg, "domain '%s' has no NIC %s with a network filter now", r.Guest, r.MAC)
	}
	return out, nil
}
