package tool

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxTitle bounds a title, in characters.
const MaxTitle = 200

// Title makes one plain line of at most MaxTitle characters out of any text.
// Clients show it as it is, some as Markdown, in the card that a person decides
// by. So a line break stays visible as a sign, for two commands must not look
// like one; characters that draw nothing or reorder what is drawn (controls,
// bidirectional marks) go; and a run of backticks that would open a code fence
// becomes apostrophes.
func Title(s string) string {
	// No title needs more of a large argument than this.
	const enough = 4 * utf8.UTFMax * MaxTitle
	cut := false
	if len(s) > enough {
		n := enough
		for n > enough-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		s, cut = s[:n], true
	}
	s = strings.ReplaceAll(strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")), "\r\n", "\n")
	var b strings.Builder
	n, ticks, space := 0, 0, false
	put := func(r rune) {
		b.WriteRune(r)
		n++
	}
	flush := func() {
		tick := '`'
		if ticks >= 3 {
			tick = '\''
		}
		for ; ticks > 0; ticks-- {
			put(tick)
		}
	}
	for _, r := range s {
		if r == '`' {
			ticks++
			space = false
			continue
		}
		flush()
		switch {
		case r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029':
			if !space {
				put(' ')
			}
			put('⏎')
			put(' ')
			space = true
		case unicode.IsSpace(r):
			if !space {
				put(' ')
			}
			space = true
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
		default:
			put(r)
			space = false
		}
	}
	flush()
	out := strings.TrimRight(b.String(), " ")
	if n > MaxTitle || cut {
		runes := []rune(out)
		out = strings.TrimRight(string(runes[:min(len(runes), MaxTitle-1)]), " ") + "…"
	}
	return out
}
