package remote_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"taproom/internal/api/remote"
	"taproom/internal/api/virterr"
	"taproom/internal/api/xdr"
	"taproom/internal/spec"
)

func TestNumbersAndNamesOfProceduresAreUnique(t *testing.T) {
	t.Parallel()
	for program, table := range map[string][]remote.Procedure{"libvirt": remote.Procedures(), "own": remote.OwnProcedures()} {
		numbers, names := map[uint32]string{}, map[string]bool{}
		for _, p := range table {
			if other, taken := numbers[p.Number]; taken || names[p.Name] || p.Number == 0 {
				t.Errorf("%s: %s (%d) is there twice (%s)", program, p.Name, p.Number, other)
			}
			numbers[p.Number], names[p.Name] = p.Name, true
			if p.NewArgs() == nil || p.NewRet() == nil {
				t.Errorf("%s: %s has no types", program, p.Name)
			}
		}
	}
	if n := len(remote.Procedures()); n < 150 {
		t.Errorf("only %d procedures", n)
	}
}

// Only calls that change nothing, run nothing and do not look into a guest may be made on a read-only connection, as with
// libvirt: a new row must decide.
func TestProceduresThatChangeSomethingAreNotReadOnly(t *testing.T) {
	t.Parallel()
	var got []string
	for _, p := range append(remote.Procedures(), remote.OwnProcedures()...) {
		if !p.Has(remote.ReadOnly) {
			got = append(got, p.Name)
		}
	}
	want := []string{
		"CONNECT_GET_DOMAIN_CAPABILITIES", "CONNECT_SET_IDENTITY",
		"DOMAIN_CREATE_XML", "DOMAIN_DEFINE_XML", "DOMAIN_DEFINE_XML_FLAGS", "DOMAIN_CREATE", "DOMAIN_CREATE_WITH_FLAGS",
		"DOMAIN_SUSPEND", "DOMAIN_RESUME", "DOMAIN_SHUTDOWN", "DOMAIN_SHUTDOWN_FLAGS", "DOMAIN_REBOOT", "DOMAIN_RESET",
		"DOMAIN_DESTROY", "DOMAIN_DESTROY_FLAGS", "DOMAIN_UNDEFINE", "DOMAIN_UNDEFINE_FLAGS", "DOMAIN_SET_AUTOSTART",
		"DOMAIN_SET_MEMORY", "DOMAIN_SET_MEMORY_FLAGS", "DOMAIN_SET_MAX_MEMORY", "DOMAIN_SET_VCPUS", "DOMAIN_SET_VCPUS_FLAGS",
		"DOMAIN_ATTACH_DEVICE", "DOMAIN_ATTACH_DEVICE_FLAGS", "DOMAIN_DETACH_DEVICE", "DOMAIN_DETACH_DEVICE_FLAGS",
		"DOMAIN_UPDATE_DEVICE_FLAGS", "DOMAIN_OPEN_CONSOLE", "DOMAIN_SCREENSHOT",
		"DOMAIN_SAVE", "DOMAIN_SAVE_FLAGS", "DOMAIN_SAVE_PARAMS", "DOMAIN_RESTORE", "DOMAIN_RESTORE_FLAGS", "DOMAIN_RESTORE_PARAMS",
		"DOMAIN_SAVE_IMAGE_GET_XML_DESC", "DOMAIN_SAVE_IMAGE_DEFINE_XML", "DOMAIN_MANAGED_SAVE", "DOMAIN_MANAGED_SAVE_REMOVE",
		"DOMAIN_MANAGED_SAVE_DEFINE_XML", "DOMAIN_CORE_DUMP", "DOMAIN_CORE_DUMP_WITH_FORMAT", "DOMAIN_ABORT_JOB", "DOMAIN_ABORT_JOB_FLAGS",
		"DOMAIN_PM_SUSPEND_FOR_DURATION", "DOMAIN_PM_WAKEUP",
		"NETWORK_CREATE", "NETWORK_CREATE_XML", "NETWORK_CREATE_XML_FLAGS", "NETWORK_DEFINE_XML", "NETWORK_DEFINE_XML_FLAGS",
		"NETWORK_DESTROY", "NETWORK_UNDEFINE", "NETWORK_SET_AUTOSTART", "NETWORK_UPDATE", "NETWORK_PORT_CREATE_XML", "NETWORK_PORT_SET_PARAMETERS", "NETWORK_PORT_DELETE", "NWFILTER_DEFINE_XML", "NWFILTER_DEFINE_XML_FLAGS", "NWFILTER_UNDEFINE", "NWFILTER_BINDING_CREATE_XML", "NWFILTER_BINDING_DELETE",
		"STORAGE_POOL_CREATE_XML", "STORAGE_POOL_DEFINE_XML", "STORAGE_POOL_CREATE", "STORAGE_POOL_BUILD", "STORAGE_POOL_DESTROY",
		"STORAGE_POOL_DELETE", "STORAGE_POOL_UNDEFINE", "STORAGE_POOL_REFRESH", "STORAGE_POOL_SET_AUTOSTART",
		"STORAGE_VOL_CREATE_XML", "STORAGE_VOL_CREATE_XML_FROM", "STORAGE_VOL_DELETE", "STORAGE_VOL_WIPE", "STORAGE_VOL_RESIZE",
		"STORAGE_VOL_UPLOAD", "STORAGE_VOL_DOWNLOAD",
		"DOMAIN_SET_MEMORY_STATS_PERIOD",
		"DOMAIN_SET_METADATA", "DOMAIN_RENAME", "NETWORK_SET_METADATA",
		"DOMAIN_DETACH_DEVICE_ALIAS", "DOMAIN_BLOCK_RESIZE", "DOMAIN_SET_BLOCK_IO_TUNE", "DOMAIN_SET_INTERFACE_PARAMETERS",
		"DOMAIN_OPEN_GRAPHICS", "DOMAIN_OPEN_GRAPHICS_FD", "DOMAIN_OPEN_CHANNEL",
		"DOMAIN_GET_HOSTNAME", "DOMAIN_FSTRIM", "DOMAIN_FSFREEZE", "DOMAIN_FSTHAW", "DOMAIN_GET_TIME", "DOMAIN_SET_TIME", "DOMAIN_GET_FSINFO",
		"DOMAIN_SET_USER_PASSWORD", "DOMAIN_GET_GUEST_VCPUS", "DOMAIN_SET_GUEST_VCPUS", "DOMAIN_GET_GUEST_INFO",
		"DOMAIN_AGENT_SET_RESPONSE_TIMEOUT", "DOMAIN_AUTHORIZED_SSH_KEYS_GET", "DOMAIN_AUTHORIZED_SSH_KEYS_SET",
		"DOMAIN_INJECT_NMI", "DOMAIN_SEND_KEY",
		"CONNECT_COMPARE_HYPERVISOR_CPU", "CONNECT_BASELINE_HYPERVISOR_CPU",
		"DOMAIN_PIN_VCPU", "DOMAIN_PIN_VCPU_FLAGS", "DOMAIN_PIN_EMULATOR", "DOMAIN_PIN_IOTHREAD",
		"DOMAIN_SET_SCHEDULER_PARAMETERS", "DOMAIN_SET_SCHEDULER_PARAMETERS_FLAGS", "DOMAIN_SET_MEMORY_PARAMETERS", "DOMAIN_SET_BLKIO_PARAMETERS",
		"DOMAIN_SET_NUMA_PARAMETERS", "DOMAIN_ADD_IOTHREAD", "DOMAIN_DEL_IOTHREAD", "DOMAIN_SET_IOTHREAD_PARAMS", "DOMAIN_SET_AUTOSTART_ONCE",
		"OWN_APPLY", "OWN_AGENT", "OWN_WHY", "OWN_BRIDGE",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMessageHasTheBytesThatClientsExpect(t *testing.T) {
	t.Parallel()
	h := remote.Header{Program: remote.ProgramRemote, Version: 1, Procedure: remote.ProcDomainLookupByID, Serial: 5}
	b, err := remote.Append([]byte("before"), h, &remote.Int{N: 3})
	if err != nil {
		t.Fatal(err)
	}
	want := hex.EncodeToString([]byte("before")) + "00000020" + "20008086" + "00000001" + "00000016" + "00000000" + "00000005" + "00000000" + "00000003"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := remote.ParseHeader(b[6:]); got != h {
		t.Errorf("read back: %+v", got)
	}
}

func TestMessageThatIsTooLongIsNotWritten(t *testing.T) {
	t.Parallel()
	b, err := remote.Append([]byte("x"), remote.Header{}, &remote.JSON{B: make([]byte, remote.MaxJSON)})
	if err == nil || string(b) != "x" {
		t.Errorf("wrote %d bytes, %v", len(b), err)
	}
}

func TestTypedParametersKeepTypeAndValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := []remote.TypedParam{
			remote.IntParam("i", rapid.Int32().Draw(t, "i")),
			remote.UintParam("u", rapid.Uint32().Draw(t, "u")),
			remote.Int64Param("l", rapid.Int64().Draw(t, "l")),
			remote.Uint64Param("ul", rapid.Uint64().Draw(t, "ul")),
			remote.DoubleParam("d", rapid.Float64().Draw(t, "d")),
			remote.BoolParam("b", rapid.Bool().Draw(t, "b")),
			remote.StringParam("s", rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 })).Draw(t, "s")), // C has no zero bytes in strings
		}
		b, err := xdr.Append(nil, &remote.Params{Params: want, N: 7})
		if err != nil {
			t.Fatal(err)
		}
		var got remote.Params
		if err := xdr.Decode(b, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(remote.Params{Params: want, N: 7}, got); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
	if err := xdr.Decode([]byte{0, 0, 0, 0, 0, 0, 0, 9}, new(remote.TypedParam)); !errors.Is(err, xdr.ErrMalformed) {
		t.Errorf("type 9: got %v", err)
	}
}

func TestErrorsTravelWhole(t *testing.T) {
	t.Parallel()
	e := remote.Error{
		Code: 42, Domain: 10, Message: remote.Opt("Domain not found: x"), Level: 2, Dom: &remote.Domain{Name: "d", UUID: spec.UUID{1}, ID: -1},
		Str1: remote.Opt("%s"), Str2: remote.Opt("x"), Int1: -1, Int2: -1, Net: &remote.Network{Name: "n"},
	}
	b, err := xdr.Append(nil, &e)
	if err != nil {
		t.Fatal(err)
	}
	var got remote.Error
	if err := xdr.Decode(b, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(e, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want := &virterr.Error{Code: virterr.NoDomain, Domain: virterr.FromQEMU, Level: virterr.LevelError, Message: "Domain not found: x", Detail: "x"}
	if d := cmp.Diff(want, got.Err()); d != "" {
		t.Errorf("as an error (-want +got):\n%s", d)
	}
}

// FuzzProcedures reads any bytes as the arguments and results of any procedure; what can be read can be written again,
// as the same bytes but for padding.
func FuzzProcedures(f *testing.F) {
	table := append(remote.Procedures(), remote.OwnProcedures()...)
	for i, p := range table {
		for _, v := range []xdr.Value{p.NewArgs(), p.NewRet()} {
			if b, err := xdr.Append(nil, v); err == nil {
				f.Add(uint16(i), b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, i uint16, b []byte) {
		p := table[int(i)%len(table)]
		for _, fresh := range []func() xdr.Value{p.NewArgs, p.NewRet} {
			v := fresh()
			if xdr.Decode(b, v) != nil {
				continue
			}
			once, err := xdr.Append(nil, v)
			if err != nil {
				t.Fatalf("%s: read, and cannot be written: %v", p.Name, err)
			}
			w := fresh()
			if err := xdr.Decode(once, w); err != nil {
				t.Fatalf("%s: written, and cannot be read: %v", p.Name, err)
			}
			if twice, _ := xdr.Append(nil, w); !bytes.Equal(once, twice) {
				t.Fatalf("%s: not stable: %x, then %x", p.Name, once, twice)
			}
		}
	})
}
