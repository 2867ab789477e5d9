// Package own is what taproom's program adds to libvirt's protocol: the documents its calls carry, as JSON in one XDR
// string each way. Fields are only ever added.
package own

import "encoding/json"

// MaxDocument is how long a document of a domain or network may be. libvirt's protocol carries strings of 4 MiB, and what
// is kept and shown is longer than what was sent: a longer one could be defined, and nobody could read it back.
const MaxDocument = 2 << 20

// Document is one XML document and the name to use in messages about it (a file name).
type Document struct {
	Name string `json:"name"`
	XML  string `json:"xml"`
}

// ApplyRequest asks that the documents exist and run. Applying them again changes nothing.
type ApplyRequest struct {
	Documents []Document `json:"documents"`
	DryRun    bool       `json:"dry_run,omitempty"` // plan only
	Prune     bool       `json:"prune,omitempty"`   // remove what an earlier apply made and this one does not name
	Remove    bool       `json:"remove,omitempty"`  // the opposite: stop and undefine what the documents name
	Accel     string     `json:"accel,omitempty"`   // "", "kvm", "tcg" or "auto": overrides the documents' type
}

// ApplyResult says what was done, or with DryRun would be.
type ApplyResult struct {
	Objects []ObjectResult `json:"objects"`
	Steps   []Step         `json:"steps,omitempty"`
}

// ObjectResult is what happened to one network or domain. Action is created, changed, started, unchanged, removed or
// failed.
type ObjectResult struct {
	Kind   string   `json:"kind"` // network or domain
	Name   string   `json:"name"`
	UUID   string   `json:"uuid,omitempty"`
	Action string   `json:"action"`
	Notes  []string `json:"notes,omitempty"`
	Error  string   `json:"error,omitempty"`
}

// Step is one step of a plan, as the command an administrator would have typed.
type Step struct {
	Object  string `json:"object"`
	Command string `json:"command"`
}

// PlanResult is what the daemon would do now to make what is observed what is desired.
type PlanResult struct {
	Steps []Step `json:"steps"`
}

// Status lists what there is.
type Status struct {
	Domains  []DomainStatus  `json:"domains"`
	Networks []NetworkStatus `json:"networks"`
	Problems []string        `json:"problems,omitempty"`
}

// DomainStatus is one domain.
type DomainStatus struct {
	Name       string   `json:"name"`
	UUID       string   `json:"uuid"`
	ID         int32    `json:"id"` // -1 when it does not run
	State      string   `json:"state"`
	Reason     string   `json:"reason,omitempty"`
	Accel      string   `json:"accel,omitempty"`
	Autostart  bool     `json:"autostart"`
	Persistent bool     `json:"persistent"`
	VCPUs      uint32   `json:"vcpus"`
	MemoryKiB  uint64   `json:"memory_kib"`
	Addresses  []string `json:"addresses,omitempty"`
	Notes      []string `json:"notes,omitempty"`
	// NICs are those of one that runs, in the order of its document.
	NICs []NICStatus `json:"nics,omitempty"`
}

// NICStatus is one NIC of a guest that runs.
type NICStatus struct {
	MAC      string `json:"mac"`
	Type     string `json:"type"` // of the interface: network, bridge, user…
	Model    string `json:"model"`
	Link     string `json:"link,omitempty"` // the host's end
	Datapath string `json:"datapath"`       // what moves its packets: vhost (the kernel) or qemu
}

// NetworkStatus is one network.
type NetworkStatus struct {
	Name      string   `json:"name"`
	UUID      string   `json:"uuid"`
	Active    bool     `json:"active"`
	Autostart bool     `json:"autostart"`
	Bridge    string   `json:"bridge,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Leases    int      `json:"leases"`
	Notes     []string `json:"notes,omitempty"`
	// Forwards are ports of the host that lead to guests of one that is active, in the order of its document.
	Forwards []Forward `json:"forwards,omitempty"`
}

// TraceRequest names the domain.
type TraceRequest struct {
	Domain string `json:"domain"` // name or UUID
}

// Trace is how the last start of a domain went.
type Trace struct {
	Domain string `json:"domain"`
	Began  string `json:"began"` // RFC 3339
	Spans  []Span `json:"spans"`
}

// Span is one part of a start, in microseconds since the beginning.
type Span struct {
	Name  string `json:"name"` // parse, plan, links, firewall, exec, qmp, kernel, dhcp, agent
	Start int64  `json:"start_us"`
	Took  int64  `json:"took_us"`
	Note  string `json:"note,omitempty"`
}

// AgentRequest is handed to the agent in the guest.
type AgentRequest struct {
	Domain  string          `json:"domain"` // name or UUID
	Request json.RawMessage `json:"request"`
}

// Version says what the daemon is.
type Version struct {
	Version  string `json:"version"` // git describe
	QEMU     string `json:"qemu,omitempty"`
	Root     string `json:"root,omitempty"`
	Protocol uint32 `json:"protocol"`
}

// Missing is what clients called and the daemon does not serve (VIR_ERR_NO_SUPPORT), since it began to serve.
type Missing struct {
	Since  int64         `json:"since"`            // seconds since 1970
	Calls  []MissingCall `json:"calls"`            // the most frequent first
	Others uint64        `json:"others,omitempty"` // calls that came after as many kinds were told apart as are kept
}

// MissingCall is one procedure that one kind of client called.
type MissingCall struct {
	Call      string `json:"call"`      // the function of libvirt: virDomainMigratePerform
	Program   uint32 `json:"program"`   // of libvirt's protocol
	Procedure uint32 `json:"procedure"` // within the program
	Client    string `json:"client"`    // name of its process
	Count     uint64 `json:"count"`
	Last      int64  `json:"last"` // seconds since 1970
}
