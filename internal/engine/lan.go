package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"taproom/internal/api/own"
	"taproom/internal/api/virterr"
	"taproom/internal/engine/lanbridge"
	"taproom/internal/network/lan"
	"taproom/internal/network/lanfiles"
	"taproom/internal/spec"
)

// Bounds of how long a bridge may be on trial.
const (
	shortestTrial = time.Second
	longestTrial  = time.Hour
)

// openLAN ends or goes on with what an earlier daemon began to make of the host's NICs. It is first of what touches links.
func (e *Engine) openLAN(ctx context.Context) (err error) {
	e.lan, err = lanbridge.Open(ctx, lanbridge.Config{
		Kernel: e.k, Records: e.paths.LANBridges(), Root: e.cfg.Root, Log: e.log, Problem: func(what string) { e.problem.add(e.log, what) }, Solved: e.problem.solved,
	})
	return err
}

// LANBridge implements server.LANBridges.
func (e *Engine) LANBridge(ctx context.Context, r own.BridgeRequest) (own.BridgeResult, error) {
	if e.lan == nil {
		return own.BridgeResult{}, needsRoot("net bridge")
	}
	out, err := e.lanBridge(ctx, r)
	var said *virterr.Error
	switch {
	case errors.As(err, &said):
		return out, err
	case errors.Is(err, lanbridge.ErrUnknown):
		return out, virterr.New(virterr.InvalidArg, "%w", err)
	case errors.Is(err, lanbridge.ErrRefused):
		return out, virterr.New(virterr.OperationInvalid, "%s", strings.TrimPrefix(err.Error(), lanbridge.ErrRefused.Error()+": "))
	case err != nil:
		return out, virterr.New(virterr.OperationFailed, "%w", err)
	}
	return out, nil
}

func (e *Engine) lanBridge(ctx context.Context, r own.BridgeRequest) (out own.BridgeResult, err error) {
	var b lanbridge.Bridge
	var took time.Duration
	switch r.Do {
	case own.BridgeList:
		return e.lanBridges()
	case own.BridgePlan, own.BridgeMove:
		return e.lanMove(ctx, r)
	case own.BridgeKeep:
		b, err = e.lan.Keep(r.Bridge)
		out.Interface, out.Network = lan.Snippets(r.Bridge)
		if b.Lease != "" {
			out.Warnings = []string{b.Lease}
		}
	case own.BridgeUndo:
		b, took, err = e.lan.Undo(ctx, r.Bridge)
		b.State = "undone"
	default:
		return out, virterr.New(virterr.InvalidArg, "%q is nothing that can be done with a bridge", r.Do)
	}
	out.Bridge, out.SwitchUS = ownBridge(b), took.Microseconds()
	return out, err
}

func (e *Engine) lanBridges() (own.BridgeResult, error) {
	all, candidates, err := e.lan.Bridges()
	out := own.BridgeResult{Candidates: candidates}
	for _, b := range all {
		out.Bridges = append(out.Bridges, ownBridge(b))
	}
	return out, err
}

func (e *Engine) lanMove(ctx context.Context, r own.BridgeRequest) (own.BridgeResult, error) {
	trial := time.Duration(r.TrialMS) * time.Millisecond
	var p lanbridge.Proposal
	var took time.Duration
	var err error
	b := lanbridge.Bridge{NIC: r.NIC, Bridge: r.Bridge}
	switch {
	case r.Do == own.BridgePlan:
		p, err = e.lan.Propose(r.NIC, r.Bridge)
	case trial < shortestTrial || trial > longestTrial:
		err = virterr.New(virterr.InvalidArg, "a bridge cannot be on trial for %s: give between %s and %s", trial, shortestTrial, longestTrial)
	default:
		p, took, err = e.lan.Move(ctx, r.NIC, r.Bridge, trial)
		b.State, b.Left = lanbridge.Waiting, trial
	}
	if err != nil {
		return own.BridgeResult{}, err
	}
	b.Manager, b.Then, b.Notes, b.Files = p.Manager, p.Then, p.Later, p.Files
	out := own.BridgeResult{Bridge: ownBridge(b), Steps: p.Steps, Warnings: slices.Concat(p.Notes, e.tiedTo(r.NIC, r.Bridge), e.rulesNaming(ctx, r.NIC, r.Bridge)), SwitchUS: took.Microseconds()}
	out.Interface, out.Network = lan.Snippets(r.Bridge)
	return out, nil
}

// tiedTo says which networks name a NIC in their documents, and would go by the bridge from now on.
func (e *Engine) tiedTo(nic, bridge string) []string {
	var out []string
	for _, n := range e.networks.all() {
		v := n.view()
		doc := v.live
		if doc == nil && v.def != nil {
			doc, _ = spec.ParseNetwork(v.def.xml) // one that cannot be read is told of elsewhere
		}
		if doc == nil || doc.Forward == nil {
			continue
		}
		tied := doc.Forward.Dev == nic
		for _, i := range doc.Forward.Interfaces {
			tied = tied || i.Dev == nic
		}
		if tied {
			out = append(out, fmt.Sprintf("network '%s' is tied to %s by its document: write %s there instead (virsh net-edit %s), and start it again", n.label, nic, bridge, n.label))
		}
	}
	if v, err := e.k.Sysctl("net/bridge/bridge-nf-call-iptables"); err == nil && v == "1" {
		out = append(out, "rules of IP see what bridges forward here (net.bridge.bridge-nf-call-iptables is 1, as Docker wants it): taproom net why GUEST says whether they lose guests' packets")
	}
	return out
}

// mostRules is how many rules are shown.
const mostRules = 3

// rulesNaming says which rules of others go by the NIC's name: what comes to the host comes by the bridge from now on.
func (e *Engine) rulesNaming(ctx context.Context, nic, bridge string) []string {
	e.why.mu.Lock()
	rules, err := e.why.look.RulesNaming(ctx, nic)
	e.why.mu.Unlock()
	switch {
	case err != nil:
		return []string{fmt.Sprintf("whether rules of a firewall name %s cannot be found out: %v", nic, err)}
	case len(rules) == 0:
		return nil
	}
	more := ""
	if n := len(rules) - mostRules; n > 0 {
		rules, more = rules[:mostRules], fmt.Sprintf(", and %d more", n)
	}
	return []string{fmt.Sprintf("rules of a firewall name %s, and what comes to this host comes by %s from now on; let them name %s too: %s%s", nic, bridge, bridge, strings.Join(rules, "; "), more)}
}

// lanProblems says which bridges are on trial.
func (e *Engine) lanProblems() []string {
	if e.lan == nil {
		return nil
	}
	var out []string
	for _, b := range e.lan.Trials() {
		out = append(out, fmt.Sprintf("bridge %s of %s is on trial: all goes back in %d s, unless it is kept: taproom net bridge --confirm %s", b.Bridge, b.NIC, int(b.Left.Seconds()), b.Bridge))
	}
	return out
}

func ownBridge(b lanbridge.Bridge) own.LANBridge {
	out := own.LANBridge{
		Bridge: b.Bridge, NIC: b.NIC, State: string(b.State), LeftMS: b.Left.Milliseconds(), Manager: b.Manager, Then: b.Then, Notes: b.Notes,
	}
	for _, c := range b.Files {
		out.Files = append(out.Files, fileChange(c))
	}
	return out
}

func fileChange(c lanfiles.Change) own.FileChange {
	return own.FileChange{Path: "/" + c.Path, Diff: c.Diff()}
}
