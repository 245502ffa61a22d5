package config

import (
	"reflect"
	"strings"
)

// nearest returns the valid key that an unknown one was most likely meant to be,
// with its tables, or "" when none is near.
func nearest(t reflect.Type, key []string) string {
	var parents []string
	for len(key) > 1 {
		next, ok := child(t, key[0])
		if !ok {
			break
		}
		t, parents, key = next, append(parents, key[0]), key[1:]
	}
	best, dist := "", len(key[0])/2+1
	for _, name := range keys(t) {
		if d := distance(key[0], name); d < dist {
			best, dist = name, d
		}
	}
	if best == "" {
		return ""
	}
	return strings.Join(append(parents, best), ".")
}

// child is the type of the table below t that key names.
func child(t reflect.Type, key string) (reflect.Type, bool) {
	if t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	if t.Kind() != reflect.Struct {
		return nil, false
	}
	for f := range fields(t) {
		if f.Tag.Get("toml") == key {
			return f.Type, true
		}
	}
	return nil, false
}

func keys(t reflect.Type) []string {
	var out []string
	if t.Kind() == reflect.Struct {
		for f := range fields(t) {
			out = append(out, f.Tag.Get("toml"))
		}
	}
	return out
}

func fields(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

// distance is the number of single-character edits between two keys.
func distance(a, b string) int {
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur := make([]int, len(b)+1)
		cur[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j]+cost, prev[j+1]+1, cur[j]+1)
		}
		prev = cur
	}
	return prev[len(b)]
}
