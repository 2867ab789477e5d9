package remote

// Kinds of domain events (virDomainEventID).
const (
	EventLifecycle              = 0
	EventReboot                 = 1
	EventRTCChange              = 2
	EventWatchdog               = 3
	EventIOError                = 4
	EventGraphics               = 5
	EventIOErrorReason          = 6
	EventControlError           = 7
	EventBlockJob               = 8
	EventDiskChange             = 9
	EventTrayChange             = 10
	EventPMWakeup               = 11
	EventPMSuspend              = 12
	EventBalloonChange          = 13
	EventPMSuspendDisk          = 14
	EventDeviceRemoved          = 15
	EventBlockJob2              = 16
	EventTunable                = 17
	EventAgentLifecycle         = 18
	EventDeviceAdded            = 19
	EventMigrationIteration     = 20
	EventJobCompleted           = 21
	EventDeviceRemovalFailed    = 22
	EventMetadataChange         = 23
	EventBlockThreshold         = 24
	EventMemoryFailure          = 25
	EventMemoryDeviceSizeChange = 26
	EventNICMACChange           = 27

	EventLast       = EventNICMACChange  // the newest kind of libvirt 11.3; higher ones are refused
	EventLastLegacy = EventDeviceRemoved // the newest kind that the form without callback numbers knows
)

// Kinds of network events (virNetworkEventID).
const (
	NetworkEventLifecycle      = 0
	NetworkEventMetadataChange = 1
)

// Events that the server sends; the first group has no callback numbers.
const (
	ProcDomainEventLifecycle     = 107
	ProcDomainEventReboot        = 169
	ProcDomainEventRTCChange     = 170
	ProcDomainEventWatchdog      = 171
	ProcDomainEventIOError       = 172
	ProcDomainEventGraphics      = 173
	ProcDomainEventIOErrorReason = 195
	ProcDomainEventControlError  = 224
	ProcDomainEventBlockJob      = 241
	ProcDomainEventDiskChange    = 248
	ProcDomainEventTrayChange    = 268
	ProcDomainEventPMWakeup      = 269
	ProcDomainEventPMSuspend     = 270
	ProcDomainEventBalloonChange = 276
	ProcDomainEventPMSuspendDisk = 292
	ProcDomainEventDeviceRemoved = 311

	ProcNetworkEventLifecycle                  = 315
	ProcDomainEventCallbackLifecycle           = 318
	ProcDomainEventCallbackReboot              = 319
	ProcDomainEventCallbackRTCChange           = 320
	ProcDomainEventCallbackWatchdog            = 321
	ProcDomainEventCallbackIOError             = 322
	ProcDomainEventCallbackGraphics            = 323
	ProcDomainEventCallbackIOErrorReason       = 324
	ProcDomainEventCallbackControlError        = 325
	ProcDomainEventCallbackBlockJob            = 326
	ProcDomainEventCallbackDiskChange          = 327
	ProcDomainEventCallbackTrayChange          = 328
	ProcDomainEventCallbackPMWakeup            = 329
	ProcDomainEventCallbackPMSuspend           = 330
	ProcDomainEventCallbackBalloonChange       = 331
	ProcDomainEventCallbackPMSuspendDisk       = 332
	ProcDomainEventCallbackDeviceRemoved       = 333
	ProcDomainEventBlockJob2                   = 339
	ProcDomainEventCallbackTunable             = 346
	ProcDomainEventCallbackAgentLifecycle      = 348
	ProcDomainEventCallbackDeviceAdded         = 354
	ProcDomainEventCallbackJobCompleted        = 363
	ProcDomainEventCallbackDeviceRemovalFailed = 367
	ProcDomainEventCallbackMetadataChange      = 379
	ProcDomainEventBlockThreshold              = 385
	ProcDomainEventMemoryFailure               = 423
	ProcDomainEventMemoryDeviceSizeChange      = 438
	ProcNetworkEventCallbackMetadataChange     = 446
	ProcDomainEventNICMACChange                = 453
)
