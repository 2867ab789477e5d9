package remote

// Procedures of libvirt's program, by group.

// Connections and the host.
const (
	ProcAuthList                       = 66
	ProcAuthPolkit                     = 70
	ProcConnectOpen                    = 1
	ProcConnectClose                   = 2
	ProcConnectSupportsFeature         = 60
	ProcConnectGetType                 = 3
	ProcConnectGetVersion              = 4
	ProcConnectGetLibVersion           = 157
	ProcConnectGetHostname             = 59
	ProcConnectGetURI                  = 110
	ProcConnectGetMaxVCPUs             = 5
	ProcConnectGetCapabilities         = 7
	ProcConnectGetDomainCapabilities   = 342
	ProcConnectGetCPUModelNames        = 312
	ProcConnectGetSysinfo              = 203
	ProcConnectIsSecure                = 149
	ProcConnectSetIdentity             = 419
	ProcConnectRegisterCloseCallback   = 360
	ProcConnectUnregisterCloseCallback = 361
	ProcNodeGetInfo                    = 6
	ProcNodeGetFreeMemory              = 102
	ProcNodeGetCPUStats                = 227
	ProcNodeGetMemoryStats             = 228
	ProcNodeGetSecurityModel           = 122
	ProcNodeGetCPUMap                  = 293
)

// Domains: what there is.
const (
	ProcConnectListAllDomains        = 273
	ProcConnectListDomains           = 37
	ProcConnectNumOfDomains          = 51
	ProcConnectListDefinedDomains    = 21
	ProcConnectNumOfDefinedDomains   = 25
	ProcDomainLookupByID             = 22
	ProcDomainLookupByName           = 23
	ProcDomainLookupByUUID           = 24
	ProcDomainGetInfo                = 16
	ProcDomainGetState               = 212
	ProcDomainGetXMLDesc             = 14
	ProcDomainGetAutostart           = 15
	ProcDomainGetMaxMemory           = 17
	ProcDomainGetMaxVCPUs            = 18
	ProcDomainGetVCPUsFlags          = 200
	ProcDomainGetOSType              = 19
	ProcDomainIsActive               = 150
	ProcDomainIsPersistent           = 151
	ProcDomainIsUpdated              = 202
	ProcDomainGetMessages            = 426
	ProcDomainGetSecurityLabel       = 121
	ProcDomainHasManagedSaveImage    = 183
	ProcDomainListAllSnapshots       = 274
	ProcDomainSnapshotNum            = 187
	ProcDomainHasCurrentSnapshot     = 190
	ProcDomainListAllCheckpoints     = 413
	ProcDomainSetInterfaceParameters = 256
	ProcDomainGetInterfaceParameters = 257
	ProcConnectGetAllDomainStats     = 344
	ProcDomainInterfaceAddresses     = 353
	ProcDomainBlockStats             = 64
	ProcDomainBlockStatsFlags        = 243
	ProcDomainGetVCPUs               = 20
	ProcDomainGetBlockInfo           = 194
	ProcDomainInterfaceStats         = 65
	ProcDomainMemoryStats            = 159
)

// Domains: what changes them.
const (
	ProcDomainCreateXML         = 10
	ProcDomainDefineXML         = 11
	ProcDomainDefineXMLFlags    = 350
	ProcDomainCreate            = 9
	ProcDomainCreateWithFlags   = 196
	ProcDomainSuspend           = 34
	ProcDomainResume            = 28
	ProcDomainShutdown          = 33
	ProcDomainShutdownFlags     = 258
	ProcDomainReboot            = 27
	ProcDomainReset             = 245
	ProcDomainDestroy           = 12
	ProcDomainDestroyFlags      = 234
	ProcDomainUndefine          = 35
	ProcDomainUndefineFlags     = 231
	ProcDomainSetAutostart      = 29
	ProcDomainSetMemory         = 31
	ProcDomainSetMemoryFlags    = 204
	ProcDomainSetMaxMemory      = 30
	ProcDomainSetVCPUs          = 32
	ProcDomainSetVCPUsFlags     = 199
	ProcDomainAttachDevice      = 8
	ProcDomainAttachDeviceFlags = 160
	ProcDomainDetachDevice      = 13
	ProcDomainDetachDeviceFlags = 161
	ProcDomainUpdateDeviceFlags = 174
	ProcDomainDetachDeviceAlias = 392
	ProcDomainBlockResize       = 251
	ProcDomainSetBlockIOTune    = 252
	ProcDomainGetBlockIOTune    = 253
	ProcDomainOpenConsole       = 201
	ProcDomainOpenGraphics      = 249
	ProcDomainOpenChannel       = 296
	ProcDomainOpenGraphicsFD    = 343
	ProcDomainScreenshot        = 211
)

// Saving and restoring, and jobs.
const (
	ProcDomainCoreDump              = 53
	ProcDomainRestore               = 54
	ProcDomainSave                  = 55
	ProcDomainGetJobInfo            = 163
	ProcDomainAbortJob              = 164
	ProcDomainManagedSave           = 182
	ProcDomainManagedSaveRemove     = 184
	ProcDomainSaveFlags             = 232
	ProcDomainRestoreFlags          = 233
	ProcDomainSaveImageGetXMLDesc   = 235
	ProcDomainSaveImageDefineXML    = 236
	ProcDomainGetJobStats           = 298
	ProcDomainCoreDumpWithFormat    = 334
	ProcDomainManagedSaveGetXMLDesc = 388
	ProcDomainManagedSaveDefineXML  = 389
	ProcDomainSaveParams            = 440
	ProcDomainRestoreParams         = 441
	ProcDomainAbortJobFlags         = 442
)

// Guests that sleep.
const (
	ProcDomainPMSuspendForDuration = 261
	ProcDomainPMWakeup             = 267
)

// Networks.
const (
	ProcConnectListAllNetworks      = 283
	ProcConnectListNetworks         = 38
	ProcConnectNumOfNetworks        = 52
	ProcConnectListDefinedNetworks  = 36
	ProcConnectNumOfDefinedNetworks = 50
	ProcNetworkLookupByName         = 46
	ProcNetworkLookupByUUID         = 47
	ProcNetworkGetXMLDesc           = 43
	ProcNetworkGetAutostart         = 44
	ProcNetworkGetBridgeName        = 45
	ProcNetworkIsActive             = 152
	ProcNetworkIsPersistent         = 153
	ProcNetworkGetDHCPLeases        = 341
	ProcNetworkListAllPorts         = 404
	ProcNetworkPortLookupByUUID     = 405
	ProcNetworkPortCreateXML        = 406
	ProcNetworkPortGetParameters    = 407
	ProcNetworkPortSetParameters    = 408
	ProcNetworkPortGetXMLDesc       = 409
	ProcNetworkPortDelete           = 410
	ProcNetworkCreate               = 39
	ProcNetworkCreateXML            = 40
	ProcNetworkCreateXMLFlags       = 437
	ProcNetworkDefineXML            = 41
	ProcNetworkDefineXMLFlags       = 432
	ProcNetworkDestroy              = 42
	ProcNetworkUndefine             = 49
	ProcNetworkSetAutostart         = 48
	ProcNetworkUpdate               = 291
)

// Registrations for events. The legacy forms name no callback and no domain.
const (
	ProcConnectDomainEventRegister              = 105
	ProcConnectDomainEventDeregister            = 106
	ProcConnectDomainEventRegisterAny           = 167
	ProcConnectDomainEventDeregisterAny         = 168
	ProcConnectDomainEventCallbackRegisterAny   = 316
	ProcConnectDomainEventCallbackDeregisterAny = 317
	ProcConnectNetworkEventRegisterAny          = 313
	ProcConnectNetworkEventDeregisterAny        = 314
	ProcConnectStoragePoolEventRegisterAny      = 368
	ProcConnectStoragePoolEventDeregisterAny    = 369
	ProcConnectNodeDeviceEventRegisterAny       = 374
	ProcConnectNodeDeviceEventDeregisterAny     = 375
	ProcConnectSecretEventRegisterAny           = 380
	ProcConnectSecretEventDeregisterAny         = 381
)

// What there is none of here: secrets, interfaces of the host that are defined. Lists are empty, lookups find nothing.
const (
	ProcConnectListAllInterfaces      = 284
	ProcConnectListInterfaces         = 127
	ProcConnectNumOfInterfaces        = 126
	ProcConnectListDefinedInterfaces  = 138
	ProcConnectNumOfDefinedInterfaces = 137
	ProcInterfaceLookupByName         = 128
	ProcInterfaceLookupByMACString    = 129
	ProcInterfaceIsActive             = 156
	ProcConnectListAllSecrets         = 287
	ProcConnectListSecrets            = 140
	ProcConnectNumOfSecrets           = 139
	ProcSecretLookupByUUID            = 141
	ProcSecretLookupByUsage           = 147
)

// Storage pools and their volumes.
const (
	ProcConnectNumOfStoragePools        = 71
	ProcConnectListStoragePools         = 72
	ProcConnectNumOfDefinedStoragePools = 73
	ProcConnectListDefinedStoragePools  = 74
	ProcStoragePoolCreateXML            = 76
	ProcStoragePoolDefineXML            = 77
	ProcStoragePoolCreate               = 78
	ProcStoragePoolBuild                = 79
	ProcStoragePoolDestroy              = 80
	ProcStoragePoolDelete               = 81
	ProcStoragePoolUndefine             = 82
	ProcStoragePoolRefresh              = 83
	ProcStoragePoolLookupByName         = 84
	ProcStoragePoolLookupByUUID         = 85
	ProcStoragePoolLookupByVolume       = 86
	ProcStoragePoolGetInfo              = 87
	ProcStoragePoolGetXMLDesc           = 88
	ProcStoragePoolGetAutostart         = 89
	ProcStoragePoolSetAutostart         = 90
	ProcStoragePoolNumOfVolumes         = 91
	ProcStoragePoolListVolumes          = 92
	ProcStorageVolCreateXML             = 93
	ProcStorageVolDelete                = 94
	ProcStorageVolLookupByName          = 95
	ProcStorageVolLookupByKey           = 96
	ProcStorageVolLookupByPath          = 97
	ProcStorageVolGetInfo               = 98
	ProcStorageVolGetXMLDesc            = 99
	ProcStorageVolGetPath               = 100
	ProcStorageVolCreateXMLFrom         = 125
	ProcStoragePoolIsActive             = 154
	ProcStoragePoolIsPersistent         = 155
	ProcStorageVolWipe                  = 165
	ProcStorageVolUpload                = 208
	ProcStorageVolDownload              = 209
	ProcStorageVolResize                = 260
	ProcConnectListAllStoragePools      = 281
	ProcStoragePoolListAllVolumes       = 282
	ProcStoragePoolEventLifecycle       = 370
	ProcStoragePoolEventRefresh         = 373
	ProcStorageVolGetInfoFlags          = 378
	ProcStoragePoolLookupByTargetPath   = 391
)

// What the host gives a guest, and its processors.
const (
	ProcConnectCompareHypervisorCPU  = 393
	ProcConnectBaselineHypervisorCPU = 394
	ProcDomainPinVCPU                = 26
	ProcDomainPinVCPUFlags           = 225
	ProcDomainGetVCPUPinInfo         = 230
	ProcDomainPinEmulator            = 279
	ProcDomainGetEmulatorPinInfo     = 280
	ProcDomainGetIOThreadInfo        = 351
	ProcDomainPinIOThread            = 352
	ProcNodeGetCellsFreeMemory       = 101
)

// What a guest gets of the host, by parameters, and what it has used up.
const (
	ProcDomainGetSchedulerType            = 56
	ProcDomainGetSchedulerParameters      = 57
	ProcDomainSetSchedulerParameters      = 58
	ProcDomainSetMemoryParameters         = 197
	ProcDomainGetMemoryParameters         = 198
	ProcDomainSetBlkioParameters          = 205
	ProcDomainGetBlkioParameters          = 206
	ProcDomainSetSchedulerParametersFlags = 219
	ProcDomainGetSchedulerParametersFlags = 223
	ProcDomainSetNumaParameters           = 254
	ProcDomainGetNumaParameters           = 255
	ProcDomainGetCPUStats                 = 262
	ProcNodeGetFreePages                  = 340
	ProcDomainAddIOThread                 = 355
	ProcDomainDelIOThread                 = 356
	ProcDomainSetIOThreadParams           = 402
	ProcDomainGetAutostartOnce            = 449
	ProcDomainSetAutostartOnce            = 450
)
