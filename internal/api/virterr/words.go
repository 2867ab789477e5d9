package virterr

// words are what libvirt's clients and their users expect in front of the detail of a message (public strings: scripts
// look for them).
func (c Code) words() string {
	switch c {
	case InternalError:
		return "internal error"
	case NoMemory:
		return "out of memory"
	case NoSupport:
		return "this function is not supported by the connection driver"
	case InvalidConn:
		return "invalid connection pointer in"
	case InvalidDomain:
		return "invalid domain pointer in"
	case InvalidArg:
		return "invalid argument"
	case OperationFailed:
		return "operation failed"
	case XMLError:
		return "XML error"
	case DomExist:
		return "domain already exists"
	case OperationDenied:
		return "operation forbidden"
	case XMLDetail:
		return "XML error"
	case NetworkExist:
		return "network already exists"
	case SystemError, RPC:
		return ""
	case NoDomain:
		return "Domain not found"
	case NoNetwork:
		return "Network not found"
	case NoStoragePool:
		return "Storage pool not found"
	case NoStorageVol:
		return "Storage volume not found"
	case NoNodeDevice:
		return "Node device not found"
	case OperationInvalid:
		return "Requested operation is not valid"
	case NoInterface:
		return "Interface not found"
	case NoNWFilter:
		return "Network filter not found"
	case NoSecret:
		return "Secret not found"
	case ConfigUnsupported:
		return "unsupported configuration"
	case OperationTimeout:
		return "Timed out during operation"
	default:
		return c.laterWords()
	}
}

func (c Code) laterWords() string {
	switch c {
	case NoDomainSnapshot:
		return "Domain snapshot not found"
	case InvalidStream:
		return "invalid stream pointer"
	case ArgumentUnsupported:
		return "argument unsupported"
	case OperationAborted:
		return "operation aborted"
	case NoDomainMetadata:
		return "metadata not found"
	case NoNetworkMetadata:
		return "metadata not found"
	case Overflow:
		return "numerical overflow"
	case OperationUnsupported:
		return "Operation not supported"
	case AgentUnresponsive:
		return "Guest agent is not responding"
	case ResourceBusy:
		return "resource busy"
	case AccessDenied:
		return "access denied"
	case AuthUnavailable:
		return "authentication unavailable"
	case DeviceMissing:
		return "device not found"
	case NoNWFilterBinding:
		return "Network filter binding not found"
	case NoDomainCheckpoint:
		return "Domain checkpoint not found"
	case NoNetworkPort:
		return "network port not found"
	default:
		return ""
	}
}

func (c Code) message(detail string) string {
	w := c.words()
	switch {
	case w == "":
		return detail
	case detail == "":
		return w
	}
	return w + ": " + detail
}

// domain is where an error of this code comes from when nobody says otherwise.
func (c Code) domain() Domain {
	switch c {
	case NoDomain, DomExist, InvalidDomain:
		return FromQEMU
	case NoNetwork, NetworkExist, InvalidNetwork, NoNetworkMetadata:
		return FromNetwork
	case RPC:
		return FromRPC
	case NoSupport:
		return FromRPC
	case NoStoragePool, NoStorageVol:
		return FromStorage
	case NoNodeDevice:
		return FromNodeDev
	case NoInterface:
		return FromInterface
	case NoNWFilter, NoNWFilterBinding:
		return FromNWFilter
	case NoSecret:
		return FromSecret
	case XMLError, XMLDetail:
		return FromXML
	case InvalidStream:
		return FromStreams
	default:
		return FromQEMU
	}
}
