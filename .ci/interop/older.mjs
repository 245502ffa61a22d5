// Clients of other makings: the first releases of the SDK, whose schema knows less
// than the agent says; acp-factory, which answers permissions by itself; and one
// written by hand, as clients are that have no SDK.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import * as first from "@zed-industries/agent-client-protocol";
import { AgentFactory } from "acp-factory";
import { script } from "./editor.mjs";
import { KEY, text, until } from "./harness.mjs";

const LIMIT = 60_000; // ends what hangs; nothing here takes a second
const write = (file, content) => ({ call: ["write", { file_path: file, content }] });
const bash = (command) => ({ call: ["bash", { command }] });

export async function older(h, mock) {
  const env = { DEEPSEEK_API_KEY: KEY, DEEPSEEK_BASE_URL: `${mock.url}/v1` };
  await h.check("the SDK's release 0.4.5", env, (at) => withFirst(h.agent, at, firstSDK));
  for (const mode of ["auto-approve", "auto-deny", "interactive"]) {
    await h.check(`acp-factory: ${mode}`, {}, async (at) => {
      // It hands no frames out: what is judged is what it makes of them.
      await factory(h.agent, at, env, mode);
      return { logs: [] };
    });
  }
  await h.check("a client written by hand", env, (at) => byHand(h.agent, at));
}

// run starts the agent and records the lines of both directions.
function run(agent, at) {
  const child = spawn(agent, ["serve"], { ...at.options, stdio: ["pipe", "pipe", "pipe"] });
  const p = { child, frames: [], stderr: "", toAgent: new PassThrough(), fromAgent: child.stdout.pipe(new PassThrough()) };
  child.stderr.on("data", (d) => (p.stderr += d));
  p.toAgent.pipe(child.stdin);
  for (const [from, stream] of [["client", p.toAgent], ["agent", p.fromAgent]]) {
    let rest = "";
    stream.on("data", (d) => {
      const lines = (rest + d).split("\n");
      rest = lines.pop();
      p.frames.push(...lines.map((line) => ({ from, text: line })));
    });
  }
  p.exit = new Promise((resolve) => child.on("close", (code, signal) => resolve(code ?? signal)));
  p.limit = setTimeout(() => child.kill("SIGKILL"), LIMIT);
  p.end = async () => {
    child.stdin.end();
    assert.equal(await p.exit, 0, p.stderr);
    assert.equal(p.stderr, "");
    clearTimeout(p.limit);
  };
  return p;
}

async function withFirst(agent, at, use) {
  const p = run(agent, at);
  // Updates of kinds that it does not know it reports, and drops.
  const { error } = console;
  console.error = () => {};
  try {
    const seen = [];
    const client = {
      requestPermission: async (q) => ({ outcome: { outcome: "selected", optionId: q.options.find((o) => o.kind === "allow_once").optionId } }),
      sessionUpdate: async (n) => void seen.push(n.update),
      readTextFile: async (q) => ({ content: fs.readFileSync(q.path, "utf8") }),
      writeTextFile: async (q) => fs.writeFileSync(q.path, q.content), // undefined
    };
    const conn = new first.ClientSideConnection(() => client, first.ndJsonStream(Writable.toWeb(p.toAgent), Readable.toWeb(p.fromAgent)));
    await use(conn, seen, at);
    await p.end();
    return { frames: p.frames };
  } finally {
    console.error = error;
    p.child.kill("SIGKILL");
  }
}

async function firstSDK(conn, seen, at) {
  const init = await conn.initialize({ protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } } });
  assert.equal(init.protocolVersion, 1);
  const { sessionId } = await conn.newSession({ cwd: at.cwd, mcpServers: [] });
  const prompt = (...steps) => conn.prompt({ sessionId, prompt: [text(script(...steps))] });
  const kinds = (from) => seen.slice(from).map((u) => u.sessionUpdate);
  assert.equal((await prompt({ think: "hm", text: "hello" })).stopReason, "end_turn");
  assert.ok(kinds(0).includes("agent_message_chunk") && kinds(0).includes("agent_thought_chunk"), kinds(0).join());
  fs.writeFileSync(path.join(at.cwd, "a.txt"), "one\n");
  const edit = { call: ["edit", { file_path: "a.txt", old_string: "one", new_string: "two" }] };
  assert.equal((await prompt({ call: ["read", { file_path: "a.txt" }] }, edit, bash("cat a.txt > b.txt"))).stopReason, "end_turn");
  assert.equal(fs.readFileSync(path.join(at.cwd, "b.txt"), "utf8"), "two\n");
  await conn.setSessionMode({ sessionId, modeId: "plan" });
  const open = prompt({ hang: true });
  await conn.cancel({ sessionId });
  assert.equal((await open).stopReason, "cancelled");
  const from = seen.length;
  assert.equal((await conn.loadSession({ sessionId, cwd: at.cwd, mcpServers: [] })).modes.currentModeId, "plan");
  assert.deepEqual([...new Set(kinds(from))].sort().filter((k) => !/commands/.test(k)), ["agent_message_chunk", "agent_thought_chunk", "tool_call", "user_message_chunk"]);
}

async function factory(agent, at, env, permissionMode) {
  AgentFactory.register("acp-agent", { command: agent, args: ["serve"], env: { ...at.options.env, ...env } });
  const handle = await AgentFactory.spawn("acp-agent", { permissionMode });
  try {
    const s = await handle.createSession(at.cwd, { mode: "default" });
    const say = async (...steps) => {
      let said = "";
      for await (const u of s.prompt(script(...steps))) {
        if (u.sessionUpdate === "agent_message_chunk") said += u.content.text;
        if (u.sessionUpdate === "permission_request") s.respondToPermission(u.requestId, u.options[0].optionId);
      }
      return said;
    };
    assert.equal(await say({ text: "hello" }), "hello");
    assert.equal(await say(bash("echo x > made.txt"), { text: "then" }), "then");
    assert.equal(fs.existsSync(path.join(at.cwd, "made.txt")), permissionMode !== "auto-deny");
    await s.setMode("plan");
    assert.equal((await handle.loadSession(s.id, at.cwd)).id, s.id);
  } finally {
    await handle.close();
  }
}

// byHand is what a client without an SDK gets wrong, all of it at once: what its
// encoder makes of nothing, of an empty table and of an integer, line ends, and
// answers that lack what is undefined.
async function byHand(agent, at) {
  const p = run(agent, at);
  try {
    const got = () => p.frames.filter((f) => f.from === "agent").map((f) => JSON.parse(f.text));
    const send = (m) => p.toAgent.write(`${typeof m === "string" ? m : JSON.stringify(m)}\r\n`);
    let answered = 0;
    const serve = () => {
      for (const m of got().filter((m) => m.method && m.id !== undefined).slice(answered)) {
        answered++;
        if (m.method === "session/request_permission") send({ jsonrpc: "2.0", id: m.id, result: { outcome: { outcome: "selected", optionId: m.params.options[0].optionId } } });
        if (m.method === "fs/write_text_file") fs.writeFileSync(m.params.path, m.params.content);
        if (m.method.startsWith("fs/")) send({ jsonrpc: "2.0", id: m.id, result: m.method === "fs/read_text_file" ? { content: "" } : undefined });
      }
    };
    const answer = (id) => until(`the answer to ${id}`, () => (serve(), got().find((m) => m.id === id && !m.method)));
    send('\ufeff{"jsonrpc":"2.0","id":1.0,"method":"initialize","params":{"protocolVersion":1.0,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":null,"_meta":[]},"clientInfo":null}}');
    assert.equal((await answer(1)).result.protocolVersion, 1);
    assert.ok(p.frames.some((f) => f.from === "agent" && f.text.includes('"id":1.0,')), "the id as it came");
    send({ jsonrpc: "2.0", id: "new", method: "session/new", params: { cwd: at.cwd, mcpServers: {}, additionalDirectories: {}, _meta: [] } });
    const { sessionId } = (await answer("new")).result;
    send({ jsonrpc: "2.0", id: 2, method: "session/prompt", params: { sessionId, prompt: [text(script(write("made.txt", "made\n"), bash("printf 'a\\0b'"), { text: "done" }))] } });
    assert.equal((await answer(2)).result.stopReason, "end_turn");
    assert.equal(fs.readFileSync(path.join(at.cwd, "made.txt"), "utf8"), "made\n");
    await p.end();
    // The judge is shown what was meant.
    const meant = (m) => (m.method || m.result || m.error ? m : { ...m, result: null });
    return { frames: p.frames.map((f) => (f.from === "agent" ? f : { ...f, text: JSON.stringify(meant(JSON.parse(f.text.replace(/^\ufeff/, "")))) })) };
  } finally {
    clearTimeout(p.limit);
    p.child.kill("SIGKILL");
  }
}
