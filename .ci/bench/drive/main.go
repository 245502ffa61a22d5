// Command drive measures the agent against the floor agents: whole processes,
// taken in turn, against one scripted model server. It prints a table of what
// was measured, the floor, the budget and whether it is met, and can draw the
// growth of cost and memory as SVG.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

var (
	agentPath = flag.String("agent", "", "the product's binary")
	echoPath  = flag.String("echo", "", "the floor agent on the standard library")
	rpcPath   = flag.String("echo-jsonrpc2", "", "the floor agent on sourcegraph/jsonrpc2")
	mockPath  = flag.String("mock", "", "the scripted model server")
	scenarios = flag.String("scenarios", "", "folder of the product's scenarios")
	plotDir   = flag.String("plots", "", "draw the growth into this folder")
	runs      = flag.Int("runs", 11, "runs of each measure; medians are printed")
	quick     = flag.Bool("quick", false, "fewer runs and smaller sizes: for CI")
	only      = flag.String("only", "", "comma-separated measures: "+strings.Join(names(), ", "))
	stateRoot string
)

// bench is what the measures share.
type bench struct {
	mock                 string
	product, echo, jrpc2 spec
	fsync                float64 // ms
	rows                 []row
	deltas, turns        series
	sessions             series
	deltaMemory          series
	turnMemory           series
}

// row is one line of the table. A value of 0 in floor means that there is none.
type row struct {
	name         string
	value, floor float64
	unit, budget string
	met          bool
	note         string
}

type measure struct {
	name string
	run  func(*bench) error
}

func measures() []measure {
	return []measure{
		{"start", (*bench).start},
		{"stream", (*bench).stream},
		{"many", (*bench).many},
		{"long", (*bench).long},
		{"big", (*bench).big},
		{"tools", (*bench).tools},
		{"turns", (*bench).longSession},
		{"replay", (*bench).replay},
		{"end", (*bench).end},
		{"binary", (*bench).binary},
		// Last: ext4 takes long to make files where thousands have just been removed.
		{"idle", (*bench).idle},
	}
}

func names() (out []string) {
	for _, m := range measures() {
		out = append(out, m.name)
	}
	return out
}

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		os.Exit(1)
	}
}

func run() (err error) {
	if *quick && *runs > 5 {
		*runs = 5
	}
	if stateRoot, err = os.MkdirTemp("", "acp-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(stateRoot)
	url, stop, err := startMock()
	if err != nil {
		return err
	}
	defer stop()
	b := &bench{
		mock: url, product: spec{"acp-agent", []string{*agentPath}},
		echo: spec{"echo", []string{*echoPath}}, jrpc2: spec{"echo-jsonrpc2", []string{*rpcPath}},
	}
	f, err := fsyncCost(stateRoot)
	if err != nil {
		return err
	}
	b.fsync = ms(f)
	fmt.Printf("%s; one append with fsync: %.2f ms; medians of %d runs, agents in turn\n\n", machine(), b.fsync, *runs)
	want := strings.Split(*only, ",")
	var failed []error
	for _, m := range measures() {
		if *only != "" && !slices.Contains(want, m.name) {
			continue
		}
		if err := m.run(b); err != nil {
			failed = append(failed, fmt.Errorf("measure %s: %w", m.name, err))
		}
	}
	b.table()
	if *plotDir != "" {
		failed = append(failed, b.plots())
	}
	return errors.Join(failed...)
}

// startMock starts the model server, which prints its address.
func startMock() (url string, stop func(), err error) {
	cmd := exec.Command(*mockPath)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("starting the model server: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("the model server did not start: %w", err)
	}
	return strings.TrimSpace(line), func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }, nil
}

func (b *bench) add(r row) { b.rows = append(b.rows, r) }

func (b *bench) table() {
	fmt.Println("| measure | floor (echo) | measured | ratio | budget | |")
	fmt.Println("|---|---|---|---|---|---|")
	missed := 0
	for _, r := range b.rows {
		floor, ratio, met := "", "", "met"
		if r.floor > 0 {
			floor, ratio = num(r.floor)+" "+r.unit, fmt.Sprintf("%.2f", r.value/r.floor)
		}
		switch {
		case r.budget == "":
			met = ""
		case !r.met:
			met = "**missed**"
			missed++
		}
		if r.note != "" {
			met = strings.TrimPrefix(met+"; "+r.note, "; ")
		}
		fmt.Printf("| %s | %s | %s %s | %s | %s | %s |\n", r.name, floor, num(r.value), r.unit, ratio, r.budget, met)
	}
	fmt.Printf("\n%d budgets missed.\n", missed)
}

func num(f float64) string {
	switch {
	case f >= 1000:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

func (b *bench) scenario(name string) string { return filepath.Join(*scenarios, name) }
