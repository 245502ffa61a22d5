// An editor made of the TypeScript SDK: it answers permissions, keeps buffers,
// runs terminals and shows forms, each as a test tells it to.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { PassThrough, Readable, Writable } from "node:stream";
import * as stable from "@agentclientprotocol/sdk";
import * as draft from "@agentclientprotocol/sdk/unstable";

const LIMIT = 90_000; // ends what hangs; nothing here takes seconds
const M = stable.methods;

export const ALL = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  auth: { terminal: true },
  session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
  elicitation: { form: {} },
  plan: {},
};

export class Editor {
  constructor(ctx, options) {
    this.ctx = ctx;
    this.seen = []; // {session, update} and {ask: method, params}, in order
    this.buffers = new Map(); // unsaved text by path
    this.terminals = new Map();
    this.made = 0;
    // What a test may change: each gets the request's params and its signal.
    this.permission = () => "allow_once";
    this.form = () => ({ action: "cancel" });
    this.readFile = (p) => this.buffers.get(p.path) ?? fs.readFileSync(p.path, "utf8");
    this.writeFile = (p) => fs.writeFileSync(p.path, p.content);
    this.beforeTerminal = () => {};
    this.options = options;
  }

  // The requests, short.
  initialize(extra = {}) {
    return this.ctx.request(M.agent.initialize, { protocolVersion: 1, clientCapabilities: this.options.caps ?? {}, clientInfo: { name: "interop", version: "1.0.0" }, ...extra });
  }
  async open(extra = {}) {
    return (await this.new(extra)).sessionId;
  }
  new(extra = {}) {
    return this.ctx.request(M.agent.session.new, { cwd: this.options.cwd, mcpServers: [], ...extra });
  }
  load(sessionId, extra = {}) {
    return this.ctx.request(M.agent.session.load, { sessionId, cwd: this.options.cwd, mcpServers: [], ...extra });
  }
  resume(sessionId, extra = {}) {
    return this.ctx.request(M.agent.session.resume, { sessionId, cwd: this.options.cwd, mcpServers: [], ...extra });
  }
  list(p = {}) {
    return this.ctx.request(M.agent.session.list, p);
  }
  close(sessionId) {
    return this.ctx.request(M.agent.session.close, { sessionId });
  }
  delete(sessionId) {
    return this.ctx.request(M.agent.session.delete, { sessionId });
  }
  mode(sessionId, modeId) {
    return this.ctx.request(M.agent.session.setMode, { sessionId, modeId });
  }
  async set(sessionId, configId, value) {
    return (await this.ctx.request(M.agent.session.setConfigOption, { sessionId, configId, value })).configOptions;
  }
  prompt(sessionId, content, options) {
    const prompt = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const answer = this.ctx.request(M.agent.session.prompt, { sessionId, prompt }, options);
    answer.catch(() => {}); // who awaits it sees the error
    return answer;
  }
  // run prompts with a script for the model and returns the stop reason.
  run(sessionId, ...steps) {
    const stop = this.prompt(sessionId, script(...steps)).then((r) => r.stopReason);
    stop.catch(() => {});
    return stop;
  }
  cancel(sessionId) {
    return this.ctx.notify(M.agent.session.cancel, { sessionId });
  }
  steer(sessionId, text) {
    return this.ctx.request("_acp-agent/steer", { sessionId, content: [{ type: "text", text }] });
  }

  // What was seen, from a mark on.
  mark() {
    return this.seen.length;
  }
  updates(sessionId, from = 0) {
    return this.seen.slice(from).filter((e) => e.update && e.session === sessionId).map((e) => e.update);
  }
  asks(method, from = 0) {
    return this.seen.slice(from).filter((e) => e.ask === method).map((e) => e.params);
  }
  said(sessionId, from = 0) {
    return this.updates(sessionId, from).filter((u) => u.sessionUpdate === "agent_message_chunk").map((u) => u.content.text).join("");
  }
  // calls are the tool calls in their last state.
  calls(sessionId, from = 0) {
    const out = new Map();
    for (const u of this.updates(sessionId, from)) {
      if (u.sessionUpdate === "tool_call") out.set(u.toolCallId, { ...u });
      if (u.sessionUpdate === "tool_call_update") Object.assign(out.get(u.toolCallId) ?? {}, defined(u));
    }
    return [...out.values()];
  }
}

const defined = (o) => Object.fromEntries(Object.entries(o).filter(([k, v]) => v != null && k !== "sessionUpdate"));

// script is a prompt that tells the model of model.mjs what to do, a step for
// each of its answers: {text, think, call: [name, args] or a list, slow, hang}.
export const script = (...steps) => `do ${JSON.stringify(steps)}\n`;

// withEditor starts the agent, hands use(editor) a connected client and returns
// every frame, in order, with the exit code. options: cwd, env, args, caps,
// initialize: false, ends: true.
export async function withEditor(agent, options, use) {
  const child = spawn(agent, options.args ?? ["serve"], { cwd: options.cwd, env: options.env, stdio: ["pipe", "pipe", "pipe"] });
  const frames = [];
  let stderr = "";
  child.stderr.on("data", (d) => (stderr += d));
  const exited = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve(code ?? signal));
  });
  const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT);
  // Plan operations are stable since a later release than this SDK's.
  const acp = options.caps?.plan ? draft : stable;
  const refused = heard();
  let ed;
  try {
    const toAgent = new PassThrough();
    tap(toAgent, "client", frames);
    toAgent.pipe(child.stdin);
    child.stdin.on("error", () => {}); // the exit code says why
    const fromAgent = child.stdout.pipe(new PassThrough());
    tap(fromAgent, "agent", frames);
    const app = serve(acp, () => ed, options.caps ?? {});
    const stream = acp.ndJsonStream(Writable.toWeb(toAgent), Readable.toWeb(fromAgent));
    let used;
    const connected = app.connectWith(stream, async (ctx) => {
      ed = new Editor(ctx, options);
      Object.assign(ed, { child, frames, exited });
      if (options.initialize !== false) ed.hello = await ed.initialize();
      await (used = use(ed));
    });
    // A test of the agent's end outlives the connection.
    await connected.catch((err) => (options.ends ? used : Promise.reject(err)));
    child.stdin.end();
    const code = await exited;
    if (code !== 0) throw new Error(`the exit code is ${code}`);
    if (refused.notifications.length) throw new Error(`the SDK refused notifications: ${refused.notifications.join("\n")}`);
    return { frames, stderr, code };
  } catch (err) {
    const last = frames.slice(-12).map((f) => `${f.from} ${f.text.slice(0, 500)}`);
    throw new Error(`${err.stack ?? err}\nthe agent's stderr: ${stderr}\nthe last frames:\n${last.join("\n")}`);
  } finally {
    refused.stop();
    clearTimeout(limit);
    child.kill("SIGKILL");
    for (const t of ed?.terminals.values() ?? []) t.end();
  }
}

// heard keeps what the SDK says on console.error: that is where it puts the
// notifications that it refuses, and the errors of request handlers.
function heard() {
  const old = console.error;
  const notifications = [];
  console.error = (...args) => {
    if (String(args[0]).includes("notification")) notifications.push(args.map((a) => (typeof a === "string" ? a : JSON.stringify(a))).join(" "));
  };
  return { notifications, stop: () => (console.error = old) };
}

// tap records the lines that pass a stream.
function tap(stream, from, frames) {
  const text = new StringDecoder("utf8");
  let rest = "";
  stream.on("data", (d) => {
    const lines = (rest + text.write(d)).split("\n");
    rest = lines.pop();
    for (const l of lines) frames.push({ from, text: l });
  });
}

// serve answers what the agent asks. Only what is advertised has a handler: the
// SDK refuses the rest, as an editor does.
function serve(acp, editor, caps) {
  const app = acp.client({ name: "interop" });
  const on = (method, answer) =>
    app.onRequest(method, (c) => {
      const ed = editor();
      ed.seen.push({ ask: method, params: c.params });
      return answer(ed, c.params, c.signal);
    });
  app.onNotification(M.client.session.update, (c) => {
    editor()?.seen.push({ session: c.params.sessionId, update: c.params.update });
  });
  on(M.client.session.requestPermission, async (ed, p, signal) => {
    const kind = await ed.permission(p, signal);
    if (typeof kind !== "string") return kind;
    if (kind === "cancelled") return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: p.options.find((o) => o.kind === kind)?.optionId ?? kind } };
  });
  if (caps.fs?.readTextFile) on(M.client.fs.readTextFile, async (ed, p, s) => ({ content: await ed.readFile(p, s) }));
  if (caps.fs?.writeTextFile) on(M.client.fs.writeTextFile, async (ed, p, s) => ((await ed.writeFile(p, s)), {}));
  if (caps.elicitation?.form || caps.elicitation?.url) on(M.client.elicitation.create, (ed, p, s) => ed.form(p, s));
  if (caps.terminal) {
    const of = (ed, p) => {
      const t = ed.terminals.get(p.terminalId);
      if (!t) throw new acp.RequestError(-32602, `there is no terminal ${p.terminalId}`);
      return t;
    };
    on(M.client.terminal.create, async (ed, p) => {
      await ed.beforeTerminal(p);
      const terminalId = `term-${++ed.made}`;
      ed.terminals.set(terminalId, new Terminal(p));
      return { terminalId };
    });
    on(M.client.terminal.output, (ed, p) => of(ed, p).output());
    on(M.client.terminal.waitForExit, (ed, p) => of(ed, p).exit);
    on(M.client.terminal.kill, (ed, p) => (of(ed, p).end(), {}));
    on(M.client.terminal.release, (ed, p) => {
      of(ed, p).end();
      ed.terminals.delete(p.terminalId);
      return {};
    });
  }
  return app;
}

// Terminal is a command that the editor runs, in a process group of its own.
class Terminal {
  constructor(p) {
    const env = { ...process.env, ...Object.fromEntries((p.env ?? []).map((e) => [e.name, e.value])) };
    this.limit = p.outputByteLimit ?? Infinity;
    this.text = Buffer.alloc(0);
    this.truncated = false;
    this.child = spawn(p.command, p.args ?? [], { cwd: p.cwd ?? undefined, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    const take = (d) => {
      this.text = Buffer.concat([this.text, d]);
      if (this.text.length <= this.limit) return;
      this.truncated = true;
      this.text = this.text.subarray(this.text.length - this.limit);
    };
    this.child.stdout.on("data", take);
    this.child.stderr.on("data", take);
    this.exit = new Promise((resolve) => {
      this.child.on("error", () => resolve({ exitCode: 127, signal: null }));
      this.child.on("close", (exitCode, signal) => resolve((this.status = { exitCode, signal })));
    });
  }
  output() {
    return { output: this.text.toString("utf8"), truncated: this.truncated, ...(this.status && { exitStatus: this.status }) };
  }
  end() {
    try {
      process.kill(-this.child.pid, "SIGKILL");
    } catch {
      // it has ended by itself
    }
  }
}
