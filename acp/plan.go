package acp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// A plan is what the codec knows about one struct type, read once from its tags:
//
//	json:"name,omitzero"   an optional member, left out when zero; without omitzero it is required
//	acp:"optional"         written even when zero, but need not be there when reading
//	acp:"strict"           an optional member whose wrong value is an error; others decode as absent
//	acp:"lenient"          a required member whose wrong value decodes as zero
//	acp:"null"             null counts as empty
//	acp:"absent"           a required member that some clients leave out: counts as empty
//	acp:"skip"             an array whose malformed items are dropped
//	acp:"union=type"       on a blank field: the struct is a union with this discriminator
//	acp:"variant=text"     the variant for that discriminator value; its members lie in the union object
//	acp:"variant=x,default"  that variant is meant when there is no discriminator, and writes none
//	acp:"key=text"         the variant that is meant when that member is there
//	acp:"other"            takes the whole object when no variant fits
type plan struct {
	fields   []field
	byName   map[string]int
	custom   bool // the type has a codec of its own and no tags (Patch and the like)
	union    bool
	disc     string
	variants []variant
	other    int // struct field index, -1 for none
}

type field struct {
	name     string
	prefix   string // `"name":`
	index    int
	typ      reflect.Type
	required bool
	omit     bool
	lenient  bool
	null     bool
	absent   bool
	skip     bool
}

type variant struct {
	value  string // discriminator value
	key    string // member that tells the variant
	isDef  bool   // the variant without a discriminator
	index  int
	typ    reflect.Type // the struct, not the pointer
	prefix string       // `"type":"text"`, empty when none is written
}

var plans sync.Map // reflect.Type → *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p, _ := plans.LoadOrStore(t, newPlan(t))
	return p.(*plan)
}

func newPlan(t reflect.Type) *plan {
	p := &plan{byName: map[string]int{}, other: -1}
	for i := range t.NumField() {
		sf := t.Field(i)
		opts := map[string]string{}
		for o := range strings.SplitSeq(sf.Tag.Get("acp"), ",") {
			k, v, _ := strings.Cut(o, "=")
			opts[k] = v
		}
		if disc, ok := opts["union"]; ok {
			p.union, p.disc = true, disc
			continue
		}
		if _, ok := opts["other"]; ok {
			p.other = i
			continue
		}
		if v, ok := newVariant(sf, i, p.disc, opts); ok {
			p.variants = append(p.variants, v)
			continue
		}
		name, rest, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "" || name == "-" || !sf.IsExported() {
			continue
		}
		has := func(o string) bool { _, ok := opts[o]; return ok }
		f := field{
			name: name, prefix: string(appendString(nil, name)) + ":", index: i, typ: sf.Type,
			omit: strings.Contains(rest, "omit"), null: has("null"), absent: has("absent"), skip: has("skip"),
		}
		f.required = !f.omit && !has("optional")
		f.lenient = has("lenient") || !f.required && !has("strict")
		p.byName[name] = len(p.fields)
		p.fields = append(p.fields, f)
	}
	p.custom = len(p.fields) == 0 && len(p.variants) == 0 && reflect.PointerTo(t).Implements(unmarshaler)
	return p
}

// planned reports whether the codec encodes t by its tags, and not by the methods it may have.
func planned(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == pkgPath && !planOf(t).custom
}

// tagged reports whether t, as the whole of a message's params or result, is read by its tags: the protocol's
// own types are, and so are those of a method that an agent adds.
func tagged(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(unmarshaler) && len(planOf(t).fields) > 0
}

// pkgPath tells our own structs, which have plans, from those of other packages.
var pkgPath = reflect.TypeFor[plan]().PkgPath()

func newVariant(sf reflect.StructField, i int, disc string, opts map[string]string) (variant, bool) {
	value, isVariant := opts["variant"]
	key, isKey := opts["key"]
	if !isVariant && !isKey {
		return variant{}, false
	}
	if sf.Type.Kind() != reflect.Pointer {
		panic(fmt.Sprintf("acp: variant field %s must be a pointer", sf.Name))
	}
	_, isDef := opts["default"]
	v := variant{value: value, key: key, isDef: isDef, index: i, typ: sf.Type.Elem()}
	if isVariant && !isDef {
		v.prefix = string(appendString(nil, disc)) + ":" + string(appendString(nil, value))
	}
	return v, true
}

var (
	rawType       = reflect.TypeFor[json.RawMessage]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	unmarshaler   = reflect.TypeFor[json.Unmarshaler]()
	checkerType   = reflect.TypeFor[interface{ check() error }]()
)
