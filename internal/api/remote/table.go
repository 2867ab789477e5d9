package remote

import "taproom/internal/api/xdr"

// Flags of a procedure.
type Flags uint32

// What a procedure may.
const (
	ReadOnly   Flags = 1 << iota // a read-only connection may call it
	Priority                     // it never waits for calls that take long
	Quick                        // it answers from memory, on the goroutine that reads the connection
	BeforeOpen                   // it may be called before CONNECT_OPEN
)

// Procedure is one row of the table.
type Procedure struct {
	Number  uint32
	Name    string // as in libvirt's protocol, without REMOTE_PROC_
	Flags   Flags
	NewArgs func() xdr.Value
	NewRet  func() xdr.Value
}

// Has reports whether all flags of f are set.
func (p *Procedure) Has(f Flags) bool { return p.Flags&f == f }

func proc[A, R any, PA interface {
	*A
	xdr.Value
}, PR interface {
	*R
	xdr.Value
}](number uint32, name string, f Flags) Procedure {
	return Procedure{
		Number:  number,
		Name:    name,
		Flags:   f,
		NewArgs: func() xdr.Value { return PA(new(A)) },
		NewRet:  func() xdr.Value { return PR(new(R)) },
	}
}

// Procedures of taproom's own program. Each carries one JSON document each way; package own has their types.
const (
	OwnApply   = 1 // own.ApplyRequest → own.ApplyResult
	OwnPlan    = 2 // "" → own.PlanResult
	OwnStatus  = 3 // "" → own.Status
	OwnTrace   = 4 // own.TraceRequest → own.Trace
	OwnAgent   = 5 // own.AgentRequest → the agent's answer
	OwnVersion = 6 // "" → own.Version
	OwnLeases  = 7 // own.LeasesRequest → own.LeasesResult
	OwnLookup  = 8 // own.LookupRequest → own.LookupResult

	OwnSubscribeLeases = 9  // own.LeasesRequest → own.Subscription
	OwnUnsubscribe     = 10 // own.Subscription → {}
	OwnEventLease      = 11 // a message: OwnEvent with own.LeaseEvent

	OwnMissing = 12 // "" → own.Missing
	OwnWhy     = 13 // own.WhyRequest → own.WhyResult
	OwnBridge  = 14 // own.BridgeRequest → own.BridgeResult
	OwnTraffic = 15 // own.TrafficRequest → own.TrafficResult

	OwnForwards = 16 // own.ForwardsRequest → own.ForwardsResult

	OwnFilters     = 17 // "" → own.FiltersResult
	OwnFilterShow  = 18 // own.FilterShowRequest → own.FilterShowResult
	OwnFilterStats = 19 // own.FilterStatsRequest → own.FilterStatsResult

	OwnFilterExplain = 20 // own.FilterExplainRequest → own.FilterExplainResult
)

// OwnProcedures are all calls of taproom's own program.
func OwnProcedures() []Procedure {
	return []Procedure{
		proc[JSON, JSON](OwnApply, "OWN_APPLY", BeforeOpen),
		proc[JSON, JSON](OwnPlan, "OWN_PLAN", ReadOnly|BeforeOpen),
		proc[JSON, JSON](OwnStatus, "OWN_STATUS", ReadOnly|Priority|BeforeOpen),
		proc[JSON, JSON](OwnTrace, "OWN_TRACE", ReadOnly|Priority|BeforeOpen),
		proc[JSON, JSON](OwnAgent, "OWN_AGENT", BeforeOpen),
		proc[JSON, JSON](OwnVersion, "OWN_VERSION", ReadOnly|Priority|Quick|BeforeOpen),
		proc[JSON, JSON](OwnLeases, "OWN_LEASES", ReadOnly|Priority|BeforeOpen),
		proc[JSON, JSON](OwnLookup, "OWN_LOOKUP", ReadOnly|BeforeOpen),
		proc[JSON, JSON](OwnSubscribeLeases, "OWN_SUBSCRIBE_LEASES", ReadOnly|Priority|Quick|BeforeOpen),
		proc[JSON, JSON](OwnMissing, "OWN_MISSING", ReadOnly|Priority|Quick|BeforeOpen),
		proc[JSON, JSON](OwnWhy, "OWN_WHY", BeforeOpen),
		proc[JSON, JSON](OwnBridge, "OWN_BRIDGE", BeforeOpen),
		proc[JSON, JSON](OwnTraffic, "OWN_TRAFFIC", ReadOnly|Priority|BeforeOpen),
		proc[JSON, JSON](OwnForwards, "OWN_FORWARDS", ReadOnly|Priority|BeforeOpen),
		proc[JSON, JSON](OwnFilters, "OWN_FILTERS", ReadOnly|Priority|BeforeOpen),
		proc[JSON, JSON](OwnFilterShow, "OWN_FILTER_SHOW", ReadOnly|Priority|BeforeOpen),
		proc[JSON, JSON](OwnFilterStats, "OWN_FILTER_STATS", ReadOnly|Priority|BeforeOpen),
		proc[JSON, JSON](OwnFilterExplain, "OWN_FILTER_EXPLAIN", ReadOnly|Priority|BeforeOpen),
		proc[JSON, JSON](OwnUnsubscribe, "OWN_UNSUBSCRIBE", ReadOnly|Priority|Quick|BeforeOpen),
	}
}

// MaxJSON is the longest document of taproom's own program: it may hold many documents that are strings of their own.
const MaxJSON = 32 << 20

// JSON is a document of taproom's own program.
type JSON struct{ B []byte }

// XDR implements xdr.Value.
func (v *JSON) XDR(x *xdr.Coder) { x.Opaque(&v.B, MaxJSON) }

// OwnEvent is an event of taproom's own program, for the subscription that the callback names.
type OwnEvent struct {
	Callback int32
	JSON
}

// XDR implements xdr.Value.
func (v *OwnEvent) XDR(x *xdr.Coder) {
	x.Int32(&v.Callback)
	v.JSON.XDR(x)
}
