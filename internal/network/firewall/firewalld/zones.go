package firewalld

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"taproom/internal/host/sysbus"
)

// refused reports whether firewalld refused a call with one of its codes. Its errors are "CODE: what about".
func refused(err error, codes ...string) bool {
	var e *sysbus.Error
	if !errors.As(err, &e) || !strings.HasPrefix(e.Name, busName) {
		return false
	}
	code, _, _ := strings.Cut(e.Message, ":")
	return slices.Contains(codes, code)
}

// bindings returns the zones that links are bound to, by the links' names.
func (s *session) bindings(ctx context.Context) (map[string]string, error) {
	var active map[string]map[string][]string
	if err := s.call(ctx, ".zone.getActiveZones", &active); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for zone, of := range active {
		for _, link := range of["interfaces"] {
			out[link] = zone
		}
	}
	return out, nil
}

// bind binds links to zones, all under way together: firewalld takes them one by one, and waits for nobody in between.
func (s *session) bind(ctx context.Context, zones map[string]string) error {
	errs := make([]error, len(zones))
	var wg sync.WaitGroup
	i := 0
	for link, zone := range zones {
		at := i
		i++
		wg.Go(func() {
			err := s.call(ctx, ".zone.changeZoneOfInterface", new(string), zone, link)
			switch {
			case refused(err, "ZONE_ALREADY_SET"):
			case refused(err, "INVALID_ZONE"):
				errs[at] = &NoZoneError{Link: link, Zone: zone}
			case err != nil:
				errs[at] = fmt.Errorf("bind %s to zone %s of firewalld: %w", link, zone, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// unbind takes links out of the zones they are in. Those in none are no error.
func (s *session) unbind(ctx context.Context, links []string) error {
	errs := make([]error, len(links))
	var wg sync.WaitGroup
	for i, link := range links {
		wg.Go(func() {
			err := s.call(ctx, ".zone.removeInterface", new(string), "", link)
			if err != nil && !refused(err, "UNKNOWN_INTERFACE", "NOT_ENABLED") {
				errs[i] = fmt.Errorf("take %s out of its zone of firewalld: %w", link, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// NoZoneError says that firewalld has no zone of that name.
type NoZoneError struct{ Link, Zone string }

// Error implements error.
func (e *NoZoneError) Error() string {
	return fmt.Sprintf("bind %s to zone %s: firewalld has no such zone; create it (firewall-cmd --permanent --new-zone=%s && firewall-cmd --reload), or name another one", e.Link, e.Zone, e.Zone)
}
