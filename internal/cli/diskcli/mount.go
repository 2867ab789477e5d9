package diskcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"taproom/disk"
)

// assemble makes volumes of what lies on several devices or is encrypted, where there is such a thing.
func (s *sources) assemble(ctx context.Context, a *disk.Appliance) error {
	list, err := a.Filesystems(ctx, disk.LookOptions{})
	if err != nil {
		return err
	}
	for _, f := range list {
		switch {
		case f.Type == "linux_raid_member", f.Type == "LVM2_member", f.Type == "crypto_LUKS" && len(s.secrets) > 0:
			return a.Assemble(ctx, disk.Assembly{Keys: s.secrets, Write: s.write})
		}
	}
	return nil
}

// mount mounts what the command works on: a device that was named, or the operating system.
func (s *sources) mount(ctx context.Context, a *disk.Appliance) error {
	if err := s.assemble(ctx, a); err != nil {
		return err
	}
	if s.device != "" {
		return a.MountWith(ctx, disk.MountSpec{Device: s.device, At: "/"})
	}
	_, _, err := a.MountSystem(ctx, false)
	var unclear *disk.AmbiguousError
	if errors.As(err, &unclear) && len(unclear.Systems)+len(unclear.Volumes) > 1 {
		return fmt.Errorf("%w, with --device", err)
	}
	return err
}

// readKeys reads the files that --key names.
func (s *sources) readKeys(env *Env) error {
	for _, key := range s.keys {
		device, name, ok := strings.Cut(key, "=")
		if !ok {
			device, name = "", key
		}
		secret, err := readKey(env, name)
		if err != nil {
			return fmt.Errorf("--key %s: %w", key, err)
		}
		s.secrets = append(s.secrets, disk.Key{Device: device, Secret: secret})
	}
	return nil
}

// mostKey bounds a key file: cryptsetup's own bound, in bytes.
const mostKey = 8 << 20

// readKey reads a passphrase, without the newline that ends a line, or a key.
func readKey(env *Env, name string) ([]byte, error) {
	r := env.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, mostKey+1))
	if err == nil && len(b) > mostKey {
		err = fmt.Errorf("a key has %d bytes at most", mostKey)
	}
	return bytes.TrimSuffix(b, []byte("\n")), err
}
