package wire

import (
	"strings"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// Finish says what a reason for the end of an answer means, in the words of any
// vendor: gateways pass those of the model behind them through, and servers have
// their own. It is empty for a reason that is not known, and for one that is that
// of a failure. What ends by itself is FinishStop, calls or not.
//
// Sources: openai-go ChatCompletionChoiceFinishReason, anthropic-sdk-go StopReason,
// docs.mistral.ai (model_length), docs.z.ai chat completion (sensitive,
// model_context_window_exceeded), TGI (eos_token), Gemini's FinishReason,
// Cohere's (COMPLETE), Bedrock's (guardrail_intervened).
func Finish(reason string) session.FinishKind {
	switch strings.ToLower(reason) {
	case "stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed",
		"tool_calls", "tool_call", "tool_use", "function_call":
		return session.FinishStop
	case "length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_length", "model_context_window_exceeded":
		return session.FinishMaxTokens
	case "content_filter", "content_filtered", "refusal", "safety", "sensitive", "recitation", "prohibited_content", "blocklist", "spii", "guardrail_intervened":
		return session.FinishRefusal
	}
	return ""
}

// Unfinished is the error of an answer that ended for a reason that is not known,
// or because the window was full before anything was said (said is false).
func (e *Endpoint) Unfinished(reason string, said bool) *model.Error {
	switch {
	case strings.ToLower(reason) == "model_context_window_exceeded" && !said:
		return model.Errorf(model.KindContextOverflow, "the model's context window is full: compact the session or start a new one")
	case Finish(reason) == "":
		return model.Errorf(model.KindServer, "%s ended its answer with the unknown reason %q", e.Name, Clip(e.Clean(reason), 60))
	}
	return nil
}
