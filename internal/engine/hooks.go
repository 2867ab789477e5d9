package engine

import (
	"bytes"
	"context"
	"errors"
	"os"

	"taproom/internal/api/server"
	"taproom/internal/engine/hook"
	"taproom/internal/guest"
	"taproom/internal/spec"
)

// hookVariables are what hooks get of the daemon's environment, beside LC_ALL=C: what libvirt passes.
var hookVariables = [...]string{"PATH", "HOME", "USER", "LOGNAME", "TMPDIR"}

// openHooks prepares to call the administrator's programs. Daemons of users have none: libvirt's are the machine's.
func (e *Engine) openHooks(context.Context) error {
	e.hooks = hook.Hooks{Kernel: e.k, Env: []string{"LC_ALL=C"}}
	if e.cfg.Session == nil {
		e.hooks.Dir = e.paths.Hooks
	}
	for _, name := range hookVariables {
		if v, ok := os.LookupEnv(name); ok {
			e.hooks.Env = append(e.hooks.Env, name+"="+v)
		}
	}
	return nil
}

// hooked reports whether anybody is to be told of what happens to a kind of objects.
func (e *Engine) hooked(kind string) bool {
	paths, err := e.hooks.Programs(kind)
	return len(paths) > 0 || err != nil // Run says what is wrong
}

// tell calls the programs of a kind with a document, which is only made where there are any.
func (e *Engine) tell(ctx context.Context, c hook.Call, document func() []byte) error {
	if !e.hooked(c.Kind) {
		return nil
	}
	c.Document = document()
	_, err := e.hooks.Run(ctx, c)
	return err
}

// hook is a stage of a start: the programs are told, and may refuse it.
func (s *starting) hook(operation string) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.e.tell(ctx, hook.Call{Kind: hook.QEMU, Object: s.d.label, Operation: operation, Phase: "begin"}, s.document)
	}
}

// unhooked reports whether nobody is to be told of guests.
func (s *starting) unhooked() bool { return !s.e.hooked(hook.QEMU) }

// document is what hooks read of a guest that starts.
func (s *starting) document() []byte {
	if s.running == nil {
		return guest.Inactive(s.doc, false).Format()
	}
	return s.running.live(false).Format()
}

// tellEnd tells of a guest that has ended: its QEMU is gone (stopped), and then all that was made for it (release). What the
// programs say of it is not asked.
func (e *Engine) tellEnd(ctx context.Context, d *domain, operation string, document func() []byte) {
	err := e.tell(ctx, hook.Call{Kind: hook.QEMU, Object: d.label, Operation: operation, Phase: "end"}, document)
	if err != nil {
		e.log.Warn("tell of a guest that ended", "domain", d.label, "error", err)
	}
}

// tellReconnect tells of a guest that a daemon before started. One whose hook refuses it is ended, as with libvirt; one
// whose hook only takes too long is not.
func (e *Engine) tellReconnect(d *domain, run *running) {
	if !e.hooked(hook.QEMU) {
		return
	}
	e.work.Go(func() {
		c := hook.Call{Kind: hook.QEMU, Object: d.label, Operation: "reconnect", Phase: "begin"}
		err := e.tell(e.ctx, c, func() []byte { return run.live(false).Format() })
		var refused *hook.Error
		if err == nil || e.ctx.Err() != nil {
			return
		}
		if !errors.As(err, &refused) || refused.Late != 0 {
			e.problem.add(e.log, "domain '"+d.label+"' goes on, and its hook was not told: "+err.Error())
			return
		}
		e.log.Warn("a guest is ended because its hook refuses it", "domain", d.label, "error", err)
		j, err := d.slot.Begin(e.ctx, "destroy domain '"+d.label+"', which its hook refuses")
		if err != nil {
			return
		}
		defer j.End()
		if now := d.view().run; now != nil && now.proc == run.proc {
			err = e.stop(context.WithoutCancel(j.Context()), d, now, server.ShutoffFailed, server.EventStoppedFailed)
		}
		if err != nil {
			e.log.Error("end a guest that its hook refuses", "domain", d.label, "error", err)
		}
	})
}

// restoreHook lets the programs change the document that a saved guest goes on with.
func (e *Engine) restoreHook(ctx context.Context, doc *spec.Domain) (*spec.Domain, error) {
	if !e.hooked(hook.QEMU) {
		return doc, nil
	}
	text := doc.Format()
	changed, err := e.hooks.Run(ctx, hook.Call{Kind: hook.QEMU, Object: doc.Name, Operation: "restore", Phase: "begin", Document: text})
	if err != nil || bytes.Equal(bytes.TrimSpace(changed), bytes.TrimSpace(text)) {
		return doc, err
	}
	return e.otherDocument(ctx, doc, string(changed))
}
