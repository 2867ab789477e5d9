package virterr_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"taproom/internal/api/virterr"
)

func TestMessageBeginsWithTheWordsOfItsCode(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]*virterr.Error{
		"Domain not found: no domain with matching name 'x'":                       virterr.DomainNotFound("name", "x"),
		"Network not found: no network with matching uuid 'y'":                     virterr.NetworkNotFound("uuid", "y"),
		"this function is not supported by the connection driver: virDomainRename": virterr.Unsupported("virDomainRename"),
		"Requested operation is not valid: domain is not running":                  virterr.New(virterr.OperationInvalid, "domain is not running"),
		"unsupported configuration: hostdev":                                       virterr.New(virterr.ConfigUnsupported, "hostdev"),
		"bare":                                                                     virterr.New(virterr.RPC, "bare"),
	} {
		if err.Error() != want || err.Level != virterr.LevelError || err.Domain == virterr.FromNone {
			t.Errorf("got %+v, want %q", err, want)
		}
	}
}

func TestCodesAreLibvirtsNumbers(t *testing.T) {
	t.Parallel()
	for code, want := range map[virterr.Code]int32{
		virterr.InternalError: 1, virterr.NoSupport: 3, virterr.XMLError: 27, virterr.OperationDenied: 29, virterr.RPC: 39,
		virterr.NoDomain: 42, virterr.NoNetwork: 43, virterr.NoStoragePool: 49, virterr.OperationInvalid: 55,
		virterr.ConfigUnsupported: 67, virterr.OperationUnsupported: 84, virterr.AgentUnresponsive: 86, virterr.NoNetworkPort: 107,
	} {
		if int32(code) != want {
			t.Errorf("code is %d, want %d", code, want)
		}
	}
}

func TestErrorsAreFoundThroughWrapping(t *testing.T) {
	t.Parallel()
	inner := virterr.New(virterr.OperationFailed, "write: %w", io.ErrShortWrite).In(virterr.FromNetwork)
	err := fmt.Errorf("start network: %w", inner)
	if !errors.Is(err, io.ErrShortWrite) || !errors.Is(err, virterr.New(virterr.OperationFailed, "").In(0)) {
		t.Error("cause or code is lost")
	}
	if errors.Is(err, virterr.New(virterr.NoDomain, "")) {
		t.Error("another code matches")
	}
	if virterr.CodeOf(err) != virterr.OperationFailed || virterr.CodeOf(io.EOF) != virterr.InternalError {
		t.Error("CodeOf is wrong")
	}
	if !errors.Is(virterr.Wrap(virterr.NoDomain, err), err) || virterr.Wrap(virterr.NoDomain, nil) != nil {
		t.Error("Wrap changed what has a code already, or nothing")
	}
	if got := virterr.CodeOf(virterr.Wrap(virterr.ResourceBusy, io.EOF)); got != virterr.ResourceBusy {
		t.Errorf("Wrap gave code %d", got)
	}
}
