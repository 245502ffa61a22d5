package wire

import (
	"fmt"
	"testing"
)

func TestHistoryIsBounded(t *testing.T) {
	var h History[int]
	for i := range 3 * maxKept {
		h.Keep(&Written[int]{session: fmt.Sprint(i)})
	}
	h.Keep(&Written[int]{session: "too long", buf: make([]byte, maxKeptBytes+1)})
	h.Keep(&Written[int]{})
	if len(h.kept) != maxKept || h.kept[0].session != fmt.Sprint(2*maxKept) {
		t.Errorf("%d are kept, the first is %s", len(h.kept), h.kept[0].session)
	}
	for _, s := range []string{"a", "b", "a", "c"} { // three are too many
		w := h.Take(s)
		w.buf = make([]byte, maxKeptBytes/2)
		h.Keep(w)
	}
	if len(h.kept) != 2 || h.kept[0].session != "a" || h.kept[1].session != "c" {
		t.Errorf("%d are kept, the first is %s", len(h.kept), h.kept[0].session)
	}
	if w := h.Take("c"); len(w.buf) == 0 || len(h.kept) != 1 {
		t.Error("what was kept is not given back, or stays with another owner")
	}
}
