package codex

import "encoding/json"

// interopCase is one run of the real Codex beside ours.
type interopCase struct {
	name   string
	hooks  string
	script [][]step
	files  map[string]string
	// adapt changes what the real one did before the comparison, for a difference
	// that is on purpose; the case's comment gives the reason.
	adapt func(*row)
}

func say(text string) step {
	return step{Type: "message", Content: []struct{ Text string }{{text}}}
}

func execCommand(cmd string) step {
	b, err := json.Marshal(map[string]string{"cmd": cmd})
	if err != nil {
		panic(err)
	}
	return step{Type: "function_call", Name: "exec_command", Arguments: string(b), CallID: "call_1"}
}

func applyPatch(patch string) step {
	return step{Type: "custom_tool_call", Name: "apply_patch", Arguments: patch, CallID: "call_1"}
}

// logAll writes every event's payload into files of the project.
const logAll = `{"hooks":{
"SessionStart":[{"matcher":"startup","hooks":[{"type":"command","command":"cat > start.json"}]}],
"UserPromptSubmit":[{"hooks":[{"type":"command","command":"cat > prompt.json"}]}],
"PreToolUse":[{"hooks":[{"type":"command","command":"cat > pre.json"}]}],
"PostToolUse":[{"hooks":[{"type":"command","command":"cat > post.json"}]}],
"Stop":[{"hooks":[{"type":"command","command":"cat > stop.json"}]}],
"SessionEnd":[{"hooks":[{"type":"command","command":"cat > end.json"}]}]}}`

var interopCases = []interopCase{
	{
		name: "payloads of a command", hooks: logAll,
		script: [][]step{{execCommand("printf 'a <b> & \"c\" é\\n'; exit 3")}, {say("done \u2028 <é>")}},
	},
	{
		name: "payloads of a new file", hooks: logAll,
		script: [][]step{{applyPatch("*** Begin Patch\n*** Add File: new.txt\n+one\n+two é\n*** End Patch")}, {say("done")}},
		adapt:  sameResult,
	},
	{
		name: "payloads of an edit", hooks: logAll, files: map[string]string{"old.txt": "a\nb\nc\n"},
		script: [][]step{{applyPatch("*** Begin Patch\n*** Update File: old.txt\n@@\n-b\n+B\n*** End Patch")}, {say("done")}},
		adapt:  sameResult,
	},
	{
		name: "edit aliases and lists", files: map[string]string{"old.txt": "a\nb\n"}, hooks: `{"hooks":{"PreToolUse":[
		{"matcher":"Edit|Write","hooks":[{"type":"command","command":"echo alias >> order"}]},
		{"matcher":"apply_patch","hooks":[{"type":"command","command":"sleep 0.3; echo own >> order"}]},
		{"matcher":"Edit | Write","hooks":[{"type":"command","command":"echo blanks >> never"}]},
		{"matcher":"^Wri","hooks":[{"type":"command","command":"sleep 0.6; echo regexp >> order"}]},
		{"matcher":"Wri","hooks":[{"type":"command","command":"echo part >> never"}]},
		{"matcher":"[","hooks":[{"type":"command","command":"echo invalid >> never"}]}]}}`,
		script: [][]step{{applyPatch("*** Begin Patch\n*** Update File: old.txt\n@@\n-b\n+B\n*** End Patch")}, {say("done")}},
		adapt:  sameResult,
	},
	{
		name: "patch denied", files: map[string]string{"old.txt": "a\nb\n"}, hooks: `{"hooks":{"PreToolUse":[{"matcher":"Write","hooks":[
		{"type":"command","command":"if grep -q 'Update File: old.txt'; then echo 'hands off' >&2; exit 2; fi"}]}]}}`,
		script: [][]step{{applyPatch("*** Begin Patch\n*** Update File: old.txt\n@@\n-b\n+B\n*** End Patch")}, {say("done")}},
	},
	{
		name: "patch rewritten", files: map[string]string{"old.txt": "a\nb\n"}, hooks: `{"hooks":{"PreToolUse":[{"hooks":[
		{"type":"command","command":"cat >/dev/null; echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\",\"updatedInput\":{\"command\":\"*** Begin Patch\\n*** Update File: old.txt\\n@@\\n-b\\n+X\\n*** End Patch\"}}}'"}]}]}}`,
		script: [][]step{{applyPatch("*** Begin Patch\n*** Update File: old.txt\n@@\n-b\n+B\n*** End Patch")}, {say("done")}},
		adapt:  sameResult,
	},
	{
		name: "rewrite without command", hooks: answering("PreToolUse", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"cmd":"echo x"}}}`),
		script: [][]step{{execCommand("echo ran > ran.txt")}, {say("done")}},
		adapt:  refusedRewrite,
	},
	{
		name: "rewrite with more members", hooks: answering("PreToolUse", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"echo new > ran.txt","timeout":5}}}`),
		script: [][]step{{execCommand("echo old > ran.txt")}, {say("done")}},
	},
	{
		name: "two stops and a context", hooks: `{"hooks":{"Stop":[{"hooks":[
		{"type":"command","command":"cat > stop.$(date +%s%N).json; [ -f f ] || echo '{\"decision\":\"block\",\"reason\":\"R1\"}'"},
		{"type":"command","command":"cat >/dev/null; sleep 0.5; [ -f f ] || { touch f; echo 'R2 <b>&\"q\"' >&2; exit 2; }"}]}],
		"SessionStart":[{"hooks":[{"type":"command","command":"echo from start"}]}]}}`,
		script: [][]step{{say("one")}, {say("two")}, {say("three")}},
	},
	{
		name: "stop beaten by continue false", hooks: `{"hooks":{"Stop":[{"hooks":[
		{"type":"command","command":"echo '{\"decision\":\"block\",\"reason\":\"R1\"}'"},
		{"type":"command","command":"echo '{\"continue\":false}'"}]}]}}`,
		script: [][]step{{say("one")}, {say("two")}},
	},
	{
		name: "post stop text", hooks: answering("PostToolUse", `{"continue":false,"reason":"because","stopReason":"halt!","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"ctx"}}`),
		script: [][]step{{execCommand("echo out")}, {say("done")}},
	},
	{
		name: "prompt blocked without reason", hooks: answering("UserPromptSubmit", `{"decision":"block","hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"c"}}`),
		script: [][]step{{say("done")}},
	},
	{
		name: "prompt context from a wrong event", hooks: answering("UserPromptSubmit", `{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"c"}}`),
		script: [][]step{{say("done")}},
	},
	{
		name: "prompt context from no event", hooks: answering("UserPromptSubmit", `{"hookSpecificOutput":{"hookEventName":"Nope","additionalContext":"c"}}`),
		script: [][]step{{say("done")}},
	},
	{
		name: "null members", hooks: answering("UserPromptSubmit", `{"decision":null,"reason":null,"systemMessage":null,"stopReason":null,"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"c"}}`),
		script: [][]step{{say("done")}},
	},
	{
		name: "null continue", hooks: answering("UserPromptSubmit", `{"continue":null,"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"c"}}`),
		script: [][]step{{say("done")}},
	},
	{
		name: "doubled member", hooks: answering("UserPromptSubmit", `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"a","additionalContext":"b"}}`),
		script: [][]step{{say("done")}},
	},
	{
		name: "spill", hooks: `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"head -c 60000 /dev/zero | tr '\\0' 'z'"}]}]}}`,
		script: [][]step{{say("done")}},
	},
}

func answering(event, answer string) string {
	cmd, err := json.Marshal("cat >/dev/null; cat <<'EOJ'\n" + answer + "\nEOJ")
	if err != nil {
		panic(err)
	}
	return `{"hooks":{"` + event + `":[{"hooks":[{"type":"command","command":` + string(cmd) + `}]}]}}`
}

// sameResult leaves the result's text to each agent: ours is "changed" in the
// replay.
func sameResult(r *row) {
	for i := range r.LastRequestItems {
		if it := &r.LastRequestItems[i]; it.Output != "" {
			it.Output = "changed"
		}
	}
}

// refusedRewrite: both refuse to run the call, in words of their own.
func refusedRewrite(r *row) {
	r.LastRequestItems[2].Output = `the call did not run, since the hook's rewrite of it cannot be carried out: updatedInput for Bash must have a string "command"`
}
