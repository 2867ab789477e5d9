package remote

import "taproom/internal/api/xdr"

// Procedures of the program of what only QEMU has.
const (
	QEMUMonitorCommand         = 1
	QEMUAgentCommand           = 3
	QEMUMonitorEventRegister   = 4
	QEMUMonitorEventDeregister = 5
	QEMUMonitorEvent           = 6 // a message: MonitorEvent
)

// QEMUProcedures are all calls of the program of what only QEMU has that the server answers.
func QEMUProcedures() []Procedure {
	return []Procedure{
		proc[DomainStringFlags, String](QEMUMonitorCommand, "DOMAIN_MONITOR_COMMAND", 0),
		proc[AgentCommandArgs, OptString](QEMUAgentCommand, "DOMAIN_AGENT_COMMAND", 0),
		proc[MonitorEventRegister, Int](QEMUMonitorEventRegister, "CONNECT_DOMAIN_MONITOR_EVENT_REGISTER", Priority|Quick),
		proc[Int, xdr.Void](QEMUMonitorEventDeregister, "CONNECT_DOMAIN_MONITOR_EVENT_DEREGISTER", Priority|Quick),
	}
}

// AgentCommandArgs is the arguments of DOMAIN_AGENT_COMMAND.
type AgentCommandArgs struct {
	Domain
	Command string
	Timeout int32
	Flags   uint32
}

// XDR implements xdr.Value.
func (v *AgentCommandArgs) XDR(x *xdr.Coder) {
	v.Domain.XDR(x)
	x.String(&v.Command)
	x.Int32(&v.Timeout)
	x.Uint32(&v.Flags)
}

// CallFlags implements Flagged.
func (v *AgentCommandArgs) CallFlags() uint32 { return v.Flags }

// MonitorEventRegister asks for events of QEMU's monitor: of one domain or of all, of one name or of all.
type MonitorEventRegister struct {
	Domain *Domain
	Event  OptString
	Flags  uint32
}

// XDR implements xdr.Value.
func (v *MonitorEventRegister) XDR(x *xdr.Coder) {
	xdr.Optional(x, &v.Domain)
	v.Event.XDR(x)
	x.Uint32(&v.Flags)
}

// MonitorEvent is an event as QEMU's monitor told it.
type MonitorEvent struct {
	Callback int32
	Domain   Domain
	Event    string
	Seconds  int64
	Micros   uint32
	Details  OptString // JSON
}

// XDR implements xdr.Value.
func (v *MonitorEvent) XDR(x *xdr.Coder) {
	x.Int32(&v.Callback)
	v.Domain.XDR(x)
	x.String(&v.Event)
	x.Int64(&v.Seconds)
	x.Uint32(&v.Micros)
	v.Details.XDR(x)
}
