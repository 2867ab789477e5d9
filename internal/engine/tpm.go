package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/qemu/companion"
	"taproom/internal/spec"
)

// What stands behind the name of a TPM's state: of one that is being made, and of one whose domain is being undefined.
const (
	tpmNew  = ".new"
	tpmGone = ".gone"
)

// tpmAuthority is where the distribution keeps the keys that sign the certificates of new TPMs. Its owner uses them.
const tpmAuthority = "/var/lib/swtpm-localca"

// tpmDir is where a guest's TPM keeps its state, by version below it.
func (e *Engine) tpmDir(uuid spec.UUID) string { return filepath.Join(e.paths.TPMs(), uuid.String()) }

// emulatedTPM is the TPM of a document that is a swtpm of the guest's own, or nil.
func emulatedTPM(doc *spec.Domain) *spec.TPM {
	for i := range doc.Devices.TPMs {
		if t := &doc.Devices.TPMs[i]; t.Backend.Type == "emulator" {
			return t
		}
	}
	return nil
}

// swtpm makes the state of a guest's TPM where there is none yet, and gives it to the guest's user of this run. Nobody
// else gets to it: only root may enter the directory above.
func (s *starting) swtpm(ctx context.Context, c guest.Companion) (companion.Program, error) {
	k, b, uid := s.e.k, c.TPM.Backend, s.running.rec().UID
	path, err := s.e.installed("swtpm", "swtpm")
	if err != nil {
		return companion.Program{}, err
	}
	dir := filepath.Join(s.e.tpmDir(s.d.uuid), companion.TPMDir(b.Version))
	_, _, err = k.Owner(dir)
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case isNew:
		err = s.makeTPM(ctx, c, dir)
	case err == nil && b.PCRBanks != nil:
		err = s.reconfigureTPM(ctx, c, dir)
	}
	if err == nil {
		err = s.e.giveAll(dir, uid, uid)
	}
	return companion.SWTPM(path, b.Version, dir, uid, exists), err
}

// makeTPM makes a TPM beside its place and moves it there when it is whole.
func (s *starting) makeTPM(ctx context.Context, c guest.Companion, dir string) error {
	k := s.e.k
	path, err := s.e.installed("swtpm_setup", "swtpm-tools")
	if err != nil {
		return err
	}
	uid, gid, err := s.e.tpmMaker(s.running.rec().UID)
	if err != nil {
		return err
	}
	temp := dir + tpmNew
	for _, step := range []func() error{
		func() error { return k.RemoveAll(temp) },
		func() error { return k.Mkdir(s.e.paths.TPMs(), 0o700) },
		func() error { return k.Mkdir(filepath.Dir(dir), 0o700) },
		func() error { return k.Mkdir(temp, 0o700) },
		func() error { return s.e.give(temp, uid, gid) },
		func() error { return s.ownAuthority(ctx, c, path, temp) },
		func() error {
			id := s.doc.Name + ":" + s.doc.UUID.String()
			p := companion.Maker(path, c.TPM.Backend.Version, temp, id, c.TPM.Backend.PCRBanks.Names(), uid, gid)
			p.Env = append(p.Env, s.e.userConfig()...)
			return companion.Run(ctx, k, s.companionSpec(c, p))
		},
		func() error { return k.Rename(temp, dir) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("make a TPM: %w", errors.Join(err, k.RemoveAll(temp)))
		}
	}
	return nil
}

// reconfigureTPM gives a TPM that was made before the banks that the document asks for now.
func (s *starting) reconfigureTPM(ctx context.Context, c guest.Companion, dir string) error {
	path, err := s.e.installed("swtpm_setup", "swtpm-tools")
	if err != nil {
		return err
	}
	uid := s.running.rec().UID
	if err := s.e.giveAll(dir, uid, uid); err != nil {
		return err
	}
	p := companion.Reconfigurer(path, dir, c.TPM.Backend.PCRBanks.Names(), uid)
	return companion.Run(ctx, s.e.k, s.companionSpec(c, p))
}

// ownAuthority makes a user without root the authority of the user's own TPMs, where there is none yet: the host's is out
// of reach.
func (s *starting) ownAuthority(ctx context.Context, c guest.Companion, program, dir string) error {
	own := s.e.cfg.Session
	if own == nil {
		return nil
	}
	p := companion.Authority(program, dir, own.UID, own.GID)
	p.Env = append(p.Env, s.e.userConfig()...)
	return companion.Run(ctx, s.e.k, s.companionSpec(c, p))
}

// userConfig tells the programs that make TPMs where the user's configuration is.
func (e *Engine) userConfig() []string {
	if e.cfg.Session == nil {
		return nil
	}
	return []string{"XDG_CONFIG_HOME=" + filepath.Dir(e.paths.Config)}
}

// tpmMaker is the user who may sign a new TPM's certificates: the one the distribution gave the authority to, or else the
// guest's own, who has to do with what the configuration in /etc names.
func (e *Engine) tpmMaker(guestUID uint32) (uid, gid uint32, err error) {
	owner, _, err := e.k.Owner(tpmAuthority)
	if err != nil || owner == 0 || os.Geteuid() != 0 {
		return guestUID, guestUID, nil //nolint:nilerr // then its program says what it lacks
	}
	u, err := user.LookupId(strconv.Itoa(owner))
	if err != nil {
		return 0, 0, fmt.Errorf("%s belongs to somebody unknown: %w; install the package swtpm-tools again", tpmAuthority, err)
	}
	group, err := strconv.ParseUint(u.Gid, 10, 32)
	return uint32(owner), uint32(group), err
}

// giveAll gives a directory and the files in it to a user. Links are not followed.
func (e *Engine) giveAll(dir string, uid, gid uint32) error {
	entries, err := e.k.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := e.give(filepath.Join(dir, entry.Name()), uid, gid); err != nil {
			return err
		}
	}
	return e.give(dir, uid, gid)
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// tpmFlags refuses two wishes at once.
func tpmFlags(d *domain, flags uint32) error {
	const both = server.UndefineTPM | server.UndefineKeepTPM
	if flags&both == both {
		return virterr.New(virterr.InvalidArg, "cannot both keep and delete the TPM's state of domain '%s'", d.label)
	}
	return nil
}

// dropTPM moves the state of a TPM out of the way before its domain is undefined, where it is not to be kept: a domain's
// own wish is persistent_state, and flags overrule it. settleTPM does the rest.
func (e *Engine) dropTPM(d *domain, flags uint32) error {
	doc, err := e.definitionOf(d)
	if err != nil || d.view().run != nil || flags&server.UndefineKeepTPM != 0 {
		return nil //nolint:nilerr // a definition that cannot be read can still be removed
	}
	t := emulatedTPM(doc)
	if t == nil || spec.IsYes(t.Backend.PersistentState) && flags&server.UndefineTPM == 0 {
		return nil
	}
	dir := e.tpmDir(d.uuid)
	if _, _, err := e.k.Owner(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := e.k.Rename(dir, dir+tpmGone); err != nil {
		return virterr.New(virterr.SystemError, "cannot remove the TPM's state of domain '%s': %w", d.label, err)
	}
	return nil
}

// settleTPM decides about state that was moved out of the way: with the definition it is gone, and with the definition it
// is back.
func (e *Engine) settleTPM(uuid spec.UUID) error {
	dir := e.tpmDir(uuid)
	if _, _, err := e.k.Owner(dir + tpmGone); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	defined, err := e.isDefined(uuid)
	if err != nil {
		return err
	}
	if defined {
		return e.k.Rename(dir+tpmGone, dir)
	}
	return e.k.RemoveAll(dir + tpmGone)
}

// isDefined reports whether there is a definition, be it a damaged one.
func (e *Engine) isDefined(uuid spec.UUID) (bool, error) {
	if d, ok := e.domains.uuid(uuid); ok && d.view().def != nil {
		return true, nil
	}
	return e.definitions.IsAside(uuid.String())
}

// sweepTPMs settles what a daemon that died left undecided.
func (e *Engine) sweepTPMs() error {
	entries, err := e.k.ReadDir(e.paths.TPMs())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), tpmGone); ok {
			if uuid, perr := spec.ParseUUID(name); perr == nil {
				err = errors.Join(err, e.settleTPM(uuid))
			}
		}
	}
	return err
}

// forgetTPM removes the state of a TPM whose guest was transient and has ended.
func (e *Engine) forgetTPM(rec record) error {
	if !rec.ForgetTPM {
		return nil
	}
	if defined, err := e.isDefined(rec.UUID); defined || err != nil {
		return err
	}
	return e.k.RemoveAll(e.tpmDir(rec.UUID))
}
