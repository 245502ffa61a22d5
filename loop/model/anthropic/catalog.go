package anthropic

import (
	"regexp"
	"strings"
	"sync"

	"acp-agent/loop/model"
)

// thinking is how a model takes its thinking configuration. A shape that a
// model does not take is refused with a 400.
type thinking int

const (
	// thinkUnknown: not in the table. Whether it is a Claude decides.
	thinkUnknown thinking = iota
	// thinkAlways: adaptive; cannot be turned off, so off is the lowest effort.
	thinkAlways
	// thinkAdaptive: adaptive, and {"type":"disabled"} is taken.
	thinkAdaptive
	// thinkBetween: adaptive; {"type":"between_tools"} is its lowest setting.
	thinkBetween
	// thinkBudget: {"type":"enabled","budget_tokens":N} alone.
	thinkBudget
)

// entry is what the adapter knows of a model beyond model.Info.
type entry struct {
	model.Info
	thinking thinking
	// efforts are the output_config.effort values of the wire, in rising order.
	efforts []string
	// binds: the model takes a thinking block back only while all before it is
	// unchanged.
	binds bool
	known bool
}

// DefaultWindow is the context window assumed of a model that is not in the
// table. All Claude models of these years have it or more.
const DefaultWindow = 200_000

// unknownMaxTokens is asked for where nothing is known of a model: the wire
// wants a number, and servers refuse one that is too high.
const unknownMaxTokens = 32_000

// usualMaxTokens bounds the output at the usual efforts. The models give twice
// that, but the bound is taken from the window when compaction is due; at the
// highest efforts, where thinking needs it, it is not applied.
const usualMaxTokens = 64_000

// Sources. Names: anthropic-sdk-go v2.15.0, message.go, "type Model". Windows,
// output limits and prices: platform.claude.com/docs/en/models/NAME/overview and
// /about-claude/pricing as stored in September to November 2026; what a live
// GET /v1/models said on 2026-09-26 agrees. Thinking: …/build-with-claude/
// thinking-troubleshooting, "Thinking support, defaults, and rejected
// configurations by model", and …/models/sonnet-5-5/whats-new-sonnet-5-5.
// Efforts: …/build-with-claude/effort. Binding: …/build-with-claude/
// preserved-thinking. The price of Haiku 5.5 rises beyond 100K of input and is
// left out; so are those that no stored page names. Sonnet 4.5's window of 1M
// needs a beta header that this agent does not send.
var table = sync.OnceValue(func() map[string]entry {
	m := map[string]entry{}
	add := func(name string, window, output int64, t thinking, efforts string, binds bool, price *model.Price) {
		e := entry{thinking: t, efforts: strings.Fields(efforts), binds: binds, known: true}
		e.Info = model.Info{Window: window, MaxOutput: output, Images: true, Price: price}
		if t != thinkAlways {
			e.Efforts = append(e.Efforts, "off")
		}
		if t == thinkBudget {
			e.Efforts = append(e.Efforts, "low", "medium", "high", "max")
		} else {
			e.Efforts = append(e.Efforts, e.efforts...)
		}
		m[name] = e
	}
	price := func(in, out, read float64) *model.Price {
		return &model.Price{Input: in, Output: out, CacheRead: read, CacheWrite: in * 1.25}
	}
	const window, output = 1_000_000, 128_000
	const five, four = "low medium high xhigh max", "low medium high max"
	add("claude-fable-5-2", window, output, thinkAlways, five, true, nil)
	add("claude-mythos-5-2", window, output, thinkAlways, five, true, nil)
	add("claude-fable-5-1", window, output, thinkAlways, five, true, price(10, 50, 1))
	add("claude-mythos-5-1", window, output, thinkAlways, five, false, nil)
	add("claude-fable-5", window, output, thinkAlways, five, false, nil)
	add("claude-mythos-5", window, output, thinkAlways, five, false, nil)
	add("claude-opus-5-5", window, output, thinkAlways, five, true, price(4, 20, 0.2))
	add("claude-sonnet-5-5", window, output, thinkBetween, five, true, price(2, 10, 0.2))
	add("claude-haiku-5-5", window, output, thinkAdaptive, five, true, nil)
	add("claude-opus-5", window, output, thinkAdaptive, five, false, price(5, 25, 0.5))
	add("claude-sonnet-5", window, output, thinkAdaptive, five, false, price(2, 10, 0.2))
	add("claude-opus-4-8", window, output, thinkAdaptive, five, false, price(5, 25, 0.5))
	add("claude-opus-4-7", window, output, thinkAdaptive, five, false, price(5, 25, 0.5))
	add("claude-opus-4-6", window, output, thinkAdaptive, four, false, price(5, 25, 0.5))
	add("claude-sonnet-4-6", window, output, thinkAdaptive, four, false, price(3, 15, 0.3))
	add("claude-opus-4-5", 200_000, 64_000, thinkBudget, "", false, price(5, 25, 0.5))
	add("claude-sonnet-4-5", 200_000, 64_000, thinkBudget, "", false, price(3, 15, 0.3))
	add("claude-haiku-4-5", 200_000, 64_000, thinkBudget, "", false, price(1, 5, 0.1))
	return m
})

// order lists the models that are offered, those that fit a coding agent best
// first.
var order = []string{
	"claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2", "claude-fable-5-1",
	"claude-opus-5", "claude-sonnet-5", "claude-fable-5", "claude-opus-4-8", "claude-opus-4-7",
	"claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-opus-4-5", "claude-sonnet-4-5",
	"claude-mythos-5-2", "claude-mythos-5-1", "claude-mythos-5",
}

var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-\d{8}$`) })

// lookup finds a model by its name. Gateways put a vendor before it
// ("anthropic/claude-…"), and dated names are those of the undated model.
func lookup(provider, name string) entry {
	key := name[strings.LastIndexByte(name, '/')+1:]
	e, ok := table()[key]
	if !ok {
		e, ok = table()[dated().ReplaceAllString(key, "")]
	}
	if !ok {
		e = entry{Info: model.Info{Window: DefaultWindow, Images: isClaude(name)}}
	}
	e.Ref = provider + "/" + name
	return e
}

func isClaude(name string) bool { return strings.Contains(strings.ToLower(name), "claude") }

// Lookup returns what is known of a model. A name that is not in the table is
// passed through to the provider; it gets DefaultWindow and, when it is a
// Claude, images.
func Lookup(provider, name string) model.Info { return lookup(provider, name).Info }

// Known returns the models of a provider that are in the table; only
// "anthropic" has any.
func Known(provider string) []model.Info {
	if provider != "anthropic" {
		return nil
	}
	out := make([]model.Info, 0, len(order))
	for _, name := range order {
		out = append(out, Lookup(provider, name))
	}
	return out
}
