package agent

import (
	"context"
	"errors"
	"fmt"

	"acp-agent/acp"
	"acp-agent/session"
)

// forkSession makes a session whose log begins as a copy of another's. The two
// go on apart. It is unstable and served only where it is switched on.
func (a *Agent) forkSession(ctx context.Context, p *acp.ForkSessionRequest) (func() (*acp.ForkSessionResponse, error), error) {
	su := setup{clean(p.Cwd), cleanAll(p.AdditionalDirectories), p.McpServers, p.SystemPrompt}
	return func() (*acp.ForkSessionResponse, error) {
		if l, err := a.session(p.SessionID); err == nil && l.Busy() {
			return nil, acp.InvalidRequest(fmt.Sprintf("a prompt is running in session %s: wait for it or send session/cancel, then fork", p.SessionID))
		}
		h := session.Header{
			Version: session.Version, ID: a.cfg.NewID(), CreatedAt: a.cfg.Now().UTC(), Cwd: su.cwd, AdditionalDirectories: su.dirs,
			Parent: p.SessionID, Agent: a.cfg.Info.Name + "/" + a.cfg.Info.Version,
		}
		cfg, err := a.build(ctx, h, su)
		if err != nil {
			return nil, err
		}
		log, st, answered, err := a.copyLog(ctx, p.SessionID, h)
		if err != nil {
			release(cfg)
			return nil, storeError(p.SessionID, "forking", err)
		}
		recall(&cfg, answered)
		if err := adopt(&cfg, log, st, su.cwd); err != nil {
			release(cfg)
			return nil, errors.Join(err, log.Close())
		}
		l, err := a.open(cfg, log, st, "resume")
		if err != nil {
			return nil, err
		}
		modes, options, err := l.introduce(ctx)
		if err != nil {
			return nil, errors.Join(err, a.unmake(ctx, l))
		}
		return &acp.ForkSessionResponse{SessionID: h.ID, Modes: modes, ConfigOptions: options}, nil
	}, nil
}

// copyLog makes a log with header h and the events of session id. Events keep
// their numbers, so that what refers to one still does; a turn that was cut in
// the original is closed in the copy. A copy that fails leaves nothing behind.
func (a *Agent) copyLog(ctx context.Context, id string, h session.Header) (session.Log, *session.State, []*session.PermissionAnswered, error) {
	var log session.Log
	var answered []*session.PermissionAnswered
	st := session.NewState(h)
	err := a.cfg.Fork(ctx, id, func(ev session.Event) error {
		if log == nil { // the original is there
			var err error
			if log, err = a.cfg.Store.Create(ctx, h); err != nil {
				return err
			}
		}
		if d, ok := ev.Data.(*session.PermissionAnswered); ok && d.Rule != "" {
			answered = append(answered, d)
		}
		return record(log, st, ev.Data)
	})
	if err == nil && log == nil {
		log, err = a.cfg.Store.Create(ctx, h)
	}
	if err == nil {
		err = record(log, st, st.Repair()...)
	}
	if err == nil {
		err = log.Sync()
	}
	if err == nil {
		return log, st, answered, nil
	}
	if log != nil {
		err = errors.Join(err, log.Close(), a.cfg.Catalog.Delete(context.WithoutCancel(ctx), h.ID))
	}
	return nil, nil, nil, err
}
