package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// idle opens many sessions and measures what an idle one keeps in memory.
func (b *bench) idle() error {
	total := 1000
	if *quick {
		total = 200
	}
	var each []float64
	for range min(*runs, 3) {
		kb, err := b.idleRun(total, &b.sessions)
		if err != nil {
			return err
		}
		each = append(each, kb)
	}
	v := median(each)
	b.add(row{name: fmt.Sprintf("memory an idle session, %d open", total), value: v, unit: "KB", budget: "≤ 40 KB", met: v <= 40})
	return nil
}

func (b *bench) idleRun(total int, plot *series) (kb float64, err error) {
	p, err := launch(b.product, b.mock)
	if err != nil {
		return 0, err
	}
	defer p.kill()
	if _, err := p.initialize(); err != nil {
		return 0, err
	}
	// What the first sessions bring in once is not a session's.
	for range 20 {
		if _, _, err := p.newSession(); err != nil {
			return 0, err
		}
	}
	time.Sleep(300 * time.Millisecond)
	before := memoryOf(p.cmd.Process.Pid)
	plot.reset()
	plot.add(20, before.rss, 0)
	for i := range total {
		if _, _, err := p.newSession(); err != nil {
			return 0, err
		}
		if (i+1)%(total/10) == 0 {
			time.Sleep(50 * time.Millisecond)
			plot.add(float64(i+21), memoryOf(p.cmd.Process.Pid).rss, 0)
		}
	}
	time.Sleep(time.Second)
	return (memoryOf(p.cmd.Process.Pid).rss - before.rss) * 1e3 / float64(total), nil
}

// many makes 50 sessions at once, then prompts all of them at once, and cancels
// some more meanwhile, one after another.
func (b *bench) many() error {
	const sessions, n = 50, 200
	const slow, apart = 4, 15 * time.Millisecond
	got := samples{}
	err := inTurn(*runs, []spec{b.echo, b.product}, func(s spec, count bool) error {
		p, err := launch(s, b.mock)
		if err != nil {
			return err
		}
		defer p.kill()
		if _, err := p.initialize(); err != nil {
			return err
		}
		ids, made, err := b.openAll(p, sessions)
		if err != nil {
			return err
		}
		more, _, err := b.openAll(p, slow)
		if err != nil {
			return err
		}
		var ends []chan answer
		for _, id := range more {
			first := p.mark()
			ch, _ := p.send("session/prompt", promptParams(id, "[[n=100000 delay=1ms]]"))
			ends = append(ends, ch)
			<-first
		}
		at := time.Now()
		var chs []chan answer
		for _, id := range ids {
			ch, _ := p.send("session/prompt", promptParams(id, fmt.Sprintf("[[n=%d]]", n)))
			chs = append(chs, ch)
		}
		var sent []time.Time
		for i, id := range more {
			time.Sleep(time.Until(at.Add(time.Duration(i) * apart)))
			sent = append(sent, time.Now())
			fmt.Fprintf(p.in, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"%s"}}`+"\n", id)
		}
		for i, ch := range ends {
			a, err := p.await(ch)
			if err != nil {
				return err
			}
			if count {
				got.add(s.name, "cancel", ms(a.at.Sub(sent[i])))
			}
		}
		var all time.Duration
		for _, ch := range chs {
			a, err := p.await(ch)
			if err != nil {
				return err
			}
			all = max(all, a.at.Sub(at))
		}
		if count {
			got.add(s.name, "made", ms(made))
			got.add(s.name, "all", ms(all))
			got.add(s.name, "peak", memoryOf(p.cmd.Process.Pid).peak)
		}
		return nil
	})
	if err != nil {
		return err
	}
	v := got.of(b.product, "made")
	b.add(row{name: "50 sessions made at once", value: v, floor: got.of(b.echo, "made"), unit: "ms", budget: "≤ 60 ms", met: v <= 60})
	v, f := got.of(b.product, "all"), got.of(b.echo, "all")
	b.add(row{name: "50 prompts at once, 200 deltas each", value: v, floor: f, unit: "ms", budget: "≤ 3 × floor", met: v <= 3*f})
	v = got.of(b.product, "peak")
	b.add(row{name: "… peak memory", value: v, floor: got.of(b.echo, "peak"), unit: "MB", budget: "≤ 60 MB", met: v <= 60})
	v = got.of(b.product, "cancel")
	b.add(row{
		name: "… a cancel answered meanwhile", value: v, floor: got.of(b.echo, "cancel"), unit: "ms", budget: "≤ 50 ms", met: v <= 50,
		note: "nine of ten within " + num(got.tenth(b.product, "cancel")) + " ms, floor's " + num(got.tenth(b.echo, "cancel")),
	})
	return nil
}

// openAll makes sessions without waiting for one before the next.
func (b *bench) openAll(p *process, n int) (ids []string, took time.Duration, err error) {
	at := time.Now()
	var chs []chan answer
	for range n {
		ch, _ := p.send("session/new", p.newParams())
		chs = append(chs, ch)
	}
	var last time.Time
	for _, ch := range chs {
		a, err := p.await(ch)
		if err != nil {
			return nil, 0, err
		}
		ids = append(ids, sessionID(a.result))
		if a.at.After(last) {
			last = a.at
		}
	}
	return ids, last.Sub(at), nil
}

// big sends a prompt of 20 MB.
func (b *bench) big() error {
	text := strings.Repeat("lorem ipsum ", 20<<20/12) + " [[n=3]]"
	got := samples{}
	err := inTurn(*runs, []spec{b.echo, b.product}, func(s spec, count bool) error {
		p, err := launch(s, b.mock)
		if err != nil {
			return err
		}
		defer p.kill()
		if _, err := p.initialize(); err != nil {
			return err
		}
		sid, _, err := p.newSession()
		if err != nil {
			return err
		}
		t, err := p.prompt(sid, text)
		if err == nil && count {
			got.add(s.name, "total", ms(t.total))
			got.add(s.name, "peak", memoryOf(p.cmd.Process.Pid).peak)
		}
		return err
	})
	if err != nil {
		return err
	}
	v, f := got.of(b.product, "total"), got.of(b.echo, "total")
	b.add(row{name: "20 MB prompt", value: v, floor: f, unit: "ms", budget: "≤ 2 × floor", met: v <= 2*f})
	v = got.of(b.product, "peak")
	b.add(row{name: "… peak memory", value: v, floor: got.of(b.echo, "peak"), unit: "MB", budget: "≤ 250 MB", met: v <= 250})
	return nil
}

// tools measures a turn of 400 steps, each of which reads a file.
func (b *bench) tools() error {
	const steps = 400
	got := samples{}
	err := inTurn(*runs, []spec{b.product}, func(s spec, count bool) error {
		dir, err := os.MkdirTemp(stateRoot, "tools-")
		if err != nil {
			return err
		}
		// A turn has no more than 200 steps unless the config says so.
		config := filepath.Join(dir, "config.toml")
		if err := os.WriteFile(config, []byte("[limits]\nmax_steps = 1000\n"), 0o644); err != nil {
			return err
		}
		p, err := launchIn(s, b.mock, dir, []string{"ACP_AGENT_CONFIG=" + config})
		if err != nil {
			return err
		}
		defer p.kill()
		if _, err := p.initialize(); err != nil {
			return err
		}
		sid, _, err := p.newSession()
		if err != nil {
			return err
		}
		t, err := p.prompt(sid, fmt.Sprintf("[[n=1 steps=%d file=%s]]", steps, filepath.Join(p.workspace(), "file.txt")))
		if err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.tools) != steps {
			return fmt.Errorf("%d of %d steps ended", len(p.tools), steps)
		}
		if count {
			got.add(s.name, "step", ms(t.total)/steps)
			got.add(s.name, "cpu", ms(t.cpu)/steps)
			got.add(s.name, "head", ms(p.tools[steps/4].Sub(p.tools[0]))/(steps/4))
			got.add(s.name, "tail", ms(p.tools[steps-1].Sub(p.tools[steps*3/4]))/(steps/4-1))
		}
		return nil
	})
	if err != nil {
		return err
	}
	v, head, end := got.of(b.product, "step"), got.of(b.product, "head"), got.of(b.product, "tail")
	b.add(row{name: "tool step (read), 400 in a turn", value: v, unit: "ms", budget: "≤ 1.5 ms", met: v <= 1.5, note: fmt.Sprintf("each has one fsync (%s ms), while the model is asked", num(b.fsync))})
	b.add(row{name: "… its CPU time", value: got.of(b.product, "cpu"), unit: "ms"})
	b.add(row{name: "… the last hundred to the first", value: end, floor: head, unit: "ms", budget: "flat", met: end <= 1.25*head})
	return nil
}

// longSession makes a session of 2,000 turns and loads it in a new process.
func (b *bench) longSession() error {
	turns := 2000
	if *quick {
		turns = 400
	}
	dir, err := os.MkdirTemp(stateRoot, "long-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sid, err := b.makeTurns(dir, turns)
	if err != nil {
		return err
	}
	var loads, firsts, fresh []float64
	for range *runs {
		load, first, err := b.loadOnce(dir, sid)
		if err != nil {
			return err
		}
		loads, firsts = append(loads, ms(load)), append(firsts, ms(first))
	}
	for range *runs {
		_, first, err := b.loadOnce(dir, "")
		if err != nil {
			return err
		}
		fresh = append(fresh, ms(first))
	}
	v := median(loads)
	b.add(row{name: fmt.Sprintf("load of a session of %d turns", turns), value: v, unit: "ms", budget: "≤ 300 ms", met: v <= 300})
	b.add(row{
		name: "… its next prompt → first chunk, cold", value: median(firsts), unit: "ms",
		note: fmt.Sprintf("a new session's: %s ms", num(median(fresh))),
	})
	return nil
}

// makeTurns runs short turns and notes what each costs as the session grows.
func (b *bench) makeTurns(dir string, turns int) (sid string, err error) {
	p, err := launchIn(b.product, b.mock, dir, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.cmd.Process.Kill(); <-p.exited }()
	if _, err := p.initialize(); err != nil {
		return "", err
	}
	if sid, _, err = p.newSession(); err != nil {
		return "", err
	}
	part := turns / 10
	var cpu []float64
	var edge []float64
	for i := range turns {
		t, err := p.prompt(sid, "A turn like many others in a long session. [[n=5]]")
		if err != nil {
			return "", err
		}
		cpu = append(cpu, ms(t.cpu))
		if (i+1)%part == 0 {
			m := median(cpu)
			b.turns.add(float64(i+1), m, 0)
			b.turnMemory.add(float64(i+1), memoryOf(p.cmd.Process.Pid).rss, 0)
			edge, cpu = append(edge, m), nil
		}
	}
	if _, err := p.hangUp(); err != nil {
		return "", err
	}
	last, first := edge[len(edge)-1], edge[0]
	b.add(row{name: fmt.Sprintf("CPU of turn %d to that of the first", turns), value: last, floor: first, unit: "ms", note: "what a turn sends grows with the session"})
	return sid, nil
}

func (b *bench) loadOnce(dir, sid string) (load, first time.Duration, err error) {
	p, err := launchIn(b.product, b.mock, dir, nil)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = p.cmd.Process.Kill(); <-p.exited }()
	if _, err := p.initialize(); err != nil {
		return 0, 0, err
	}
	if sid == "" {
		if sid, _, err = p.newSession(); err != nil {
			return 0, 0, err
		}
	} else if _, load, err = p.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, sid, p.workspace())); err != nil {
		return 0, 0, err
	}
	t, err := p.prompt(sid, "[[n=1]]")
	return load, t.first, err
}

// replay measures a scenario as a whole process, from its start to its end, its
// two hook processes included; the peak is the agent's own.
func (b *bench) replay() error {
	const scenario = "hook-cc-stop-continue"
	got := samples{}
	err := inTurn(*runs, []spec{b.product}, func(s spec, count bool) error {
		dir, err := os.MkdirTemp(stateRoot, "replay-")
		if err != nil {
			return err
		}
		hooks := filepath.Join(b.scenario(scenario), "workspace", "hooks.json")
		p, err := launchIn(spec{s.name, []string{s.argv[0], "--claude-hooks", hooks}}, b.mock, dir, []string{"ACP_AGENT_MODEL=replay:" + b.scenario(scenario)})
		if err != nil {
			return err
		}
		defer p.kill()
		if _, err := p.initialize(); err != nil {
			return err
		}
		sid, _, err := p.newSession()
		if err != nil {
			return err
		}
		if _, err := p.prompt(sid, "Reply with the single word FIRST and stop."); err != nil {
			return err
		}
		peak := memoryOf(p.cmd.Process.Pid).peak
		if _, err := p.hangUp(); err != nil {
			return err
		}
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			return fmt.Errorf("exit code %d: %s", code, tail(p.stderr.String()))
		}
		if count {
			got.add(s.name, "wall", ms(p.exitAt.Sub(p.start)))
			got.add(s.name, "peak", peak)
		}
		return nil
	})
	if err != nil {
		return err
	}
	v := got.of(b.product, "wall")
	b.add(row{name: "replay of hook-cc-stop-continue, whole process", value: v, unit: "ms", budget: "≤ 60 ms", met: v <= 60})
	v = got.of(b.product, "peak")
	b.add(row{name: "… peak memory", value: v, unit: "MB", budget: "≤ 30 MB", met: v <= 30})
	return nil
}
