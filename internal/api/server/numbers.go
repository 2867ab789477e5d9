package server

// The numbers below are public constants of libvirt (its headers, and python3-libvirt).

// States of a domain.
const (
	DomainNostate     = 0
	DomainRunning     = 1
	DomainBlocked     = 2
	DomainPaused      = 3
	DomainShutdown    = 4
	DomainShutoff     = 5
	DomainCrashed     = 6
	DomainPmsuspended = 7
)

// Reasons for the state running.
const (
	RunningUnknown           = 0
	RunningBooted            = 1
	RunningMigrated          = 2
	RunningRestored          = 3
	RunningFromSnapshot      = 4
	RunningUnpaused          = 5
	RunningMigrationCanceled = 6
	RunningSaveCanceled      = 7
	RunningWakeup            = 8
	RunningCrashed           = 9
)

// Reasons for the state paused.
const (
	PausedUnknown      = 0
	PausedUser         = 1
	PausedMigration    = 2
	PausedSave         = 3
	PausedDump         = 4
	PausedIoerror      = 5
	PausedWatchdog     = 6
	PausedFromSnapshot = 7
	PausedShuttingDown = 8
	PausedSnapshot     = 9
	PausedCrashed      = 10
	PausedStartingUp   = 11
)

// Reasons for the state shutdown.
const (
	ShutdownUnknown = 0
	ShutdownUser    = 1
)

// Reasons for the state shutoff.
const (
	ShutoffUnknown      = 0
	ShutoffShutdown     = 1
	ShutoffDestroyed    = 2
	ShutoffCrashed      = 3
	ShutoffMigrated     = 4
	ShutoffSaved        = 5
	ShutoffFailed       = 6
	ShutoffFromSnapshot = 7
	ShutoffDaemon       = 8
)

// Reasons for the state crashed.
const (
	CrashedUnknown  = 0
	CrashedPanicked = 1
)

// Flags of a start.
const (
	StartPaused      = 1
	StartAutodestroy = 2
	StartBypassCache = 4
	StartForceBoot   = 8
	StartValidate    = 16
	StartResetNVRAM  = 32
)

// Flags of a definition.
const (
	DefineValidate = 1
)

// Flags of a domain document.
const (
	XMLSecure          = 1
	XMLInactive        = 2
	XMLUpdateCPU       = 4
	XMLMigratable      = 8
	NetworkXMLInactive = 1
)

// Ways to shut down; a set of them may be tried in turn.
const (
	ShutdownAcpiPowerBtn = 1
	ShutdownGuestAgent   = 2
	ShutdownInitctl      = 4
	ShutdownSignal       = 8
	ShutdownParavirt     = 16
)

// Flags of destroy, console, memory, virtual CPUs, and of what a change affects.
const (
	DestroyGraceful = 1
	ConsoleForce    = 1
	ConsoleSafe     = 2
	AffectCurrent   = 0
	AffectLive      = 1
	AffectConfig    = 2
	DeviceForce     = 4
	BlockBytes      = 1
	MemoryMaximum   = 4
	VCPULive        = 1
	VCPUConfig      = 2
	VCPUMaximum     = 4
	VCPUGuest       = 8
)

// Flags of undefine.
const (
	UndefineManagedSave         = 1
	UndefineSnapshotsMetadata   = 2
	UndefineNvram               = 4
	UndefineKeepNvram           = 8
	UndefineCheckpointsMetadata = 16
	UndefineTPM                 = 32
	UndefineKeepTPM             = 64
)

// Filters of the list of domains.
const (
	ListActive        = 1
	ListInactive      = 2
	ListPersistent    = 4
	ListTransient     = 8
	ListRunning       = 16
	ListPaused        = 32
	ListShutoff       = 64
	ListOther         = 128
	ListManagedsave   = 256
	ListNoManagedsave = 512
	ListAutostart     = 1024
	ListNoAutostart   = 2048
	ListHasSnapshot   = 4096
	ListNoSnapshot    = 8192
	ListHasCheckpoint = 16384
	ListNoCheckpoint  = 32768
)

// Filters of the list of networks.
const (
	ListNetworksInactive    = 1
	ListNetworksActive      = 2
	ListNetworksPersistent  = 4
	ListNetworksTransient   = 8
	ListNetworksAutostart   = 16
	ListNetworksNoAutostart = 32
)

// Groups of domain statistics.
const (
	StatsState     = 1
	StatsCpuTotal  = 2
	StatsBalloon   = 4
	StatsVcpu      = 8
	StatsInterface = 16
	StatsBlock     = 32
	StatsPerf      = 64
	StatsIothread  = 128
	StatsMemory    = 256
	StatsDirtyrate = 512
)

// Sources of addresses.
const (
	AddressesLease = 0
	AddressesAgent = 1
	AddressesARP   = 2
)

// Figures of a guest's memory.
const (
	MemoryStatSwapIn         = 0
	MemoryStatSwapOut        = 1
	MemoryStatMajorFault     = 2
	MemoryStatMinorFault     = 3
	MemoryStatUnused         = 4
	MemoryStatAvailable      = 5
	MemoryStatActualBalloon  = 6
	MemoryStatRss            = 7
	MemoryStatUsable         = 8
	MemoryStatLastUpdate     = 9
	MemoryStatDiskCaches     = 10
	MemoryStatHugetlbPgalloc = 11
	MemoryStatHugetlbPgfail  = 12
)

// Events of a domain's life.
const (
	EventDefined     = 0
	EventUndefined   = 1
	EventStarted     = 2
	EventSuspended   = 3
	EventResumed     = 4
	EventStopped     = 5
	EventShutdown    = 6
	EventPmsuspended = 7
	EventCrashed     = 8
)

// Details of events.
const (
	EventDefinedAdded      = 0
	EventDefinedUpdated    = 1
	EventDefinedRenamed    = 2
	EventUndefinedRemoved  = 0
	EventUndefinedRenamed  = 1
	EventStartedBooted     = 0
	EventStartedWakeup     = 4
	EventSuspendedPaused   = 0
	EventSuspendedIoerror  = 2
	EventSuspendedWatchdog = 3
	EventResumedUnpaused   = 0
	EventStoppedShutdown   = 0
	EventStoppedDestroyed  = 1
	EventStoppedCrashed    = 2
	EventStoppedFailed     = 5
	EventShutdownFinished  = 0
	EventShutdownGuest     = 1
	EventShutdownHost      = 2
	EventCrashedPanicked   = 0
)

// What is told of the agent in a guest, and why.
const (
	AgentConnected     = 1
	AgentDisconnected  = 2
	AgentReasonChannel = 2
)

// Events of a network's life.
const (
	NetworkEventDefined   = 0
	NetworkEventUndefined = 1
	NetworkEventStarted   = 2
	NetworkEventStopped   = 3
)
