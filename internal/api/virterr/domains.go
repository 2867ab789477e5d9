package virterr

// Domain is the part of libvirt an error comes from (virErrorDomain).
type Domain int32

// The domains that a hypervisor host can name.
const (
	FromNone             Domain = 0
	FromXen              Domain = 1
	FromXend             Domain = 2
	FromXenstore         Domain = 3
	FromSexpr            Domain = 4
	FromXML              Domain = 5
	FromDom              Domain = 6
	FromRPC              Domain = 7
	FromProxy            Domain = 8
	FromConf             Domain = 9
	FromQEMU             Domain = 10
	FromNet              Domain = 11
	FromTest             Domain = 12
	FromRemote           Domain = 13
	FromOpenvz           Domain = 14
	FromXenxm            Domain = 15
	FromStatsLinux       Domain = 16
	FromLxc              Domain = 17
	FromStorage          Domain = 18
	FromNetwork          Domain = 19
	FromDomain           Domain = 20
	FromUml              Domain = 21
	FromNodeDev          Domain = 22
	FromXenInotify       Domain = 23
	FromSecurity         Domain = 24
	FromVbox             Domain = 25
	FromInterface        Domain = 26
	FromOne              Domain = 27
	FromEsx              Domain = 28
	FromPhyp             Domain = 29
	FromSecret           Domain = 30
	FromCPU              Domain = 31
	FromXenapi           Domain = 32
	FromNWFilter         Domain = 33
	FromHook             Domain = 34
	FromDomainSnapshot   Domain = 35
	FromAudit            Domain = 36
	FromSysinfo          Domain = 37
	FromStreams          Domain = 38
	FromVMware           Domain = 39
	FromEvent            Domain = 40
	FromLibxl            Domain = 41
	FromLocking          Domain = 42
	FromHyperv           Domain = 43
	FromCapabilities     Domain = 44
	FromURI              Domain = 45
	FromAuth             Domain = 46
	FromDBus             Domain = 47
	FromParallels        Domain = 48
	FromDevice           Domain = 49
	FromSSH              Domain = 50
	FromLockspace        Domain = 51
	FromInitctl          Domain = 52
	FromIdentity         Domain = 53
	FromCgroup           Domain = 54
	FromAccess           Domain = 55
	FromSystemd          Domain = 56
	FromBhyve            Domain = 57
	FromCrypto           Domain = 58
	FromFirewall         Domain = 59
	FromPolkit           Domain = 60
	FromThread           Domain = 61
	FromAdmin            Domain = 62
	FromLogging          Domain = 63
	FromXenxl            Domain = 64
	FromPerf             Domain = 65
	FromLibssh           Domain = 66
	FromResctrl          Domain = 67
	FromFirewalld        Domain = 68
	FromDomainCheckpoint Domain = 69
	FromTpm              Domain = 70
	FromBpf              Domain = 71
	FromCh               Domain = 72
)
