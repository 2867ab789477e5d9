package server

import (
	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
)

// typedParamStrings is VIR_TYPED_PARAM_STRING_OKAY, which libvirt's clients set by themselves.
const typedParamStrings = 4

// knownFlags are the flags that a call of libvirt's program takes. A flag that asks for what cannot be done is refused
// rather than dropped: a guest started with autodestroy has to go with its client. What there is nothing of here (saved
// images, snapshots, NVRAM) may be asked to go. Calls that are not listed check their flags themselves, or only read.
func knownFlags(procedure uint32) (mask uint32, limited bool) {
	switch procedure {
	case remote.ProcDomainCreateXML, remote.ProcDomainCreateWithFlags:
		return StartPaused | StartAutodestroy | StartBypassCache | StartForceBoot | StartValidate | StartResetNVRAM, true
	case remote.ProcDomainDefineXMLFlags, remote.ProcNetworkDefineXMLFlags, remote.ProcNetworkCreateXMLFlags, remote.ProcNWFilterDefineXMLFlags, remote.ProcNWFilterBindingCreateXML:
		return DefineValidate, true
	case remote.ProcDomainShutdownFlags, remote.ProcDomainReboot:
		return ShutdownAcpiPowerBtn | ShutdownGuestAgent | ShutdownInitctl | ShutdownSignal | ShutdownParavirt, true
	case remote.ProcDomainReset, remote.ProcNWFilterGetXMLDesc, remote.ProcNWFilterBindingGetXMLDesc:
		return 0, true
	case remote.ProcDomainDestroyFlags:
		return DestroyGraceful, true
	case remote.ProcDomainUndefineFlags:
		return UndefineManagedSave | UndefineSnapshotsMetadata | UndefineNvram | UndefineKeepNvram |
			UndefineCheckpointsMetadata | UndefineTPM | UndefineKeepTPM, true
	case remote.ProcDomainSaveFlags, remote.ProcDomainManagedSave, remote.ProcDomainSaveParams:
		return SaveBypassCache | SaveRunning | SavePaused, true
	case remote.ProcDomainRestoreFlags, remote.ProcDomainRestoreParams:
		return SaveBypassCache | SaveRunning | SavePaused | SaveResetNVRAM, true
	case remote.ProcDomainSaveImageDefineXML, remote.ProcDomainManagedSaveDefineXML:
		return SaveRunning | SavePaused, true
	case remote.ProcDomainSaveImageGetXMLDesc, remote.ProcDomainManagedSaveGetXMLDesc:
		return SavedXMLSecure, true
	case remote.ProcDomainManagedSaveRemove, remote.ProcDomainPMSuspendForDuration, remote.ProcDomainPMWakeup:
		return 0, true
	case remote.ProcDomainCoreDump, remote.ProcDomainCoreDumpWithFormat:
		return DumpCrash | DumpLive | DumpBypassCache | DumpReset | DumpMemoryOnly, true
	case remote.ProcDomainGetJobStats:
		return jobCompletedStats | jobKeepCompleted, true
	case remote.ProcDomainAbortJobFlags:
		return abortJobPostCopy, true
	case remote.ProcDomainSetMemoryFlags:
		return AffectLive | AffectConfig | MemoryMaximum, true
	case remote.ProcDomainSetVCPUsFlags, remote.ProcDomainGetVCPUsFlags:
		return VCPULive | VCPUConfig | VCPUMaximum | VCPUGuest, true
	case remote.ProcDomainAttachDeviceFlags, remote.ProcDomainDetachDeviceFlags, remote.ProcDomainDetachDeviceAlias, remote.ProcNetworkUpdate:
		return AffectLive | AffectConfig, true
	case remote.ProcDomainSetMetadata, remote.ProcDomainGetMetadata, remote.ProcNetworkSetMetadata, remote.ProcNetworkGetMetadata:
		return AffectLive | AffectConfig, true
	case remote.ProcDomainRename:
		return 0, true
	case remote.ProcNetworkPortCreateXML:
		return PortReclaim | PortValidate, true
	case remote.ProcNetworkPortGetParameters:
		return typedParamStrings, true
	case remote.ProcNetworkPortSetParameters, remote.ProcNetworkPortGetXMLDesc, remote.ProcNetworkPortDelete:
		return 0, true
	case remote.ProcDomainSetBlockIOTune, remote.ProcDomainSetInterfaceParameters:
		return AffectLive | AffectConfig, true
	case remote.ProcDomainGetBlockIOTune, remote.ProcDomainGetInterfaceParameters:
		return AffectLive | AffectConfig | typedParamStrings, true
	case remote.ProcDomainGetSchedulerParametersFlags, remote.ProcDomainGetMemoryParameters, remote.ProcDomainGetBlkioParameters, remote.ProcDomainGetNumaParameters:
		return AffectLive | AffectConfig | typedParamStrings, true
	case remote.ProcDomainSetSchedulerParametersFlags, remote.ProcDomainSetMemoryParameters, remote.ProcDomainSetBlkioParameters, remote.ProcDomainSetNumaParameters,
		remote.ProcDomainAddIOThread, remote.ProcDomainDelIOThread, remote.ProcDomainSetIOThreadParams:
		return AffectLive | AffectConfig, true
	case remote.ProcDomainGetCPUStats:
		return typedParamStrings, true
	case remote.ProcNodeGetFreePages:
		return 0, true
	case remote.ProcDomainBlockResize:
		return BlockBytes, true
	case remote.ProcDomainUpdateDeviceFlags:
		return AffectLive | AffectConfig | DeviceForce, true
	case remote.ProcDomainGetHostname:
		return HostnameLease | HostnameAgent, true
	case remote.ProcDomainSetTime:
		return SetTimeSync, true
	case remote.ProcDomainSetUserPassword:
		return PasswordEncrypted, true
	case remote.ProcDomainAuthorizedSSHKeysSet:
		return SSHKeysAppend | SSHKeysRemove, true
	case remote.ProcDomainFSTrim, remote.ProcDomainFSFreeze, remote.ProcDomainFSThaw, remote.ProcDomainGetTime, remote.ProcDomainGetFSInfo,
		remote.ProcDomainGetGuestVCPUs, remote.ProcDomainSetGuestVCPUs, remote.ProcDomainGetGuestInfo,
		remote.ProcDomainAgentSetResponseTimeout, remote.ProcDomainAuthorizedSSHKeysGet,
		remote.ProcDomainInjectNMI, remote.ProcDomainSendKey, remote.ProcDomainGetControlInfo, remote.ProcDomainGetDiskErrors:
		return 0, true
	case remote.ProcDomainBlockStatsFlags:
		return typedParamStrings, true
	case remote.ProcDomainOpenGraphics, remote.ProcDomainOpenGraphicsFD:
		return OpenGraphicsSkipAuth, true
	case remote.ProcDomainOpenChannel:
		return ChannelForce, true
	case remote.ProcDomainPinVCPUFlags, remote.ProcDomainPinEmulator, remote.ProcDomainPinIOThread, remote.ProcDomainGetVCPUPinInfo,
		remote.ProcDomainGetEmulatorPinInfo, remote.ProcDomainGetIOThreadInfo:
		return AffectLive | AffectConfig, true
	case remote.ProcConnectCompareHypervisorCPU:
		return CompareFailIncompat | CompareValidate, true
	case remote.ProcConnectBaselineHypervisorCPU:
		return BaselineExpandFeatures | BaselineMigratable, true
	case remote.ProcDomainOpenConsole:
		return ConsoleForce | ConsoleSafe, true
	}
	if procedure == remote.ProcDomainSetMemoryStatsPeriod {
		return AffectLive | AffectConfig, true
	}
	return storageFlags(procedure)
}

// checked refuses flags that the call does not take, in libvirt's words.
func checked[A, R any](number uint32, name string, f func(*request, *A, *R) error) func(*request, *A, *R) error {
	mask, limited := knownFlags(number)
	if _, flagged := any(new(A)).(remote.Flagged); !limited || !flagged {
		return f
	}
	return func(q *request, a *A, r *R) error {
		if odd := any(a).(remote.Flagged).CallFlags() &^ mask; odd != 0 {
			return virterr.New(virterr.InvalidArg, "unsupported flags (%#x) in function %s", odd, apiName(name))
		}
		return f(q, a, r)
	}
}
