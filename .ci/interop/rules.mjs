// The rules that a schema cannot say: what must come before what, what was
// advertised, what is released. They are held against the frames of a whole
// connection, whoever the client is.
import path from "node:path";

const ended = new Set(["completed", "failed"]);
// What belongs to a turn, and so comes between a prompt and its answer.
const ofTurn = new Set(["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan", "plan_update", "compaction_update"]);

// breaches lists what is wrong with frames {from: "agent" | "client", text}, of
// which the first is the client's initialize.
export function breaches(frames) {
  const bad = [];
  const w = new Wire((i, what) => bad.push(`frame ${i + 1}: ${what}: ${frames[i].text.slice(0, 300)}`));
  frames.forEach((f, i) => w.add(i, f.from, JSON.parse(f.text)));
  for (const [id, state] of w.terminals) if (state === "open") bad.push(`the terminal ${id} was never released`);
  return bad;
}

class Wire {
  constructor(fault) {
    this.fault = fault;
    this.caps = {};
    this.asked = { agent: new Map(), client: new Map() }; // open requests by id
    this.used = { agent: new Set(), client: new Set() };
    this.sessions = new Map();
    this.terminals = new Map();
  }

  session(id) {
    if (!this.sessions.has(id)) this.sessions.set(id, { calls: new Map(), messages: new Map(), last: null, prompts: 0, loading: 0, cost: 0, named: false });
    return this.sessions.get(id);
  }

  add(i, from, m) {
    const fault = (what) => this.fault(i, what);
    if (m.method === undefined) return this.answer(i, from, m, fault);
    if ("id" in m) {
      const key = JSON.stringify(m.id);
      if (from === "agent" && this.used.agent.has(key)) fault("an id is used again");
      this.used[from].add(key);
      this.asked[from].set(key, m);
    }
    if (from === "client") return this.fromClient(m);
    if (m.method === "session/update") return this.update(m.params, fault);
    if ("id" in m) return this.call(m, fault);
    return undefined;
  }

  fromClient(m) {
    const p = m.params ?? {};
    if (m.method === "initialize") this.caps = p.clientCapabilities ?? {};
    if (m.method === "session/prompt") this.session(p.sessionId).prompts++;
    if (m.method === "session/load") {
      // A replay starts the session's display anew.
      const s = this.session(p.sessionId);
      Object.assign(s, { calls: new Map(), messages: new Map(), last: null, cost: 0, named: true });
      s.loading++;
    }
    if (m.method === "session/resume") this.session(p.sessionId).resuming = true;
  }

  answer(i, from, m, fault) {
    const other = from === "agent" ? "client" : "agent";
    if (m.id === null && from === "agent") return undefined; // of a line that could not be read
    const asked = this.asked[other].get(JSON.stringify(m.id));
    if (!asked) return fault("answers what was not asked, or a second time");
    this.asked[other].delete(JSON.stringify(m.id));
    if ("result" in m === "error" in m) fault("has not exactly one of result and error");
    if (from === "agent" && (m.result === null || typeof m.result !== "object") && !m.error) fault("the result is no object");
    const p = asked.params ?? {};
    if (from === "agent") {
      if (asked.method === "session/prompt") this.promptEnds(this.session(p.sessionId), fault);
      if (asked.method === "session/load") this.session(p.sessionId).loading--;
      if (asked.method === "session/resume") Object.assign(this.session(p.sessionId), { resuming: false, named: true });
      if (m.result?.sessionId) this.session(m.result.sessionId).named = true;
      if (asked.method === "initialize" && m.result) this.initialized(m.result, fault);
    } else if (asked.method === "terminal/create" && m.result) {
      this.terminals.set(m.result.terminalId, "open");
    } else if (asked.method === "terminal/release" && m.result) {
      this.terminals.set(p.terminalId, "released");
    }
    return undefined;
  }

  initialized(r, fault) {
    const methods = r.authMethods ?? [];
    if (!this.caps.auth?.terminal && methods.some((a) => a.type === "terminal")) fault("a terminal login for a client that did not opt in");
    const known = ["loadSession", "promptCapabilities", "mcpCapabilities", "sessionCapabilities", "auth", "_meta"];
    for (const k of Object.keys(r.agentCapabilities ?? {})) if (!known.includes(k)) fault(`the invented capability ${k}`);
  }

  promptEnds(s, fault) {
    s.prompts--;
    for (const [id, status] of s.calls) if (!ended.has(status)) fault(`the tool call ${id} has not ended (${status}) when its prompt is answered`);
  }

  call(m, fault) {
    const p = m.params ?? {};
    const needs = {
      "fs/read_text_file": this.caps.fs?.readTextFile,
      "fs/write_text_file": this.caps.fs?.writeTextFile,
      "elicitation/create": p.mode === "form" ? this.caps.elicitation?.form : this.caps.elicitation?.url,
    };
    if (m.method in needs && !needs[m.method]) fault("calls what the client did not offer");
    if (m.method.startsWith("terminal/")) {
      if (!this.caps.terminal) fault("calls what the client did not offer");
      if (p.terminalId && this.terminals.get(p.terminalId) !== "open") fault("uses a terminal that is not open");
      if (p.cwd && !path.isAbsolute(p.cwd)) fault("a relative cwd");
    }
    if (p.path && !path.isAbsolute(p.path)) fault("a relative path");
    if (m.method === "session/request_permission") {
      if (!this.session(p.sessionId).calls.has(p.toolCall.toolCallId)) fault("asks about a tool call that was not announced");
      const kinds = p.options.map((o) => o.kind);
      if (!kinds.some((k) => k.startsWith("allow")) || !kinds.some((k) => k.startsWith("reject"))) fault("offers no yes or no no");
      if (new Set(p.options.map((o) => o.optionId)).size !== p.options.length) fault("an option id is there twice");
      this.looks(p.toolCall, fault);
    }
  }

  update(p, fault) {
    const u = p.update;
    const s = this.session(p.sessionId);
    const kind = u.sessionUpdate;
    if (!s.named) fault("an update of a session that the client has not been told of");
    if (ofTurn.has(kind) && s.prompts === 0 && s.loading === 0) fault("an update of no turn");
    if (s.resuming && ofTurn.has(kind)) fault("a resume replays");
    if (kind === "notice" && !this.caps.session?.notices) fault("a notice, not offered");
    if (kind.startsWith("compaction") && !this.caps.session?.compaction) fault("a compaction, not offered");
    if (/^plan_/.test(kind) && !this.caps.plan) fault("a plan operation, not offered");
    if (kind === "plan" && this.caps.plan) fault("a plan in the old form");
    if (kind === "notice" && s.loading > 0) fault("a notice in a replay");
    if (kind === "usage_update" && u.cost) {
      if (u.cost.amount < s.cost) fault("the cost goes down");
      s.cost = u.cost.amount;
    }
    if (kind.endsWith("_chunk")) this.chunk(s, u, fault);
    if (kind === "tool_call") {
      if (s.calls.has(u.toolCallId)) fault("a tool call id is used again");
      s.calls.set(u.toolCallId, u.status ?? "pending");
      this.looks(u, fault);
    }
    if (kind === "tool_call_update") {
      const was = s.calls.get(u.toolCallId);
      if (was === undefined) fault("an update of a tool call that was not announced");
      if (ended.has(was)) fault("an update of a tool call that has ended");
      s.calls.set(u.toolCallId, u.status ?? was);
      this.looks(u, fault);
    }
  }

  // chunk: one id, one message, in one piece.
  chunk(s, u, fault) {
    const id = u.messageId;
    if (!id) return;
    const seen = s.messages.get(id);
    if (seen && seen !== u.sessionUpdate) fault("a message id of two kinds");
    s.messages.set(id, u.sessionUpdate);
  }

  looks(c, fault) {
    for (const l of c.locations ?? []) if (!path.isAbsolute(l.path)) fault("a relative location");
    for (const x of c.content ?? []) {
      if (x.type === "diff" && !path.isAbsolute(x.path)) fault("a relative path of a diff");
      if (x.type === "terminal" && this.terminals.get(x.terminalId) === undefined) fault("shows a terminal that is not there");
    }
  }
}
