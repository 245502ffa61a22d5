package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestEnvBlock(t *testing.T) {
	fields := make([]string, 50)
	for i := range fields {
		fields[i] = fmt.Sprint(i)
	}
	fields[47], fields[48] = "4096", "5000"
	good := "12 (a) b ) " + strings.Join(fields, " ")
	if start, end, err := envBlock(good); err != nil || start != 4096 || end != 5000 {
		t.Errorf("%d to %d, %v", start, end, err)
	}
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Skip("there is no /proc here: ", err)
	}
	start, end, err := envBlock(string(own))
	if err != nil || end-start < int64(len(os.Getenv("PATH"))) {
		t.Errorf("%q: %d to %d, %v", own, start, end, err)
	}
	for _, bad := range []string{
		"", ")", "1 (x) 2 3", strings.Replace(good, "4096", "x", 1), strings.Replace(good, "5000", "x", 1),
		strings.Replace(good, "4096", "0", 1), strings.Replace(good, "5000", "4000", 1), strings.Replace(good, "5000", "99999999999", 1),
	} {
		if start, end, err := envBlock(bad); err == nil {
			t.Errorf("%q: %d to %d", bad, start, end)
		}
	}
}
