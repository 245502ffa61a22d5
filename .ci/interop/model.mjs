// The model: @copilotkit/aimock on loopback, with the script of these tests.
import { LLMock } from "@copilotkit/aimock";

// The hook's words, with what a careless layer would change: markup, blanks at
// both ends, a line separator, an emoji.
export const reason = "  <steering>Also say SECOND & stop.</steering> \u2028 \u{1f6d1} ";

export async function startModel() {
  const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 7 });
  mock.on({ predicate: (r) => lastUser(r) === reason }, { content: "SECOND" });
  mock.onMessage("say FIRST", { content: "FIRST", reasoning: "They want FIRST." });
  mock.onMessage("greet", { content: "Grüße aus dem Modell: \u{1f44b} & <ok>", reasoning: "A greeting is wanted." });
  mock.on(
    { userMessage: "make the file", hasToolResult: false },
    { toolCalls: [{ id: "call_1", name: "write", arguments: JSON.stringify({ file_path: "made.txt", content: "made by a tool\n" }) }] },
  );
  mock.on({ userMessage: "make the file", hasToolResult: true }, { content: "The file is made." });
  await mock.start();
  return mock;
}

// lastUser is the text of the last user message of a recorded request.
export function lastUser(request) {
  const last = request.messages?.filter((m) => m.role === "user").at(-1);
  if (!last) return undefined;
  return typeof last.content === "string" ? last.content : last.content.map((p) => p.text ?? "").join("");
}

// requests returns the bodies that the model was sent since the last call.
export function takeRequests(mock) {
  const bodies = mock.getRequests().map((e) => e.body);
  mock.clearRequests();
  return bodies;
}
