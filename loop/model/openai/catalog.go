package openai

import (
	"regexp"
	"strings"
	"sync"

	"acp-agent/loop/model"
)

// entry is what the adapter knows of a model beyond model.Info.
type entry struct {
	model.Info
	// efforts are the reasoning_effort values of the wire, in rising order.
	efforts []string
	// noThinkTools: OpenAI's own Chat Completions refuses function tools unless
	// reasoning_effort is none. ("Function tools with reasoning_effort are not
	// supported for gpt-5.6-… in /v1/chat/completions", community.openai.com
	// topic 1386454 and danny-avila/LibreChat#14231; begun with gpt-5.4.)
	noThinkTools bool
	known        bool
}

// DefaultWindow is the context window assumed of a model that is not in the
// table: small enough to be true of nearly all that are in use.
const DefaultWindow = 128_000

// deepseekMaxTokens is asked for when nothing sets a bound: without one the
// server's own default is low and counts reasoning (NousResearch/hermes-agent#93156). The models give
// up to 384 K, but the bound is taken from the window, and with too high a one
// requests overflow before compaction sets in (deepseek-harness, user reports).
const deepseekMaxTokens = 128_000

// Sources. DeepSeek: api-docs.deepseek.com/quick_start/pricing and
// /guides/thinking_mode as stored in October and November 2026 (1M window, 384K
// output, efforts low, high and max; deepseek-v4-flash is served by
// deepseek-flash, which sees images; prices vary by the hour of the day and are
// left out). OpenAI: names from openai-go v3.98.0 shared.ChatModel, limits and
// prices from developers.openai.com/api/docs/models; prices are left out where
// they rise beyond 272K of input.
var table = sync.OnceValue(func() map[string]entry {
	m := map[string]entry{}
	deep := func(name string, images bool) {
		m["deepseek/"+name] = entry{
			Info:    model.Info{Window: 1_000_000, MaxOutput: 384_000, Budget: deepseekMaxTokens, Images: images, Efforts: []string{"off", "low", "high", "max"}},
			efforts: []string{"low", "high", "max"},
		}
	}
	deep("deepseek-flash", true)
	deep("deepseek-v4-flash", true)
	deep("deepseek-v4-pro", false)

	add := func(names string, window, output int64, images bool, efforts string, price *model.Price) {
		for _, name := range strings.Fields(names) {
			e := entry{Info: model.Info{Window: window, MaxOutput: output, Images: images, Price: price}, efforts: strings.Fields(efforts)}
			for _, w := range e.efforts {
				switch w {
				case "none":
					e.Efforts = append(e.Efforts, "off")
				case "minimal":
				default:
					e.Efforts = append(e.Efforts, w)
				}
			}
			m["openai/"+name] = e
		}
	}
	const modern = "none low medium high xhigh"
	add("gpt-6-sol gpt-6-luna gpt-6.1-terra gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna", 1_050_000, 128_000, true, modern+" max", nil)
	add("gpt-6-astra gpt-6.1-sol", 1_050_000, 128_000, true, "low medium high xhigh", nil)
	add("gpt-5.4 gpt-5.5", 1_050_000, 128_000, true, modern, nil)
	add("gpt-5.4-mini gpt-5.4-nano", 400_000, 128_000, true, modern, nil)
	for _, name := range strings.Fields("gpt-6-sol gpt-6-luna gpt-6.1-terra gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna gpt-5.4 gpt-5.5 gpt-5.4-mini gpt-5.4-nano") {
		e := m["openai/"+name]
		// The agent always sends tools, so no effort is offered to people; one
		// that they set goes out where the endpoint is not OpenAI's own.
		e.noThinkTools, e.Efforts = true, nil
		m["openai/"+name] = e
	}
	add("gpt-5.2", 400_000, 128_000, true, modern, &model.Price{Input: 1.75, CacheRead: 0.175, Output: 14})
	add("gpt-5.1", 400_000, 128_000, true, "none low medium high", &model.Price{Input: 1.25, CacheRead: 0.125, Output: 10})
	add("gpt-5", 400_000, 128_000, true, "minimal low medium high", &model.Price{Input: 1.25, CacheRead: 0.125, Output: 10})
	add("gpt-5-mini", 400_000, 128_000, true, "minimal low medium high", &model.Price{Input: 0.25, CacheRead: 0.025, Output: 2})
	add("gpt-5-nano", 400_000, 128_000, true, "minimal low medium high", &model.Price{Input: 0.05, CacheRead: 0.005, Output: 0.4})
	add("gpt-4.1", 1_047_576, 32_768, true, "", &model.Price{Input: 2, CacheRead: 0.5, Output: 8})
	add("gpt-4.1-mini", 1_047_576, 32_768, true, "", &model.Price{Input: 0.4, CacheRead: 0.1, Output: 1.6})
	add("gpt-4.1-nano", 1_047_576, 32_768, true, "", &model.Price{Input: 0.1, CacheRead: 0.025, Output: 0.4})
	add("o3", 200_000, 100_000, true, "low medium high", &model.Price{Input: 2, CacheRead: 0.5, Output: 8})
	add("o4-mini", 200_000, 100_000, true, "low medium high", &model.Price{Input: 1.1, CacheRead: 0.275, Output: 4.4})
	add("gpt-4o", 128_000, 16_384, true, "", &model.Price{Input: 2.5, CacheRead: 1.25, Output: 10})
	add("gpt-4o-mini", 128_000, 16_384, true, "", &model.Price{Input: 0.15, CacheRead: 0.075, Output: 0.6})
	for k, e := range m {
		e.Ref, e.known = k, true
		m[k] = e
	}
	return m
})

// order lists the models that are offered, newest first.
var order = []string{
	"deepseek/deepseek-flash", "deepseek/deepseek-v4-flash", "deepseek/deepseek-v4-pro",
	"openai/gpt-5.2", "openai/gpt-5.1", "openai/gpt-5", "openai/gpt-5-mini", "openai/gpt-5-nano",
	"openai/gpt-6-sol", "openai/gpt-6-luna", "openai/gpt-6.1-terra", "openai/gpt-5.6-sol", "openai/gpt-5.6-terra", "openai/gpt-5.6-luna",
	"openai/gpt-5.5", "openai/gpt-5.4", "openai/gpt-5.4-mini", "openai/gpt-5.4-nano",
	"openai/gpt-6-astra", "openai/gpt-6.1-sol",
	"openai/gpt-4.1", "openai/gpt-4.1-mini", "openai/gpt-4.1-nano", "openai/o3", "openai/o4-mini", "openai/gpt-4o", "openai/gpt-4o-mini",
}

var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-\d{4}-\d{2}-\d{2}$`) })

func lookup(provider, name string) entry {
	key := provider + "/" + name
	e, ok := table()[key]
	if !ok {
		e, ok = table()[dated().ReplaceAllString(key, "")]
	}
	if !ok {
		e = entry{Info: model.Info{Window: DefaultWindow}}
	}
	e.Ref = key
	return e
}

// Lookup returns what is known of a model. A name that is not in the table is
// passed through to the provider; it gets DefaultWindow and nothing else.
func Lookup(provider, name string) model.Info { return lookup(provider, name).Info }

// Known returns the models of a provider that are in the table, those that fit
// a coding agent best first.
func Known(provider string) []model.Info {
	var out []model.Info
	for _, ref := range order {
		if strings.HasPrefix(ref, provider+"/") {
			out = append(out, table()[ref].Info)
		}
	}
	return out
}
