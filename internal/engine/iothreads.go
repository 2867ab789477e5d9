package engine

import (
	"context"
	"slices"
	"strconv"

	"taproom/internal/api/remote"
	"taproom/internal/api/server"
	"taproom/internal/api/virterr"
	"taproom/internal/guest"
	"taproom/internal/spec"
)

// AddIOThread implements server.Tunables.
func (e *Engine) AddIOThread(ctx context.Context, uuid spec.UUID, thread, flags uint32) error {
	if thread == 0 {
		return virterr.New(virterr.InvalidArg, "invalid value of 0 for iothread_id")
	}
	return e.changeIOThreads(ctx, uuid, flags, "add an I/O thread to", func(_ *spec.Domain, all []spec.IOThread) ([]spec.IOThread, error) {
		if ioThread(all, thread) >= 0 {
			return nil, virterr.New(virterr.InvalidArg, "an IOThread is already using iothread_id '%d'", thread)
		}
		return append(all, spec.IOThread{ID: decimal(thread)}), nil
	})
}

// DeleteIOThread implements server.Tunables.
func (e *Engine) DeleteIOThread(ctx context.Context, uuid spec.UUID, thread, flags uint32) error {
	return e.changeIOThreads(ctx, uuid, flags, "remove an I/O thread of", func(doc *spec.Domain, all []spec.IOThread) ([]spec.IOThread, error) {
		i := ioThread(all, thread)
		if i < 0 {
			return nil, noIOThread(thread)
		}
		if user := usesIOThread(doc, decimal(thread)); user != "" {
			return nil, virterr.New(virterr.InvalidArg, "cannot remove IOThread %d since it is being used by %s", thread, user)
		}
		if t := doc.CPUTune; t != nil {
			t.IOThreadPins = slices.DeleteFunc(t.IOThreadPins, func(p spec.IOThreadPin) bool { return p.IOThread == decimal(thread) })
		}
		return slices.Delete(all, i, i+1), nil
	})
}

// SetIOThread implements server.Tunables.
func (e *Engine) SetIOThread(ctx context.Context, uuid spec.UUID, thread uint32, params []server.Param, flags uint32) error {
	return e.changeIOThreads(ctx, uuid, flags, "change an I/O thread of", func(_ *spec.Domain, all []spec.IOThread) ([]spec.IOThread, error) {
		i := ioThread(all, thread)
		if i < 0 {
			return nil, noIOThread(thread)
		}
		return all, setIOThread(&all[i], params)
	})
}

func noIOThread(thread uint32) error {
	return virterr.New(virterr.InvalidArg, "cannot find IOThread '%d' in iothreadids list", thread)
}

// changeIOThreads changes which I/O threads a guest has. Afterwards the document names each.
func (e *Engine) changeIOThreads(ctx context.Context, uuid spec.UUID, flags uint32, what string,
	change func(*spec.Domain, []spec.IOThread) ([]spec.IOThread, error),
) error {
	return e.rework(ctx, uuid, flags, what, func(doc *spec.Domain, _ bool) error {
		all, err := guest.IOThreads(doc)
		if err != nil {
			return documentError(err)
		}
		if all, err = change(doc, all); err != nil {
			return err
		}
		doc.IOThreads, doc.IOThreadIDs = "", nil
		if len(all) > 0 {
			doc.IOThreads, doc.IOThreadIDs = strconv.Itoa(len(all)), &spec.IOThreadIDs{Threads: all}
		}
		return nil
	})
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

func ioThread(all []spec.IOThread, thread uint32) int {
	return slices.IndexFunc(all, func(t spec.IOThread) bool { return t.ID == decimal(thread) })
}

// usesIOThread says which device has its work done by a thread, "" when none has.
func usesIOThread(doc *spec.Domain, thread string) string {
	for _, k := range doc.Devices.Disks {
		if k.Driver != nil && k.Driver.IOThread == thread {
			return "disk '" + k.Target.Dev + "'"
		}
	}
	for _, k := range doc.Devices.Controllers {
		if id, _ := k.Driver.Attr("iothread"); id == thread {
			return "controller '" + k.Type + k.Index + "'"
		}
	}
	return ""
}

// setIOThread puts parameters into a thread's description.
func setIOThread(t *spec.IOThread, params []server.Param) error {
	poll := spec.IOThreadPoll{}
	if t.Poll != nil {
		poll = *t.Poll
	}
	fields := map[string]struct {
		field *string
		typ   uint32
		most  uint64
		polls bool
	}{
		"poll_max_ns":     {&poll.Max, remote.ParamUint64, 1<<63 - 1, true},
		"poll_grow":       {&poll.Grow, remote.ParamUint, 1<<31 - 1, true},
		"poll_shrink":     {&poll.Shrink, remote.ParamUint, 1<<31 - 1, true},
		"thread_pool_min": {&t.ThreadPoolMin, remote.ParamInt, 65535, false},
		"thread_pool_max": {&t.ThreadPoolMax, remote.ParamInt, 65535, false},
	}
	for _, p := range params {
		f, ok := fields[p.Field]
		switch {
		case !ok:
			return virterr.New(virterr.ArgumentUnsupported, "parameter '%s' not supported", p.Field)
		case p.Type != f.typ:
			return virterr.New(virterr.InvalidArg, "parameter '%s' has another type", p.Field)
		case p.N > f.most:
			return virterr.New(virterr.InvalidArg, "value of '%s' is out of range [0, %d]", p.Field, f.most)
		}
		*f.field = strconv.FormatUint(p.N, 10)
		if f.polls {
			t.Poll = &poll
		}
	}
	return nil
}
