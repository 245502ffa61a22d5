package session

import (
	"encoding/json"
	"strconv"

	"acp-agent/internal/jsonstring"
)

// objectWriter appends the members of one JSON object. It exists because the
// log is written once per event and encoding/json's reflection and its
// re-validation of MarshalJSON results would dominate a 20 MB prompt.
type objectWriter struct {
	dst []byte
	any bool
}

func (w *objectWriter) key(k string) {
	if w.any {
		w.dst = append(w.dst, ',')
	}
	w.any = true
	w.dst = append(w.dst, '"')
	w.dst = append(w.dst, k...)
	w.dst = append(w.dst, '"', ':')
}

func (w *objectWriter) str(k, v string) {
	w.key(k)
	w.dst = AppendString(w.dst, v)
}

func (w *objectWriter) optStr(k, v string) {
	if v != "" {
		w.str(k, v)
	}
}

func (w *objectWriter) int(k string, v int64) {
	w.key(k)
	w.dst = strconv.AppendInt(w.dst, v, 10)
}

func (w *objectWriter) optInt(k string, v int64) {
	if v != 0 {
		w.int(k, v)
	}
}

// optRaw writes JSON that somebody else wrote.
func (w *objectWriter) optRaw(k string, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	w.key(k)
	var err error
	w.dst, err = appendRaw(w.dst, raw)
	return err
}

func (w *objectWriter) bool(k string, v bool) {
	w.key(k)
	w.dst = strconv.AppendBool(w.dst, v)
}

// AppendString appends s as a JSON string. Valid UTF-8 comes back byte for byte
// from any decoder; a byte that is not UTF-8 becomes U+FFFD, as JSON cannot
// hold it. U+2028 and U+2029 are escaped, so that no reader takes them for line
// ends.
func AppendString(dst []byte, s string) []byte { return jsonstring.Lines.Append(dst, s) }

func appendInt(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }
