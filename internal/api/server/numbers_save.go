package server

// Flags of saving and restoring.
const (
	SaveBypassCache = 1
	SaveRunning     = 2
	SavePaused      = 4
	SaveResetNVRAM  = 8
	SavedXMLSecure  = 1
)

// Names of the typed parameters of saving and restoring.
const (
	saveParamFile   = "file"
	saveParamXML    = "dxml"
	saveParamFormat = "image_format"
)

// Flags and formats of core dumps.
const (
	DumpCrash         = 1
	DumpLive          = 2
	DumpBypassCache   = 4
	DumpReset         = 8
	DumpMemoryOnly    = 16
	CoreDumpRaw       = 0
	CoreDumpZlib      = 1
	CoreDumpLZO       = 2
	CoreDumpSnappy    = 3
	CoreDumpWindows   = 4
	coreDumpFormats   = 8 // libvirt 11.3 knows as many
	abortJobPostCopy  = 1
	jobCompletedStats = 1
	jobKeepCompleted  = 2
)

// Types of jobs.
const (
	JobNone      = 0
	JobBounded   = 1
	JobUnbounded = 2
	JobCompleted = 3
	JobFailed    = 4
	JobCancelled = 5
)

// What jobs do.
const (
	JobOperationSave    = 2
	JobOperationRestore = 3
	JobOperationDump    = 8
)

// Details of events that guests have which are saved or restored.
const (
	EventStartedRestored     = 2
	EventSuspendedRestored   = 4
	EventSuspendedAPIError   = 6
	EventResumedFromSnapshot = 2
	EventStoppedSaved        = 4
)
