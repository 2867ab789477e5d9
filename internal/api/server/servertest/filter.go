package servertest

import (
	"context"

	"taproom/internal/api/own"
)

// fakeNIC is the one NIC of a Fake that has a filter.
func fakeNIC() own.FilterNIC {
	return own.FilterNIC{
		Guest: "web", MAC: "52:54:00:00:00:01", Link: "vnet0", Filter: "clean-traffic", Values: map[string][]string{"IP": {"192.168.122.17"}},
	}
}

// Filters implements server.FilterViews.
func (f *Fake) Filters(context.Context) (own.FiltersResult, error) {
	return own.FiltersResult{
		Filters: []own.Filter{{Name: "clean-traffic", UUID: "11111111-2222-3333-4444-000000000002", Shipped: true, Refers: []string{"no-mac-spoofing"}, NICs: 1}},
		NICs:    []own.FilterNIC{fakeNIC()},
	}, f.enter("Filters")
}

// FilterShow implements server.FilterViews.
func (f *Fake) FilterShow(_ context.Context, r own.FilterShowRequest) (own.FilterShowResult, error) {
	if _, err := f.DomainByName(r.Guest); err != nil {
		return own.FilterShowResult{}, err
	}
	return own.FilterShowResult{NICs: []own.FilterProgram{{FilterNIC: fakeNIC(), Key: "0123456789abcdef", Text: "chain root\n"}}}, f.enter("FilterShow")
}

// FilterStats implements server.FilterViews.
func (f *Fake) FilterStats(context.Context, own.FilterStatsRequest) (own.FilterStatsResult, error) {
	return own.FilterStatsResult{Rules: []own.FilterCount{{
		Key: "0123456789abcdef", Links: []string{"vnet0"}, Chain: "mac", Filter: "no-mac-spoofing", Index: 2, Rule: "drop out mac", Packets: 3, Bytes: 180,
	}}}, f.enter("FilterStats")
}

// FilterExplain implements server.FilterViews: what is from the guest passes.
func (f *Fake) FilterExplain(_ context.Context, r own.FilterExplainRequest) (own.FilterExplainResult, error) {
	if _, err := f.DomainByName(r.Guest); err != nil {
		return own.FilterExplainResult{}, err
	}
	return own.FilterExplainResult{NICs: []own.FilterExplanation{{
		FilterNIC: fakeNIC(), Passes: !r.Ask.In, Text: "a frame with " + r.Ask.TCP + "\n", Answer: []byte("{}"),
	}}}, f.enter("FilterExplain")
}
