package responses

import (
	"regexp"
	"strings"
	"sync"

	"acp-agent/loop/model"
)

// entry is what the adapter knows of a model beyond model.Info.
type entry struct {
	model.Info
	// efforts are the reasoning.effort values of the wire, in rising order.
	efforts []string
	// phases: assistant messages are to say whether they are commentary or the
	// final answer.
	phases bool
	known  bool
}

// DefaultWindow is the context window assumed of a model that is not in the
// table: small enough to be true of nearly all that are in use.
const DefaultWindow = 128_000

// Sources: names from openai-go v3.98.0 shared.ChatModel, limits, efforts and
// prices from developers.openai.com/api/docs/models; prices are left out where
// they rise beyond 272K of input. Phases: openai-go, responses.
// ResponseOutputMessageParam ("gpt-5.3-codex and beyond").
var table = sync.OnceValue(func() map[string]entry {
	m := map[string]entry{}
	add := func(names string, window, output int64, efforts string, phases bool, price *model.Price) {
		for _, name := range strings.Fields(names) {
			e := entry{
				Info:    model.Info{Window: window, MaxOutput: output, Images: true, Price: price},
				efforts: strings.Fields(efforts), phases: phases, known: true,
			}
			for _, w := range e.efforts {
				switch w {
				case "none":
					e.Efforts = append(e.Efforts, "off")
				case "minimal":
				default:
					e.Efforts = append(e.Efforts, w)
				}
			}
			m[name] = e
		}
	}
	const modern = "none low medium high xhigh"
	add("gpt-6-sol gpt-6-luna gpt-6.1-terra gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna", 1_050_000, 128_000, modern+" max", true, nil)
	add("gpt-6-astra gpt-6.1-sol", 1_050_000, 128_000, "low medium high xhigh", true, nil)
	add("gpt-5.4 gpt-5.5", 1_050_000, 128_000, modern, true, nil)
	add("gpt-5.4-mini gpt-5.4-nano", 400_000, 128_000, modern, true, nil)
	add("gpt-5.2", 400_000, 128_000, modern, false, &model.Price{Input: 1.75, CacheRead: 0.175, Output: 14})
	add("gpt-5.1", 400_000, 128_000, "none low medium high", false, &model.Price{Input: 1.25, CacheRead: 0.125, Output: 10})
	add("gpt-5", 400_000, 128_000, "minimal low medium high", false, &model.Price{Input: 1.25, CacheRead: 0.125, Output: 10})
	add("gpt-5-mini", 400_000, 128_000, "minimal low medium high", false, &model.Price{Input: 0.25, CacheRead: 0.025, Output: 2})
	add("gpt-5-nano", 400_000, 128_000, "minimal low medium high", false, &model.Price{Input: 0.05, CacheRead: 0.005, Output: 0.4})
	add("gpt-4.1", 1_047_576, 32_768, "", false, &model.Price{Input: 2, CacheRead: 0.5, Output: 8})
	add("gpt-4.1-mini", 1_047_576, 32_768, "", false, &model.Price{Input: 0.4, CacheRead: 0.1, Output: 1.6})
	add("gpt-4.1-nano", 1_047_576, 32_768, "", false, &model.Price{Input: 0.1, CacheRead: 0.025, Output: 0.4})
	add("o3", 200_000, 100_000, "low medium high", false, &model.Price{Input: 2, CacheRead: 0.5, Output: 8})
	add("o4-mini", 200_000, 100_000, "low medium high", false, &model.Price{Input: 1.1, CacheRead: 0.275, Output: 4.4})
	add("gpt-4o", 128_000, 16_384, "", false, &model.Price{Input: 2.5, CacheRead: 1.25, Output: 10})
	add("gpt-4o-mini", 128_000, 16_384, "", false, &model.Price{Input: 0.15, CacheRead: 0.075, Output: 0.6})
	return m
})

// order lists the models that are offered, those that fit a coding agent best
// first. On this wire the newest reason and call tools at once, which Chat
// Completions refuses them.
var order = strings.Fields(`gpt-6.1-sol gpt-6-sol gpt-6.1-terra gpt-6-luna gpt-6-astra gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna
	gpt-5.5 gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.2 gpt-5.1 gpt-5 gpt-5-mini gpt-5-nano
	gpt-4.1 gpt-4.1-mini gpt-4.1-nano o3 o4-mini gpt-4o gpt-4o-mini`)

var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-\d{4}-\d{2}-\d{2}$`) })

// lookup finds a model of OpenAI's; another provider's of the same name is not
// known to be the same.
func lookup(provider, name string) entry {
	var e entry
	ok := false
	if provider == "openai" {
		if e, ok = table()[name]; !ok {
			e, ok = table()[dated().ReplaceAllString(name, "")]
		}
	}
	if !ok {
		e = entry{Info: model.Info{Window: DefaultWindow}}
	}
	e.Ref = provider + "/" + name
	return e
}

// Lookup returns what is known of a model. A name that is not in the table is
// passed through to the provider; it gets DefaultWindow and nothing else.
func Lookup(provider, name string) model.Info { return lookup(provider, name).Info }

// Known returns the models of a provider that are in the table; only "openai"
// has any.
func Known(provider string) []model.Info {
	if provider != "openai" {
		return nil
	}
	out := make([]model.Info, 0, len(order))
	for _, name := range order {
		out = append(out, Lookup(provider, name))
	}
	return out
}
