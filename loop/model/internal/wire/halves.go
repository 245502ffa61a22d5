package wire

import "bytes"

// Servers that cut text by its UTF-16 units, as those in JavaScript and Java do, put the
// halves of a surrogate pair into two deltas: `"\ud83d"` and `"\ude00"`. Each by itself is no
// character. The first half is therefore taken over to the event that has the second; where none
// follows, both stay where they are and are decoded to U+FFFD.

// firstHalf returns where the first half of a pair stands that ends a string of JSON, -1 for nowhere.
func firstHalf(data []byte) int {
	for i := 0; ; {
		n := bytes.Index(data[i:], []byte(`\u`))
		if n < 0 {
			return -1
		}
		i += n
		if len(data) > i+6 && data[i+6] == '"' && isHalf(data[i:], '8', 'b') && opensEscape(data, i) {
			return i
		}
		i += 2
	}
}

// secondHalf returns where the second half of a pair stands that begins a string of JSON, -1 for nowhere.
func secondHalf(data []byte) int {
	for i := 0; ; {
		n := bytes.Index(data[i:], []byte(`"\u`))
		if n < 0 {
			return -1
		}
		i += n
		if isHalf(data[i+1:], 'c', 'f') && opensEscape(data, i) {
			return i + 1
		}
		i += 3
	}
}

// isHalf reports whether esc begins with the escape \udNxx, N being from low to high.
func isHalf(esc []byte, low, high byte) bool {
	return len(esc) >= 6 && esc[2]|0x20 == 'd' && esc[3]|0x20 >= low && esc[3]|0x20 <= high
}

// opensEscape reports whether what is at data[i] is not itself escaped.
func opensEscape(data []byte, i int) bool {
	n := 0
	for n < i && data[i-n-1] == '\\' {
		n++
	}
	return n%2 == 0
}

// rejoin takes the half that ends a string of first over to next, where its other half is.
func rejoin(first, next []byte) ([]byte, []byte) {
	from, to := firstHalf(first), secondHalf(next)
	if from < 0 || to < 0 {
		return first, next
	}
	half := bytes.Clone(first[from : from+6])
	whole := make([]byte, 0, len(next)+len(half))
	whole = append(append(append(whole, next[:to]...), half...), next[to:]...)
	return append(first[:from], first[from+6:]...), whole
}
