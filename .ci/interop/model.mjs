// The model: @copilotkit/aimock on loopback, with the script of these tests.
import { LLMock } from "@copilotkit/aimock";

// The hook's words, with what a careless layer would change: markup, blanks at
// both ends, a line separator, an emoji.
export const reason = "  <steering>Also say SECOND & stop.</steering> \u2028 \u{1f6d1} ";

export async function startModel() {
  const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 7 });
  // The evaluator of an agent hook: it reads todo.txt, says what is missing, and
  // is content when the turn has gone on.
  mock.on({ predicate: (r) => isJudge(r) && textOfUsers(r).includes('"stop_hook_active":true') }, { content: 'All said: {"ok": true}' });
  mock.on(
    { predicate: (r) => isJudge(r) && JSON.stringify(r.messages).includes("SECOND is open") },
    { toolCalls: [{ id: "call_1", name: "StructuredOutput", arguments: JSON.stringify({ ok: false, reason }) }] },
  );
  mock.on({ predicate: isJudge }, { toolCalls: [{ id: "call_1", name: "read", arguments: JSON.stringify({ file_path: "todo.txt" }) }] });
  mock.on({ predicate: (r) => lastUser(r) === reason }, { content: "SECOND" });
  mock.onMessage("say FIRST", { content: "FIRST", reasoning: "They want FIRST." });
  mock.onMessage("greet", { content: "Grüße aus dem Modell: \u{1f44b} & <ok>", reasoning: "A greeting is wanted." });
  mock.on(
    { userMessage: "make the file", hasToolResult: false },
    { toolCalls: [{ id: "call_1", name: "write", arguments: JSON.stringify({ file_path: "made.txt", content: "made by a tool\n" }) }] },
  );
  mock.on({ userMessage: "make the file", hasToolResult: true }, { content: "The file is made." });
  mock.on({ predicate: (r) => textOfUsers(r).includes("slow summary") && isSummary(r) }, { content: "SUMMARY of what was." }, { latency: 600_000 });
  mock.on({ predicate: isSummary }, { content: "SUMMARY of what was." });
  // Any prompt that begins with "do [" is a script: a step for each answer.
  const step = (r) => scriptStep(r);
  mock.on({ predicate: (r) => step(r)?.hang }, { content: "never" }, { latency: 600_000 });
  mock.on({ predicate: (r) => step(r)?.slow }, (r) => answer(step(r)), { chunkSize: 4, streamingProfile: { ttft: 1, tps: 20 } });
  mock.on({ predicate: (r) => step(r) !== undefined }, (r) => answer(step(r)));
  mock.on({ predicate: () => true }, { content: "heard" });
  await mock.start();
  return mock;
}

// isSummary recognises the request for a summary by its instruction.
const isSummary = (r) => /^The conversation is about to be shortened/m.test(textOfUsers(r).slice(-4000));

// isJudge recognises the evaluator of an agent hook by the tool that it decides by.
export const isJudge = (r) => (r.tools ?? []).some((t) => (t.function ?? t).name === "StructuredOutput");

const textOfUsers = (r) => (r.messages ?? []).filter((m) => m.role === "user").map(textOf).join("\n");

// scriptStep is the step of a script that a request asks for: as many answers
// as came since the script are done.
function scriptStep(request) {
  const messages = request.messages ?? [];
  for (let i = messages.length - 1; i >= 0; i--) {
    if (messages[i].role !== "user") continue;
    const text = textOf(messages[i]);
    const at = text.indexOf("do [");
    if (at < 0) continue;
    const steps = JSON.parse(text.slice(at + 3).split("\n")[0]);
    return steps[messages.slice(i).filter((m) => m.role === "assistant").length] ?? { text: "done" };
  }
  return undefined;
}

// answer is a step in the mock's terms. Every tool call has the same id, as some
// providers do it.
function answer(s) {
  const out = { usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010, input_tokens: 1000, output_tokens: 10 } };
  if (s.think) out.reasoning = s.think;
  if (s.text !== undefined || !s.call) out.content = s.text ?? "";
  if (s.call) {
    const calls = Array.isArray(s.call[0]) ? s.call : [s.call];
    out.toolCalls = calls.map(([name, args], i) => ({ id: `call_${i + 1}`, name, arguments: typeof args === "string" ? args : JSON.stringify(args) }));
  }
  return out;
}

const textOf = (m) => (typeof m.content === "string" ? m.content : m.content.map((p) => p.text ?? "").join(""));

// lastUser is the text of the last user message of a recorded request.
export function lastUser(request) {
  const last = request.messages?.filter((m) => m.role === "user").at(-1);
  return last && textOf(last);
}

// requests returns the bodies that the model was sent since the last call.
export function takeRequests(mock) {
  const bodies = mock.getRequests().map((e) => e.body);
  mock.clearRequests();
  return bodies;
}
