package session_test

import (
	"strings"
	"testing"

	"acp-agent/session"
)

func BenchmarkAppendString(b *testing.B) {
	text := strings.Repeat("func (s *Session) append(data ...session.Data) error {\n\tif s.failed != nil {\n\t\treturn s.failed\n\t}\n", 200)
	for _, c := range [][2]string{
		{"code", text},
		{"prose", strings.Repeat("a line of a file that is read ", 600)},
		{"quotes", strings.Repeat("\"a\":1,", 3000)},
		{"foreign", strings.Repeat("строка файла ", 700)},
	} {
		s := c[1]
		b.Run(c[0], func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			buf := make([]byte, 0, 2*len(s))
			for b.Loop() {
				buf = session.AppendString(buf[:0], s)
			}
		})
	}
}
