package remote

import "taproom/internal/api/xdr"

// Procedures are all calls of libvirt's program that the server answers.
func Procedures() []Procedure {
	var all []Procedure
	for _, group := range [][]Procedure{
		connectProcedures(),
		domainProcedures(),
		jobProcedures(),
		saveProcedures(),
		sleepProcedures(),
		networkProcedures(),
		networkPortProcedures(),
		nwfilterProcedures(),
		eventProcedures(),
		storageProcedures(),
		balloonProcedures(),
		absentProcedures(),
		metadataProcedures(),
		deviceProcedures(),
		iftuneProcedures(),
		graphicsProcedures(),
		agentProcedures(),
		inputProcedures(),
		tuningProcedures(),
		tunableProcedures(),
		nodeDeviceProcedures(),
	} {
		all = append(all, group...)
	}
	return all
}

// connectProcedures: Connections and the host.
func connectProcedures() []Procedure {
	return []Procedure{
		proc[xdr.Void, Ints](ProcAuthList, "AUTH_LIST", ReadOnly|Priority|Quick|BeforeOpen),
		proc[xdr.Void, Int](ProcAuthPolkit, "AUTH_POLKIT", ReadOnly|Priority|Quick|BeforeOpen),
		proc[OptStringFlags, xdr.Void](ProcConnectOpen, "CONNECT_OPEN", ReadOnly|Priority|Quick|BeforeOpen),
		proc[xdr.Void, xdr.Void](ProcConnectClose, "CONNECT_CLOSE", ReadOnly|Priority|Quick|BeforeOpen),
		proc[Int, Int](ProcConnectSupportsFeature, "CONNECT_SUPPORTS_FEATURE", ReadOnly|Priority|Quick|BeforeOpen),
		proc[xdr.Void, String](ProcConnectGetType, "CONNECT_GET_TYPE", ReadOnly|Priority|Quick),
		proc[xdr.Void, Uint64](ProcConnectGetVersion, "CONNECT_GET_VERSION", ReadOnly|Priority|Quick),
		proc[xdr.Void, Uint64](ProcConnectGetLibVersion, "CONNECT_GET_LIB_VERSION", ReadOnly|Priority|Quick),
		proc[xdr.Void, String](ProcConnectGetHostname, "CONNECT_GET_HOSTNAME", ReadOnly|Priority|Quick),
		proc[xdr.Void, String](ProcConnectGetURI, "CONNECT_GET_URI", ReadOnly|Priority|Quick),
		proc[OptString, Int](ProcConnectGetMaxVCPUs, "CONNECT_GET_MAX_VCPUS", ReadOnly|Priority),
		proc[xdr.Void, String](ProcConnectGetCapabilities, "CONNECT_GET_CAPABILITIES", ReadOnly|Priority),
		proc[DomainCapabilitiesArgs, String](ProcConnectGetDomainCapabilities, "CONNECT_GET_DOMAIN_CAPABILITIES", Priority), // its argument is a program that is run: CVE-2019-10167
		proc[CPUModelsArgs, CPUModels](ProcConnectGetCPUModelNames, "CONNECT_GET_CPU_MODEL_NAMES", ReadOnly|Priority),
		proc[Uint, String](ProcConnectGetSysinfo, "CONNECT_GET_SYSINFO", ReadOnly|Priority),
		proc[xdr.Void, Int](ProcConnectIsSecure, "CONNECT_IS_SECURE", ReadOnly|Priority|Quick),
		proc[Identity, xdr.Void](ProcConnectSetIdentity, "CONNECT_SET_IDENTITY", Priority|Quick),
		proc[xdr.Void, xdr.Void](ProcConnectRegisterCloseCallback, "CONNECT_REGISTER_CLOSE_CALLBACK", ReadOnly|Priority|Quick),
		proc[xdr.Void, xdr.Void](ProcConnectUnregisterCloseCallback, "CONNECT_UNREGISTER_CLOSE_CALLBACK", ReadOnly|Priority|Quick),
		proc[xdr.Void, NodeInfo](ProcNodeGetInfo, "NODE_GET_INFO", ReadOnly|Priority|Quick),
		proc[xdr.Void, Uint64](ProcNodeGetFreeMemory, "NODE_GET_FREE_MEMORY", ReadOnly|Priority|Quick),
		proc[NodeCPUStatsArgs, NodeStats](ProcNodeGetCPUStats, "NODE_GET_CPU_STATS", ReadOnly|Priority|Quick),
		proc[NodeMemoryStatsArgs, NodeStats](ProcNodeGetMemoryStats, "NODE_GET_MEMORY_STATS", ReadOnly|Priority|Quick),
		proc[xdr.Void, SecurityModel](ProcNodeGetSecurityModel, "NODE_GET_SECURITY_MODEL", ReadOnly|Priority|Quick),
		proc[CPUMapArgs, CPUMap](ProcNodeGetCPUMap, "NODE_GET_CPU_MAP", ReadOnly|Priority|Quick),
	}
}

// domainProcedures: Domains: what there is.
func domainProcedures() []Procedure {
	return []Procedure{
		proc[NeedFlags, Domains](ProcConnectListAllDomains, "CONNECT_LIST_ALL_DOMAINS", ReadOnly|Priority|Quick),
		proc[Int, Ints](ProcConnectListDomains, "CONNECT_LIST_DOMAINS", ReadOnly|Priority|Quick),
		proc[xdr.Void, Int](ProcConnectNumOfDomains, "CONNECT_NUM_OF_DOMAINS", ReadOnly|Priority|Quick),
		proc[Int, Strings](ProcConnectListDefinedDomains, "CONNECT_LIST_DEFINED_DOMAINS", ReadOnly|Priority|Quick),
		proc[xdr.Void, Int](ProcConnectNumOfDefinedDomains, "CONNECT_NUM_OF_DEFINED_DOMAINS", ReadOnly|Priority|Quick),
		proc[Int, Domain](ProcDomainLookupByID, "DOMAIN_LOOKUP_BY_ID", ReadOnly|Priority|Quick),
		proc[String, Domain](ProcDomainLookupByName, "DOMAIN_LOOKUP_BY_NAME", ReadOnly|Priority|Quick),
		proc[UUID, Domain](ProcDomainLookupByUUID, "DOMAIN_LOOKUP_BY_UUID", ReadOnly|Priority|Quick),
		proc[Domain, DomainInfo](ProcDomainGetInfo, "DOMAIN_GET_INFO", ReadOnly|Priority|Quick),
		proc[DomainFlags, DomainState](ProcDomainGetState, "DOMAIN_GET_STATE", ReadOnly|Priority|Quick),
		proc[DomainFlags, String](ProcDomainGetXMLDesc, "DOMAIN_GET_XML_DESC", ReadOnly|Priority),
		proc[Domain, Int](ProcDomainGetAutostart, "DOMAIN_GET_AUTOSTART", ReadOnly|Priority|Quick),
		proc[Domain, Uint64](ProcDomainGetMaxMemory, "DOMAIN_GET_MAX_MEMORY", ReadOnly|Priority|Quick),
		proc[Domain, Int](ProcDomainGetMaxVCPUs, "DOMAIN_GET_MAX_VCPUS", ReadOnly|Priority|Quick),
		proc[DomainFlags, Int](ProcDomainGetVCPUsFlags, "DOMAIN_GET_VCPUS_FLAGS", ReadOnly|Priority),
		proc[Domain, String](ProcDomainGetOSType, "DOMAIN_GET_OS_TYPE", ReadOnly|Priority|Quick),
		proc[Domain, Int](ProcDomainIsActive, "DOMAIN_IS_ACTIVE", ReadOnly|Priority|Quick),
		proc[Domain, Int](ProcDomainIsPersistent, "DOMAIN_IS_PERSISTENT", ReadOnly|Priority|Quick),
		proc[Domain, Int](ProcDomainIsUpdated, "DOMAIN_IS_UPDATED", ReadOnly|Priority|Quick),
		proc[DomainFlags, Strings](ProcDomainGetMessages, "DOMAIN_GET_MESSAGES", ReadOnly|Priority|Quick),
		proc[Domain, SecurityLabel](ProcDomainGetSecurityLabel, "DOMAIN_GET_SECURITY_LABEL", ReadOnly|Priority|Quick),
		proc[DomainFlags, Int](ProcDomainHasManagedSaveImage, "DOMAIN_HAS_MANAGED_SAVE_IMAGE", ReadOnly|Priority|Quick),
		proc[DomainNeedFlags, Empty](ProcDomainListAllSnapshots, "DOMAIN_LIST_ALL_SNAPSHOTS", ReadOnly|Priority|Quick),
		proc[DomainFlags, Int](ProcDomainSnapshotNum, "DOMAIN_SNAPSHOT_NUM", ReadOnly|Priority|Quick),
		proc[DomainFlags, Int](ProcDomainHasCurrentSnapshot, "DOMAIN_HAS_CURRENT_SNAPSHOT", ReadOnly|Priority|Quick),
		proc[DomainNeedFlags, Empty](ProcDomainListAllCheckpoints, "DOMAIN_LIST_ALL_CHECKPOINTS", ReadOnly|Priority|Quick),
		proc[StatsArgs, Stats](ProcConnectGetAllDomainStats, "CONNECT_GET_ALL_DOMAIN_STATS", ReadOnly|Priority),
		proc[DomainUintFlags, Interfaces](ProcDomainInterfaceAddresses, "DOMAIN_INTERFACE_ADDRESSES", ReadOnly|Priority),
		proc[DomainString, BlockStats](ProcDomainBlockStats, "DOMAIN_BLOCK_STATS", ReadOnly|Priority),
		proc[ParamsArgs, Params](ProcDomainBlockStatsFlags, "DOMAIN_BLOCK_STATS_FLAGS", ReadOnly|Priority),
		proc[VCPUsArgs, VCPUs](ProcDomainGetVCPUs, "DOMAIN_GET_VCPUS", ReadOnly|Priority),
		proc[DomainStringFlags, BlockInfo](ProcDomainGetBlockInfo, "DOMAIN_GET_BLOCK_INFO", ReadOnly|Priority),
		proc[DomainString, InterfaceStats](ProcDomainInterfaceStats, "DOMAIN_INTERFACE_STATS", ReadOnly|Priority),
		proc[DomainUintFlags, MemoryStats](ProcDomainMemoryStats, "DOMAIN_MEMORY_STATS", ReadOnly|Priority),
	}
}

// jobProcedures: Domains: what changes them.
func jobProcedures() []Procedure {
	return []Procedure{
		proc[StringFlags, Domain](ProcDomainCreateXML, "DOMAIN_CREATE_XML", 0),
		proc[String, Domain](ProcDomainDefineXML, "DOMAIN_DEFINE_XML", Priority),
		proc[StringFlags, Domain](ProcDomainDefineXMLFlags, "DOMAIN_DEFINE_XML_FLAGS", Priority),
		proc[Domain, xdr.Void](ProcDomainCreate, "DOMAIN_CREATE", 0),
		proc[DomainFlags, Domain](ProcDomainCreateWithFlags, "DOMAIN_CREATE_WITH_FLAGS", 0),
		proc[Domain, xdr.Void](ProcDomainSuspend, "DOMAIN_SUSPEND", 0),
		proc[Domain, xdr.Void](ProcDomainResume, "DOMAIN_RESUME", 0),
		proc[Domain, xdr.Void](ProcDomainShutdown, "DOMAIN_SHUTDOWN", 0),
		proc[DomainFlags, xdr.Void](ProcDomainShutdownFlags, "DOMAIN_SHUTDOWN_FLAGS", 0),
		proc[DomainFlags, xdr.Void](ProcDomainReboot, "DOMAIN_REBOOT", 0),
		proc[DomainFlags, xdr.Void](ProcDomainReset, "DOMAIN_RESET", 0),
		proc[Domain, xdr.Void](ProcDomainDestroy, "DOMAIN_DESTROY", Priority),
		proc[DomainFlags, xdr.Void](ProcDomainDestroyFlags, "DOMAIN_DESTROY_FLAGS", Priority),
		proc[Domain, xdr.Void](ProcDomainUndefine, "DOMAIN_UNDEFINE", Priority),
		proc[DomainFlags, xdr.Void](ProcDomainUndefineFlags, "DOMAIN_UNDEFINE_FLAGS", Priority),
		proc[DomainInt, xdr.Void](ProcDomainSetAutostart, "DOMAIN_SET_AUTOSTART", Priority),
		proc[DomainUint64, xdr.Void](ProcDomainSetMemory, "DOMAIN_SET_MEMORY", 0),
		proc[DomainUint64Flags, xdr.Void](ProcDomainSetMemoryFlags, "DOMAIN_SET_MEMORY_FLAGS", 0),
		proc[DomainUint64, xdr.Void](ProcDomainSetMaxMemory, "DOMAIN_SET_MAX_MEMORY", 0),
		proc[DomainInt, xdr.Void](ProcDomainSetVCPUs, "DOMAIN_SET_VCPUS", 0),
		proc[DomainUintFlags, xdr.Void](ProcDomainSetVCPUsFlags, "DOMAIN_SET_VCPUS_FLAGS", 0),
		proc[DomainString, xdr.Void](ProcDomainAttachDevice, "DOMAIN_ATTACH_DEVICE", 0),
		proc[DomainStringFlags, xdr.Void](ProcDomainAttachDeviceFlags, "DOMAIN_ATTACH_DEVICE_FLAGS", 0),
		proc[DomainString, xdr.Void](ProcDomainDetachDevice, "DOMAIN_DETACH_DEVICE", 0),
		proc[DomainStringFlags, xdr.Void](ProcDomainDetachDeviceFlags, "DOMAIN_DETACH_DEVICE_FLAGS", 0),
		proc[DomainStringFlags, xdr.Void](ProcDomainUpdateDeviceFlags, "DOMAIN_UPDATE_DEVICE_FLAGS", 0),
		proc[DomainOptStringFlags, xdr.Void](ProcDomainOpenConsole, "DOMAIN_OPEN_CONSOLE", 0),
		proc[DomainUintFlags, OptString](ProcDomainScreenshot, "DOMAIN_SCREENSHOT", 0),
	}
}

// networkProcedures: Networks.
func networkProcedures() []Procedure {
	return []Procedure{
		proc[NeedFlags, Networks](ProcConnectListAllNetworks, "CONNECT_LIST_ALL_NETWORKS", ReadOnly|Priority|Quick),
		proc[Int, Strings](ProcConnectListNetworks, "CONNECT_LIST_NETWORKS", ReadOnly|Priority|Quick),
		proc[xdr.Void, Int](ProcConnectNumOfNetworks, "CONNECT_NUM_OF_NETWORKS", ReadOnly|Priority|Quick),
		proc[Int, Strings](ProcConnectListDefinedNetworks, "CONNECT_LIST_DEFINED_NETWORKS", ReadOnly|Priority|Quick),
		proc[xdr.Void, Int](ProcConnectNumOfDefinedNetworks, "CONNECT_NUM_OF_DEFINED_NETWORKS", ReadOnly|Priority|Quick),
		proc[String, Network](ProcNetworkLookupByName, "NETWORK_LOOKUP_BY_NAME", ReadOnly|Priority|Quick),
		proc[UUID, Network](ProcNetworkLookupByUUID, "NETWORK_LOOKUP_BY_UUID", ReadOnly|Priority|Quick),
		proc[NetworkFlags, String](ProcNetworkGetXMLDesc, "NETWORK_GET_XML_DESC", ReadOnly|Priority),
		proc[Network, Int](ProcNetworkGetAutostart, "NETWORK_GET_AUTOSTART", ReadOnly|Priority|Quick),
		proc[Network, String](ProcNetworkGetBridgeName, "NETWORK_GET_BRIDGE_NAME", ReadOnly|Priority|Quick),
		proc[Network, Int](ProcNetworkIsActive, "NETWORK_IS_ACTIVE", ReadOnly|Priority|Quick),
		proc[Network, Int](ProcNetworkIsPersistent, "NETWORK_IS_PERSISTENT", ReadOnly|Priority|Quick),
		proc[LeasesArgs, Leases](ProcNetworkGetDHCPLeases, "NETWORK_GET_DHCP_LEASES", ReadOnly|Priority),
		proc[Network, xdr.Void](ProcNetworkCreate, "NETWORK_CREATE", 0),
		proc[String, Network](ProcNetworkCreateXML, "NETWORK_CREATE_XML", 0),
		proc[StringFlags, Network](ProcNetworkCreateXMLFlags, "NETWORK_CREATE_XML_FLAGS", 0),
		proc[String, Network](ProcNetworkDefineXML, "NETWORK_DEFINE_XML", Priority),
		proc[StringFlags, Network](ProcNetworkDefineXMLFlags, "NETWORK_DEFINE_XML_FLAGS", Priority),
		proc[Network, xdr.Void](ProcNetworkDestroy, "NETWORK_DESTROY", 0),
		proc[Network, xdr.Void](ProcNetworkUndefine, "NETWORK_UNDEFINE", Priority),
		proc[NetworkInt, xdr.Void](ProcNetworkSetAutostart, "NETWORK_SET_AUTOSTART", Priority),
		proc[NetworkUpdate, xdr.Void](ProcNetworkUpdate, "NETWORK_UPDATE", Priority),
	}
}

// eventProcedures: Registrations for events. The legacy forms name no callback and no domain.
func eventProcedures() []Procedure {
	return []Procedure{
		proc[xdr.Void, Int](ProcConnectDomainEventRegister, "CONNECT_DOMAIN_EVENT_REGISTER", ReadOnly|Priority|Quick),
		proc[xdr.Void, Int](ProcConnectDomainEventDeregister, "CONNECT_DOMAIN_EVENT_DEREGISTER", ReadOnly|Priority|Quick),
		proc[Int, xdr.Void](ProcConnectDomainEventRegisterAny, "CONNECT_DOMAIN_EVENT_REGISTER_ANY", ReadOnly|Priority|Quick),
		proc[Int, xdr.Void](ProcConnectDomainEventDeregisterAny, "CONNECT_DOMAIN_EVENT_DEREGISTER_ANY", ReadOnly|Priority|Quick),
		proc[DomainEventRegister, Int](ProcConnectDomainEventCallbackRegisterAny, "CONNECT_DOMAIN_EVENT_CALLBACK_REGISTER_ANY", ReadOnly|Priority|Quick),
		proc[Int, xdr.Void](ProcConnectDomainEventCallbackDeregisterAny, "CONNECT_DOMAIN_EVENT_CALLBACK_DEREGISTER_ANY", ReadOnly|Priority|Quick),
		proc[NetworkEventRegister, Int](ProcConnectNetworkEventRegisterAny, "CONNECT_NETWORK_EVENT_REGISTER_ANY", ReadOnly|Priority|Quick),
		proc[Int, xdr.Void](ProcConnectNetworkEventDeregisterAny, "CONNECT_NETWORK_EVENT_DEREGISTER_ANY", ReadOnly|Priority|Quick),
		proc[NetworkEventRegister, Int](ProcConnectStoragePoolEventRegisterAny, "CONNECT_STORAGE_POOL_EVENT_REGISTER_ANY", ReadOnly|Priority|Quick),
		proc[Int, xdr.Void](ProcConnectStoragePoolEventDeregisterAny, "CONNECT_STORAGE_POOL_EVENT_DEREGISTER_ANY", ReadOnly|Priority|Quick),
		proc[NodeDeviceEventRegister, Int](ProcConnectNodeDeviceEventRegisterAny, "CONNECT_NODE_DEVICE_EVENT_REGISTER_ANY", ReadOnly|Priority),
		proc[Int, xdr.Void](ProcConnectNodeDeviceEventDeregisterAny, "CONNECT_NODE_DEVICE_EVENT_DEREGISTER_ANY", ReadOnly|Priority|Quick),
		proc[SecretEventRegister, Int](ProcConnectSecretEventRegisterAny, "CONNECT_SECRET_EVENT_REGISTER_ANY", ReadOnly|Priority|Quick),
		proc[Int, xdr.Void](ProcConnectSecretEventDeregisterAny, "CONNECT_SECRET_EVENT_DEREGISTER_ANY", ReadOnly|Priority|Quick),
	}
}

// absentProcedures: What there is none of here: secrets, interfaces of the host that are defined. Lists are empty, lookups find nothing.
func absentProcedures() []Procedure {
	return []Procedure{
		proc[NeedFlags, Empty](ProcConnectListAllInterfaces, "CONNECT_LIST_ALL_INTERFACES", ReadOnly|Priority|Quick),
		proc[Int, Strings](ProcConnectListInterfaces, "CONNECT_LIST_INTERFACES", ReadOnly|Priority|Quick),
		proc[xdr.Void, Int](ProcConnectNumOfInterfaces, "CONNECT_NUM_OF_INTERFACES", ReadOnly|Priority|Quick),
		proc[Int, Strings](ProcConnectListDefinedInterfaces, "CONNECT_LIST_DEFINED_INTERFACES", ReadOnly|Priority|Quick),
		proc[xdr.Void, Int](ProcConnectNumOfDefinedInterfaces, "CONNECT_NUM_OF_DEFINED_INTERFACES", ReadOnly|Priority|Quick),
		proc[String, NameMAC](ProcInterfaceLookupByName, "INTERFACE_LOOKUP_BY_NAME", ReadOnly|Priority|Quick),
		proc[String, NameMAC](ProcInterfaceLookupByMACString, "INTERFACE_LOOKUP_BY_MAC_STRING", ReadOnly|Priority|Quick),
		proc[NameMAC, Int](ProcInterfaceIsActive, "INTERFACE_IS_ACTIVE", ReadOnly|Priority|Quick),
		proc[NeedFlags, Empty](ProcConnectListAllSecrets, "CONNECT_LIST_ALL_SECRETS", ReadOnly|Priority|Quick),
		proc[Int, Strings](ProcConnectListSecrets, "CONNECT_LIST_SECRETS", ReadOnly|Priority|Quick),
		proc[xdr.Void, Int](ProcConnectNumOfSecrets, "CONNECT_NUM_OF_SECRETS", ReadOnly|Priority|Quick),
		proc[UUID, xdr.Void](ProcSecretLookupByUUID, "SECRET_LOOKUP_BY_UUID", ReadOnly|Priority|Quick),
		proc[IntString, xdr.Void](ProcSecretLookupByUsage, "SECRET_LOOKUP_BY_USAGE", ReadOnly|Priority|Quick),
	}
}
