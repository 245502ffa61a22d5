// What the client serves the agent, and what the agent reaches for it: files,
// terminals, forms, MCP servers, authentication.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { ALL, script } from "./editor.mjs";
import { KEY, alive, code, packageFile, until } from "./harness.mjs";

const bash = (command, more) => ({ call: ["bash", { command, ...more }] });
const resultOf = (request) => request.messages.filter((m) => m.role === "tool").map((m) => (typeof m.content === "string" ? m.content : JSON.stringify(m.content)));

export async function services(edit) {
  await edit("files: the editor's unsaved text counts", { fs: ALL.fs }, async (ed, at) => {
    const file = path.join(at.cwd, "f.txt");
    fs.writeFileSync(file, "saved\n");
    ed.buffers.set(file, "unsaved\n");
    const written = [];
    ed.writeFile = (p) => (written.push(p.content), ed.buffers.set(p.path, p.content));
    const id = await ed.open();
    await ed.run(id, { call: ["read", { file_path: "f.txt" }] }, { call: ["edit", { file_path: "f.txt", old_string: "unsaved", new_string: "changed" }] });
    const calls = ed.calls(id);
    assert.ok(JSON.stringify(calls[0]).includes("unsaved"), JSON.stringify(calls[0]));
    // Either the edit goes through the editor onto its text, or it is refused; the
    // text that nobody saved is never lost.
    if (calls[1].status === "completed") assert.deepEqual(written, ["changed\n"]);
    else assert.equal(ed.buffers.get(file), "unsaved\n");
    for (const p of [...ed.asks("fs/read_text_file"), ...ed.asks("fs/write_text_file")]) assert.equal(p.sessionId, id);
  });

  await edit("files: an editor that fails", { fs: ALL.fs }, async (ed, at) => {
    const file = path.join(at.cwd, "f.txt");
    fs.writeFileSync(file, "saved\n");
    const id = await ed.open();
    ed.readFile = () => {
      throw new Error("no such buffer");
    };
    ed.writeFile = () => {
      throw new Error("read-only");
    };
    assert.equal(await ed.run(id, { call: ["read", { file_path: "f.txt" }] }, { call: ["write", { file_path: "g.txt", content: "x" }] }, { text: "done" }), "end_turn");
    assert.ok(!fs.existsSync(path.join(at.cwd, "g.txt")) || ed.calls(id)[1].status === "completed", "a write that failed has not happened");
  });

  await edit("terminals: output, exit codes, limits, errors; always released", { terminal: true }, async (ed, at) => {
    const id = await ed.open();
    await ed.run(id, bash("echo hello; exit 7"), bash("sleep 100", { timeoutMs: 3000 }), bash("seq 1 100000"), bash("no-such-command-here"));
    const calls = ed.calls(id);
    for (const c of calls) assert.equal(c.content[0].type, "terminal", JSON.stringify(c.content));
    assert.equal(ed.asks("terminal/create").length, 4);
    assert.equal(ed.asks("terminal/release").length, 4);
    assert.equal(ed.asks("terminal/kill").length, 1, "the one that took too long");
    assert.equal(ed.terminals.size, 0);
    for (const p of ed.asks("terminal/create")) {
      assert.equal(p.sessionId, id);
      assert.equal(p.cwd, at.cwd);
      assert.ok(p.outputByteLimit > 0);
      assert.ok(!JSON.stringify(p).includes(KEY), "a key for the terminal");
    }
    ed.beforeTerminal = () => {
      throw new Error("no terminal today");
    };
    assert.equal(await ed.run(id, bash("echo fallback > out"), { text: "x" }), "end_turn");
    const last = ed.calls(id).at(-1);
    assert.ok(["completed", "failed"].includes(last.status));
    assert.equal(fs.existsSync(path.join(at.cwd, "out")), last.status === "completed");
  });

  await edit("terminals: one that is made after the command was given up is released", { terminal: true }, async (ed, at) => {
    const id = await ed.open();
    let make;
    ed.beforeTerminal = () => new Promise((r) => (make = r));
    assert.equal(await ed.run(id, bash("echo $$ > pid; sleep 100", { timeoutMs: 100 }), { text: "x" }), "end_turn");
    make();
    await until("the release", () => ed.asks("terminal/release").length === 1);
    make = null;
    // A session does not ask again after a time limit; another one does.
    const other = await ed.open();
    const open = ed.run(other, bash("sleep 100"));
    await until("the terminal is asked for", () => make);
    await ed.cancel(other);
    assert.equal(await open, "cancelled");
    make();
    await until("the release", () => ed.asks("terminal/release").length === 2);
    assert.equal(ed.terminals.size, 0);
  });

  await edit("services that the config turns off are not used", ALL, async (ed, at) => {
    const id = await ed.open();
    await ed.run(id, { call: ["write", { file_path: "f.txt", content: "x" }] }, bash("cat f.txt"));
    assert.equal(ed.asks("terminal/create").length + ed.asks("fs/write_text_file").length, 0);
    assert.equal(fs.readFileSync(path.join(at.cwd, "f.txt"), "utf8"), "x");
  }, { config: "[client]\nterminal = false\nfiles = false\n" });
}

export async function forms(edit, requests) {
  const form = { elicitation: { form: {} } };
  const two = {
    questions: [
      { question: "Which colour?", header: "Colour", options: [{ label: "red", description: "like fire" }, { label: "blue" }] },
      { question: "Which sizes?", header: "Sizes", multiSelect: true, options: [{ label: "S" }, { label: "L" }] },
    ],
  };
  await edit("forms: accept, decline, cancel, errors", form, async (ed) => {
    const id = await ed.open();
    const ask = async (answer, questions = two) => {
      ed.form = answer;
      requests();
      assert.equal(await ed.run(id, { call: ["ask_user", questions] }, { text: "ok" }), "end_turn");
      return resultOf(requests().at(-1)).at(-1);
    };
    let fields;
    const accepted = await ask((p) => {
      assert.equal(p.mode, "form");
      assert.equal(p.sessionId, id);
      fields = Object.entries(p.requestedSchema.properties);
      const content = {};
      for (const [name, f] of fields) {
        if (f.type === "array") content[name] = [f.items.anyOf?.[1].const ?? f.items.enum[1]];
        else if (f.oneOf ?? f.enum) content[name] = (f.oneOf?.[0].const ?? f.enum[0]);
      }
      return { action: "accept", content };
    });
    assert.ok(fields.length >= 2);
    assert.ok(/red/.test(accepted) && /L/.test(accepted), accepted);
    assert.match(await ask(() => ({ action: "decline" })), /declined/);
    assert.match(await ask(() => ({ action: "cancel" })), /without an answer/);
    assert.match(await ask(() => ({ action: "_later" })), /without an answer/);
    assert.match(await ask(() => { throw new Error("no dialogs"); }), /could not be shown/);
    const wrong = await ask(() => ({ action: "accept", content: Object.fromEntries(fields.map(([n]) => [n, "PURPLE"])) }));
    assert.ok(typeof wrong === "string");
    assert.ok(typeof (await ask(() => ({ action: "accept" }))) === "string");
    assert.match(await ask(() => assert.fail("a secret was asked for"), { questions: [{ question: "What is your API key?" }] }), /secret/);
  });
}

// everything is the protocol's own test server, which says its process id.
function everything(at, name = "every") {
  const pid = path.join(at.dir, `${name}.pid`);
  const server = packageFile("@modelcontextprotocol/server-everything", "dist", "index.js");
  return {
    pid: () => Number(fs.readFileSync(pid, "utf8")),
    server: { name, command: "/bin/sh", args: ["-c", `echo $$ > '${pid}'; exec '${process.execPath}' '${server}' stdio`], env: [{ name: "INTEROP_WORD", value: "w & w" }] },
  };
}

export async function servers(edit, requests) {
  await edit("mcp, stdio: a tool is called, the process ends with the session", {}, async (ed, at) => {
    const mcp = everything(at);
    const mcpServers = [mcp.server, { name: "broken", command: "/no/such/server", args: [], env: [] }];
    const id = await ed.open({ mcpServers });
    requests();
    const stop = await ed.run(id, { call: ["mcp__every__echo", { message: "Grüße" }] }, { call: ["mcp__every__get-env", {}] }, { call: ["mcp__every__get-tiny-image", {}] }, { call: ["mcp__every__get-sum", { a: "x" }] }, { call: ["mcp__every__toggle-simulated-logging", {}] }, { text: "done" });
    assert.equal(stop, "end_turn");
    const sent = requests();
    const names = sent[0].tools.map((t) => t.function?.name ?? t.name);
    for (const n of names) assert.match(n, /^[A-Za-z0-9_-]{1,64}$/);
    assert.ok(names.includes("mcp__every__echo"), names.join());
    const calls = ed.calls(id);
    assert.deepEqual(calls.map((c) => c.status), ["completed", "completed", "completed", "failed", "completed"], JSON.stringify(calls).slice(0, 2000));
    assert.ok(JSON.stringify(calls[0].content).includes("Grüße"));
    assert.ok(JSON.stringify(calls[1].content).includes("w & w"), "the server's environment");
    assert.ok(!JSON.stringify(calls[1]).includes(KEY), "a provider's key in a server's environment");
    assert.ok(calls[2].content.some((c) => c.content?.type === "image"), "an image of a server");
    assert.deepEqual(ed.asks("session/request_permission").map((p) => p.toolCall.name), calls.map((c) => c.name), "all are asked for, whatever the server says of them");
    const told = ed.said(id).match(/broken/g) ?? [];
    assert.equal(told.length, 1, `the server that failed is told once: ${ed.said(id)}`);
    const pid = mcp.pid();
    assert.ok(alive(pid));
    await ed.close(id);
    await until("the server is gone", () => !alive(pid));
    // A resume brings them again, as it names them.
    await ed.resume(id, { mcpServers: [mcp.server] });
    await ed.run(id, { call: ["mcp__every__echo", { message: "again" }] });
    assert.equal(ed.calls(id).at(-1).status, "completed");
    assert.notEqual(mcp.pid(), pid);
    ed.last = mcp.pid();
    at.after = () => until("the server is gone with the agent", () => !alive(ed.last));
  });

  const both = { elicitation: { form: {}, url: {} } };
  await edit("mcp: a server asks, by form and by page", both, async (ed, at) => {
    const mcp = everything(at);
    const id = await ed.open({ mcpServers: [mcp.server] });
    const asked = async (tool, args, answer) => {
      const from = ed.mark();
      ed.form = answer;
      assert.equal(await ed.run(id, { call: [`mcp__every__${tool}`, args] }, { text: "ok" }), "end_turn");
      const [call] = ed.calls(id, from);
      return { asks: ed.asks("elicitation/create", from), text: JSON.stringify(call.content), status: call.status, call: call.toolCallId };
    };
    const filled = { name: "Ann", check: true, email: "ann@x.example", integer: 7 };
    const form = await asked("trigger-elicitation-request", {}, (p) => ({ action: "accept", content: filled }));
    assert.equal(form.status, "completed", form.text);
    const [p] = form.asks;
    assert.deepEqual([p.mode, p.sessionId, p.toolCallId], ["form", id, form.call]);
    assert.match(p.message, /"every"/, "which server asks");
    assert.deepEqual(p.requestedSchema.required, ["name"]);
    for (const [name, f] of Object.entries(p.requestedSchema.properties)) assert.ok(["string", "number", "integer", "boolean", "array"].includes(f.type), name);
    const titled = Object.values(p.requestedSchema.properties).filter((f) => f.oneOf ?? f.items?.anyOf);
    assert.ok(titled.length >= 2, "titled choices");
    assert.ok(form.text.includes("ann@x.example"), form.text);
    assert.match((await asked("trigger-elicitation-request", {}, () => ({ action: "decline" }))).text, /declined/);
    assert.match((await asked("trigger-elicitation-request", {}, () => ({ action: "cancel" }))).text, /cancel/);
    assert.match((await asked("trigger-elicitation-request", {}, () => ({ action: "_later" }))).text, /cancel/, "an unknown answer is no consent");
    const failed = await asked("trigger-elicitation-request", {}, () => { throw new Error("no dialogs"); });
    assert.equal(failed.status, "failed", failed.text);
    const page = await asked("trigger-url-elicitation", { url: "https://x.example/in?a=1", elicitationId: "e1" }, () => ({ action: "accept" }));
    assert.match(page.text, /completed the URL/);
    assert.deepEqual([page.asks[0].mode, page.asks[0].url], ["url", "https://x.example/in?a=1"]);
    assert.ok(page.asks[0].elicitationId && page.asks[0].elicitationId !== "e1", "an id of the agent's own");
    const refused = await asked("trigger-url-elicitation", { url: "file:///etc/passwd" }, () => assert.fail("sent to a file"));
    assert.match(refused.text, /declined/);
    const first = await asked("trigger-url-elicitation", { url: "https://x.example/b", errorPath: true }, () => ({ action: "decline" }));
    assert.equal(first.status, "failed");
    assert.match(first.text, /did not agree/);
    // A cancel takes an open question back.
    const from = ed.mark();
    ed.form = (_, signal) => new Promise((r) => signal.addEventListener("abort", () => r({ action: "cancel" })));
    const open = ed.run(id, { call: ["mcp__every__trigger-elicitation-request", {}] }, { text: "never" });
    await until("it is asked", () => ed.asks("elicitation/create", from).length);
    await ed.cancel(id);
    assert.equal(await open, "cancelled");
    assert.equal(await ed.run(id, { call: ["mcp__every__echo", { message: "after" }] }), "end_turn");
    assert.equal(ed.calls(id).at(-1).status, "completed", "the server lives on");
  });
  await edit("mcp: a server is not offered to ask where the client shows nothing", { elicitation: {} }, async (ed, at) => {
    const id = await ed.open({ mcpServers: [everything(at).server] });
    requests();
    await ed.run(id, { text: "x" });
    const names = requests()[0].tools.map((t) => t.function?.name ?? t.name);
    assert.ok(names.includes("mcp__every__echo") && !names.some((n) => n.includes("elicitation")), names.join());
  });

  await edit("mcp: the reply does not wait for a slow server, a cancel does not either", {}, async (ed) => {
    const began = Date.now();
    const id = await ed.open({ mcpServers: [{ name: "slow", command: "/bin/sh", args: ["-c", "sleep 1000"], env: [] }] });
    assert.ok(Date.now() - began < 20_000);
    const open = ed.run(id, { text: "x" });
    await new Promise((r) => setTimeout(r, 300));
    await ed.cancel(id);
    assert.ok(["cancelled", "end_turn"].includes(await open));
  });

  await edit("mcp: a cancelled call, malformed entries", {}, async (ed, at) => {
    const mcp = everything(at);
    const id = await ed.open({ mcpServers: [mcp.server] });
    const open = ed.run(id, { call: ["mcp__every__trigger-long-running-operation", { duration: 600, steps: 100 }] });
    await until("the call runs", () => ed.calls(id).some((c) => c.status === "in_progress"));
    await ed.cancel(id);
    assert.equal(await open, "cancelled");
    assert.equal(await ed.run(id, { call: ["mcp__every__echo", { message: "after" }] }), "end_turn");
    assert.equal(ed.calls(id).at(-1).status, "completed", "the server lives on");
    const bad = [{ name: "x" }, { type: "carrier-pigeon", name: "x" }, { type: "http", name: "x" }, { name: "", command: "/bin/true", args: [], env: [] }];
    for (const server of bad) await assert.rejects(ed.ctx.request("session/new", { cwd: at.cwd, mcpServers: [server] }), code(-32602));
    await assert.rejects(ed.new({ mcpServers: [mcp.server, mcp.server] }), code(-32602));
    await ed.ctx.request("session/new", { cwd: at.cwd, mcpServers: null });
  });

  for (const [type, transport, route] of [["http", "streamableHttp", "mcp"], ["sse", "sse", "sse"]]) {
    await edit(`mcp, ${type}`, {}, async (ed, at) => {
      const port = await freePort();
      const child = spawn(process.execPath, [packageFile("@modelcontextprotocol/server-everything", "dist", "index.js"), transport], { env: { ...process.env, PORT: String(port) }, stdio: "ignore" });
      try {
        await until("the server listens", () => new Promise((r) => net.connect(port, "127.0.0.1").on("connect", function () { this.destroy(); r(true); }).on("error", () => r(false))));
        const id = await ed.open({ mcpServers: [{ type, name: "far", url: `http://127.0.0.1:${port}/${route}`, headers: [{ name: "X-Interop", value: "1" }] }] });
        await ed.run(id, { call: ["mcp__far__echo", { message: "over the net" }] });
        assert.ok(JSON.stringify(ed.calls(id)[0].content ?? ed.said(id)).includes("over the net"), JSON.stringify(ed.calls(id)) + ed.said(id));
        await ed.close(id);
      } finally {
        child.kill("SIGKILL");
      }
    });
  }
}

const freePort = () =>
  new Promise((resolve) => {
    const s = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = s.address();
      s.close(() => resolve(port));
    });
  });

export async function auth(edit) {
  await edit("auth: no key, and a key that appears", {}, async (ed, at) => {
    await assert.rejects(ed.new(), (e) => e.code === -32000 && /DEEPSEEK_API_KEY/.test(e.message));
    const [method] = ed.hello.authMethods.filter((m) => !m.type || m.type === "agent");
    await assert.rejects(ed.ctx.request("authenticate", { methodId: method.id }), code(-32000));
    await assert.rejects(ed.ctx.request("authenticate", { methodId: "nope" }), code(-32602));
    assert.deepEqual((await ed.list()).sessions, []);
    // What `acp-agent login` does, in another process.
    const login = spawn(at.agent, ["login", "--provider", "deepseek"], { env: at.options.env, stdio: ["pipe", "ignore", "pipe"] });
    login.stdin.end(`${KEY}\n`);
    let err = "";
    login.stderr.on("data", (d) => (err += d));
    assert.equal(await new Promise((r) => login.on("close", r)), 0, err);
    assert.deepEqual(await ed.ctx.request("authenticate", { methodId: method.id }), {});
    await ed.open();
  }, { env: {} });

  await edit("auth: after a logout nothing starts until authenticate", { auth: { terminal: true } }, async (ed) => {
    const terminal = ed.hello.authMethods.find((m) => m.type === "terminal");
    assert.ok(terminal.id && terminal.name);
    await assert.rejects(ed.ctx.request("authenticate", { methodId: terminal.id }), code(-32602));
    const id = await ed.open();
    assert.deepEqual(await ed.ctx.request("logout", {}), {});
    await assert.rejects(ed.new(), code(-32000));
    await assert.rejects(ed.load(id), code(-32000));
    await ed.ctx.request("authenticate", { methodId: ed.hello.authMethods[0].id });
    await ed.open();
  });

  await edit("before initialize nothing is served", {}, async (ed) => {
    await assert.rejects(ed.new(), code(-32600));
    await assert.rejects(ed.list(), code(-32600));
    ed.hello = await ed.initialize();
    await ed.open();
  }, { initialize: false });
}
