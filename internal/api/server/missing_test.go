package server

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taproom/internal/api/remote"
)

func TestRefusedCallsOfAnyNumberOfKindsTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	m := newMissing()
	for i := range 3 * maxMissing {
		m.add(missingKey{remote.ProgramRemote, uint32(i), "fuzz"})
	}
	got := m.list()
	if len(got.Calls) != maxMissing || got.Others != 2*maxMissing {
		t.Errorf("%d kinds are told apart and %d calls are not, want %d and %d", len(got.Calls), got.Others, maxMissing, 2*maxMissing)
	}
}

func TestRefusedCallsAreListedByHowOftenThenByName(t *testing.T) {
	t.Parallel()
	m := newMissing()
	for _, k := range []missingKey{
		{remote.ProgramRemote, 207, "virsh"},
		{remote.ProgramQEMU, 2, "b"},
		{remote.ProgramQEMU, 2, "a"},
		{remote.ProgramRemote, 207, "virsh"},
		{remote.ProgramRemote, 9999, "a"},
	} {
		m.add(k)
	}
	var got []string
	for _, c := range m.list().Calls {
		got = append(got, fmt.Sprintf("%d %s %s", c.Count, c.Client, c.Call))
	}
	want := []string{"2 virsh virDomainMigrateSetMaxSpeed", "1 a procedure 9999 of program 0x20008086", "1 a virDomainQemuAttach", "1 b virDomainQemuAttach"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if empty := newMissing().list(); empty.Calls == nil || len(empty.Calls) != 0 || empty.Since == 0 {
		t.Errorf("nothing was counted: %+v, want an empty list and since when", empty)
	}
}

func TestFunctionsAreCalledAsLibvirtCallsThem(t *testing.T) {
	t.Parallel()
	for procedure, want := range map[string]string{
		"DOMAIN_CREATE_XML": "virDomainCreateXML", "DOMAIN_SET_VCPUS_FLAGS": "virDomainSetVcpusFlags", "DOMAIN_GET_FSINFO": "virDomainGetFSInfo",
		"CONNECT_LIST_ALL_NWFILTERS": "virConnectListAllNWFilters", "DOMAIN_PM_SUSPEND_FOR_DURATION": "virDomainPMSuspendForDuration",
		"DOMAIN_ADD_IOTHREAD": "virDomainAddIOThread", "NODE_DEVICE_LOOKUP_SCSI_HOST_BY_WWN": "virNodeDeviceLookupSCSIHostByWWN",
		"DOMAIN_FSFREEZE": "virDomainFSFreeze", "DOMAIN_AUTHORIZED_SSH_KEYS_GET": "virDomainAuthorizedSSHKeysGet", "NETWORK_GET_DHCP_LEASES": "virNetworkGetDHCPLeases",
	} {
		if got := apiName(procedure); got != want {
			t.Errorf("%s is %s, want %s", procedure, got, want)
		}
	}
}
