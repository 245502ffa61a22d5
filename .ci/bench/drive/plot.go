package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// series is a curve of the product and, where there is one, of the floor.
type series struct {
	x, product, floor []float64
}

func (s *series) reset() { *s = series{} }

func (s *series) add(x, product, floor float64) {
	s.x, s.product, s.floor = append(s.x, x), append(s.product, product), append(s.floor, floor)
}

// plots draws the growth that was measured.
func (b *bench) plots() error {
	for _, p := range []struct {
		file, title, xLabel, yLabel string
		s                           *series
		logX                        bool
	}{
		{"performance-deltas-cpu.svg", "CPU a delta, by the length of the answer", "deltas in one answer", "µs", &b.deltas, true},
		{"performance-deltas-memory.svg", "Peak memory, by the length of the answer", "deltas in one answer", "MB", &b.deltaMemory, true},
		{"performance-sessions-memory.svg", "Resident memory, by open sessions", "open sessions", "MB", &b.sessions, false},
		{"performance-turns-cpu.svg", "CPU of a turn, by the turns before it", "turns in the session", "ms", &b.turns, false},
		{"performance-turns-memory.svg", "Resident memory, by turns", "turns in the session", "MB", &b.turnMemory, false},
	} {
		if len(p.s.x) == 0 {
			continue
		}
		svg := draw(p.title, p.xLabel, p.yLabel, p.s, p.logX)
		if err := os.WriteFile(filepath.Join(*plotDir, p.file), []byte(svg), 0o644); err != nil {
			return err
		}
	}
	return nil
}

const (
	width, height                = 640.0, 360.0
	left, right, top, bottomEdge = 60.0, 20.0, 40.0, 50.0
)

// draw makes the SVG of a series: both axes from zero (x by powers where logX),
// so that flat looks flat.
func draw(title, xLabel, yLabel string, s *series, logX bool) string {
	scale := func(v float64) float64 { return v }
	x0 := 0.0
	if logX {
		scale = math.Log10
		x0 = math.Floor(scale(s.x[0]))
	}
	x1 := scale(s.x[len(s.x)-1])
	y1 := 0.0
	for i := range s.x {
		y1 = max(y1, s.product[i], s.floor[i])
	}
	y1 = nice(y1 * 1.1)
	px := func(x float64) float64 { return left + (scale(x)-x0)/(x1-x0)*(width-left-right) }
	py := func(y float64) float64 { return height - bottomEdge - y/y1*(height-top-bottomEdge) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" fill="#fff"/><text x="%.0f" y="22" font-size="15">%s</text>`+"\n", width, height, left, title)
	for i := range 6 {
		y := y1 * float64(i) / 5
		fmt.Fprintf(&b, `<path d="M%.1f %.1fH%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n", left, py(y), width-right, left-6, py(y)+4, num(y))
	}
	for _, x := range s.x {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%.0f</text>`+"\n", px(x), height-bottomEdge+18, x)
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text><text x="14" y="%.1f" transform="rotate(-90 14 %.1f)" text-anchor="middle">%s</text>`+"\n",
		(left+width-right)/2, height-12, xLabel, height/2, height/2, yLabel)
	curve(&b, s.x, s.product, px, py, "#0b6", "acp-agent", 0)
	if s.floor[0] > 0 {
		curve(&b, s.x, s.floor, px, py, "#888", "floor (echo)", 1)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func curve(b *strings.Builder, xs, ys []float64, px, py func(float64) float64, colour, name string, row int) {
	var path strings.Builder
	for i := range xs {
		op := "L"
		if i == 0 {
			op = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", op, px(xs[i]), py(ys[i]))
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", px(xs[i]), py(ys[i]), colour)
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), colour)
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s" text-anchor="end">%s</text>`+"\n", width-right-4, top+14*float64(row)+6, colour, name)
}

// nice rounds up to 1, 2 or 5 times a power of ten.
func nice(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if v <= m*p {
			return m * p
		}
	}
	return v
}
