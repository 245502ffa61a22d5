package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// samples are the values of the runs, by agent and figure.
type samples map[string][]float64

func (s samples) add(agent, figure string, v float64) {
	s[agent+" "+figure] = append(s[agent+" "+figure], v)
}

func (s samples) of(agent spec, figure string) float64 { return median(s[agent.name+" "+figure]) }

// half is the range of the middle half.
func (s samples) half(agent spec, figure string) string {
	v := slices.Sorted(slices.Values(s[agent.name+" "+figure]))
	if len(v) == 0 {
		return ""
	}
	return num(v[len(v)/4]) + " to " + num(v[3*(len(v)-1)/4])
}

// tenth is what nine of ten do not pass.
func (s samples) tenth(agent spec, figure string) float64 {
	v := slices.Sorted(slices.Values(s[agent.name+" "+figure]))
	if len(v) == 0 {
		return 0
	}
	return v[(len(v)*9-1)/10]
}

// inTurn runs fn for each agent, one after another, again and again: what the
// machine does meanwhile hits all alike. The first round is not counted.
func inTurn(n int, agents []spec, fn func(s spec, count bool) error) error {
	for i := range n + 1 {
		for _, a := range agents {
			if err := fn(a, i > 0); err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
		}
	}
	return nil
}

// start measures the time from the start of the process to its first answer.
func (b *bench) start() error {
	got := samples{}
	n := *runs
	if !*quick {
		n = max(n, 30)
	}
	err := inTurn(n, []spec{b.echo, b.jrpc2, b.product}, func(s spec, count bool) error {
		p, err := launch(s, b.mock)
		if err != nil {
			return err
		}
		defer p.kill()
		took, err := p.initialize()
		if err == nil && count {
			got.add(s.name, "init", ms(took))
			got.add(s.name, "cpu", ms(cpuOf(p.cmd.Process.Pid)))
			got.add(s.name, "rss", memoryOf(p.cmd.Process.Pid).rss)
		}
		return err
	})
	v, f := got.of(b.product, "init"), got.of(b.echo, "init")
	b.add(row{name: "spawn → initialize reply", value: v, floor: f, unit: "ms", budget: "≤ 2.5 × floor", met: v <= 2.5*f})
	b.add(row{name: "… its CPU time", value: got.of(b.product, "cpu"), floor: got.of(b.echo, "cpu"), unit: "ms"})
	b.add(row{name: "… resident then", value: got.of(b.product, "rss"), floor: got.of(b.echo, "rss"), unit: "MB"})
	return err
}

// warm is how many warm prompts of each kind a process gets: the time to the first
// chunk varies by 1 to 6 times with where the kernel puts the three processes on two
// cores (docs/performance.md), and one prompt of each of 11 processes told nothing.
const warm = 4

// stream measures a session with a cold and some warm answers of 2,000 deltas, and
// of one delta, with which nobody contends for the cores.
func (b *bench) stream() error {
	got := samples{}
	const n = 2000
	err := inTurn(*runs, []spec{b.echo, b.jrpc2, b.product}, func(s spec, count bool) error {
		p, err := launch(s, b.mock)
		if err != nil {
			return err
		}
		defer p.kill()
		if _, err := p.initialize(); err != nil {
			return err
		}
		sid, created, err := p.newSession()
		if err != nil {
			return err
		}
		if _, err := p.prompt(sid, fmt.Sprintf("[[n=%d]]", n)); err != nil {
			return err
		}
		if count {
			got.add(s.name, "new", ms(created))
		}
		for i := range 2 * warm {
			deltas, first := n, "first"
			if i >= warm {
				deltas, first = 1, "first of one"
			}
			t, err := p.prompt(sid, fmt.Sprintf("[[n=%d]]", deltas))
			if err != nil {
				return err
			}
			if t.chunks != deltas {
				return fmt.Errorf("%d chunks for %d deltas", t.chunks, deltas)
			}
			if !count {
				continue
			}
			got.add(s.name, first, ms(t.first))
			if i < warm {
				got.add(s.name, "rate", n/t.total.Seconds())
			}
		}
		return nil
	})
	v, f := got.of(b.product, "new"), got.of(b.echo, "new")
	b.add(row{name: "session/new", value: v, floor: f, unit: "ms", budget: "≤ 5 ms", met: v <= 5})
	v, f = got.of(b.product, "first"), got.of(b.echo, "first")
	limit := 2*f + b.fsync
	b.add(row{
		name: "prompt → first chunk, warm", value: v, floor: f, unit: "ms", budget: fmt.Sprintf("≤ 2 × floor + one fsync = %s", num(limit)), met: v <= limit,
		note: "2,000 deltas; middle half " + got.half(b.product, "first") + ", floor's " + got.half(b.echo, "first"),
	})
	b.add(row{
		name: "… of an answer of one delta", value: got.of(b.product, "first of one"), floor: got.of(b.echo, "first of one"), unit: "ms",
		note: "middle half " + got.half(b.product, "first of one") + ", floor's " + got.half(b.echo, "first of one"),
	})
	v, f = got.of(b.product, "rate"), got.of(b.echo, "rate")
	b.add(row{
		name: "deltas a second, 2,000 deltas", value: v, floor: f, unit: "/s", budget: "≥ 0.3 × floor", met: v >= 0.3*f,
		note: fmt.Sprintf("%.2f × echo-jsonrpc2", v/got.of(b.jrpc2, "rate")),
	})
	return err
}

// deltaSizes are the answers whose cost a delta is compared; several short ones
// are asked for, so that the sums are comparable.
func deltaSizes() []int {
	if *quick {
		return []int{2000, 20000}
	}
	return []int{2000, 5000, 20000, 60000, 200000}
}

// long measures CPU a delta and peak memory for answers of growing length.
func (b *bench) long() error {
	got := samples{}
	for _, n := range deltaSizes() {
		rounds := min(*runs, 5)
		if n == 20000 {
			rounds = *runs
		}
		err := inTurn(rounds, []spec{b.echo, b.jrpc2, b.product}, func(s spec, count bool) error {
			return b.longRun(s, n, count, got)
		})
		if err != nil {
			return err
		}
		key := fmt.Sprint(n)
		b.deltas.add(float64(n), got.of(b.product, "cpu"+key), got.of(b.echo, "cpu"+key))
		b.deltaMemory.add(float64(n), got.of(b.product, "peak"+key), got.of(b.echo, "peak"+key))
	}
	v, f := got.of(b.product, "cpu20000"), got.of(b.echo, "cpu20000")
	b.add(row{
		name: "CPU a delta, 20,000 deltas", value: v, floor: f, unit: "µs", budget: "≤ 20 µs", met: v <= 20,
		note: fmt.Sprintf("echo-jsonrpc2 %s µs", num(got.of(b.jrpc2, "cpu20000"))),
	})
	for _, n := range deltaSizes() {
		if n == 20000 || n == 5000 || n == 60000 {
			continue
		}
		key, base := fmt.Sprintf("net%d", n), got.of(b.product, "net20000")
		w := got.of(b.product, key)
		b.add(row{
			name: fmt.Sprintf("… at %d deltas, less what a turn costs anyway", n), value: w, floor: got.of(b.echo, key), unit: "µs",
			budget: fmt.Sprintf("no more than 15 %% above that at 20,000 (%s)", num(base)), met: w <= 1.15*base, note: fmt.Sprintf("%+.0f %%", 100*(w/base-1)),
		})
	}
	b.add(row{name: "CPU of a turn of one delta", value: got.of(b.product, "turn"), floor: got.of(b.echo, "turn"), unit: "ms"})
	v = got.of(b.product, "peak20000")
	b.add(row{name: "peak memory after 20,000 deltas", value: v, floor: got.of(b.echo, "peak20000"), unit: "MB", budget: "≤ 30 MB", met: v <= 30})
	return nil
}

func (b *bench) longRun(s spec, n int, count bool, got samples) error {
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
	if _, err := p.prompt(sid, "[[n=2000]]"); err != nil { // warm
		return err
	}
	times := max(1, 20000/n)
	var cpu time.Duration
	for range times {
		t, err := p.prompt(sid, fmt.Sprintf("[[n=%d]]", n))
		if err != nil {
			return err
		}
		if t.chunks != n {
			return fmt.Errorf("%d chunks for %d deltas", t.chunks, n)
		}
		cpu += t.cpu
	}
	// What a turn costs anyway: the request, the commits, the hooks.
	var own []float64
	for range 10 {
		t, err := p.prompt(sid, "[[n=1]]")
		if err != nil {
			return err
		}
		own = append(own, us(t.cpu))
	}
	if count {
		got.add(s.name, fmt.Sprintf("cpu%d", n), us(cpu)/float64(n*times))
		got.add(s.name, fmt.Sprintf("net%d", n), (us(cpu)/float64(times)-median(own))/float64(n))
		got.add(s.name, "turn", median(own)/1e3)
		got.add(s.name, fmt.Sprintf("peak%d", n), memoryOf(p.cmd.Process.Pid).peak)
	}
	return nil
}

// end measures how long a process outlives its input.
func (b *bench) end() error {
	got := samples{}
	for _, streaming := range []bool{false, true} {
		figure := fmt.Sprint(streaming)
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
			first := p.mark()
			if streaming {
				p.send("session/prompt", promptParams(sid, "[[n=3000 delay=2ms]]"))
				<-first
			}
			took, err := p.hangUp()
			if err == nil && count {
				got.add(s.name, figure, ms(took))
			}
			return err
		})
		if err != nil {
			return err
		}
		name := "end of input, idle → gone"
		if streaming {
			name = "end of input, streaming → gone"
		}
		v := got.of(b.product, figure)
		b.add(row{name: name, value: v, floor: got.of(b.echo, figure), unit: "ms", budget: "≤ 50 ms", met: v <= 50})
	}
	return nil
}

// binary reports the size of the stripped binary.
func (b *bench) binary() error {
	p, err := os.Stat(*agentPath)
	if err != nil {
		return err
	}
	e, err := os.Stat(*echoPath)
	if err != nil {
		return err
	}
	v := float64(p.Size()) / 1e6
	b.add(row{name: "binary, stripped", value: v, floor: float64(e.Size()) / 1e6, unit: "MB", budget: "≤ 30 MB", met: v <= 30})
	return nil
}
