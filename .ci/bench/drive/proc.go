package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cpuOf is the CPU time of a process's threads by the scheduler's own account
// (nanoseconds; /proc/PID/stat counts in ticks of 10 ms). Go keeps its threads,
// so nothing is lost with one that ends.
func cpuOf(pid int) (sum time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil {
			continue
		}
		f, _, _ := strings.Cut(string(b), " ")
		n, _ := strconv.ParseInt(f, 10, 64)
		sum += time.Duration(n)
	}
	return sum
}

// memory is what the kernel says of a process, in MB.
type memory struct {
	rss, peak, anon float64
}

func memoryOf(pid int) (m memory) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m
	}
	field := func(name string) float64 {
		i := bytes.Index(b, []byte(name))
		if i < 0 {
			return 0
		}
		n, _ := strconv.ParseFloat(strings.Fields(string(b[i+len(name):]))[0], 64)
		return n * 1024 / 1e6
	}
	return memory{rss: field("VmRSS:"), peak: field("VmHWM:"), anon: field("RssAnon:")}
}

// resetPeak makes the kernel forget the peak so far.
func resetPeak(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// fsyncCost is what one append of a log line and its fsync cost in the directory
// in which the agents keep their logs.
func fsyncCost(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "fsync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	line := bytes.Repeat([]byte("x"), 1024)
	var all []float64
	for range 50 {
		at := time.Now()
		if _, err := f.Write(line); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		all = append(all, float64(time.Since(at)))
	}
	return time.Duration(median(all)), nil
}

// machine describes where the figures come from.
func machine() string {
	cpu := "unknown CPU"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(b), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			cpu = strings.TrimSpace(strings.TrimLeft(line, "\t :"))
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	load, _ := os.ReadFile("/proc/loadavg")
	cores, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	return fmt.Sprintf("%s, %d cores, Linux %s, load %s", cpu, len(cores), strings.TrimSpace(string(kernel)), strings.Fields(string(load) + " ?")[0])
}
