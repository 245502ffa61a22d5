// The agent as acpx drives it, verb by verb: a headless client whose sessions
// outlive its processes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { script } from "./editor.mjs";
import { KEY, alive, packageFile, until } from "./harness.mjs";
import { takeRequests } from "./model.mjs";

const LIMIT = 90_000;
const tee = fileURLToPath(new URL("tee.mjs", import.meta.url));

// Acpx runs commands of one home directory.
class Acpx {
  constructor(h, at, ...serve) {
    this.at = at;
    this.wires = path.join(at.dir, "wires");
    fs.mkdirSync(this.wires);
    this.command = [process.execPath, tee, this.wires, h.agent, "serve", ...serve].join(" ");
  }

  // start runs acpx FLAGS… WORDS…, flags being those before the verb.
  start(flags, ...words) {
    const args = [packageFile("acpx", "dist", "cli.js"), "--agent", this.command, "--format", "json", "--json-strict", "--timeout", "60", ...flags, ...words];
    const child = spawn(process.execPath, args, { ...this.at.options, stdio: ["ignore", "pipe", "pipe"] });
    const run = { child, out: "", err: "" };
    child.stdout.on("data", (d) => (run.out += d));
    child.stderr.on("data", (d) => (run.err += d));
    const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT);
    run.done = new Promise((resolve) => {
      // Not "close": the process that keeps a session may hold the pipes.
      child.on("exit", (code, signal) => {
        clearTimeout(limit);
        setTimeout(() => resolve({ code: code ?? signal, out: run.out, err: run.err, json: run.out.split("\n").filter(Boolean).map((l) => JSON.parse(l)) }), 20);
      });
    });
    return run;
  }

  // run expects success.
  async run(flags, ...words) {
    const got = await this.start(flags, ...words).done;
    assert.equal(got.code, 0, `acpx ${[...flags, ...words].join(" ")}: ${got.code}\n${got.out.slice(-2000)}\n${got.err}`);
    return got;
  }

  async fails(flags, ...words) {
    const got = await this.start(flags, ...words).done;
    assert.notEqual(got.code, 0, `acpx ${words.join(" ")} succeeded: ${got.out}`);
    return got;
  }

  // connections are what each agent process saw, in order.
  connections() {
    return fs.readdirSync(this.wires).sort().map((f) => {
      const [head, ...frames] = fs.readFileSync(path.join(this.wires, f), "utf8").split("\n").filter(Boolean).map((l) => JSON.parse(l));
      return { pid: head?.pid, frames };
    });
  }

  // sent are the requests and notifications of all connections, by method.
  sent(method) {
    return this.connections().flatMap((c) => c.frames.map((f) => JSON.parse(f.text)).filter((m) => m.method === method));
  }

  // ended waits until no agent runs, and returns what a check is judged by.
  async ended() {
    await until("the agents have ended", () => this.connections().every((c) => !alive(c.pid)), 60_000);
    return { logs: this.connections().map((c) => c.frames) };
  }
}

const ALLOW = ["--approve-all"];

export async function acpx(h, mock) {
  const env = { DEEPSEEK_API_KEY: KEY, DEEPSEEK_BASE_URL: `${mock.url}/v1` };
  const check = (name, body, ...serve) =>
    h.check(`acpx: ${name}`, env, async (at) => {
      takeRequests(mock);
      const x = new Acpx(h, at, ...serve);
      try {
        await body(x, at);
        return await x.ended();
      } catch (err) {
        throw new Error(`${err.stack}\n${x.connections().map((c) => c.frames.slice(-6).map((f) => `${f.from} ${f.text.slice(0, 300)}`).join("\n")).join("\n--\n")}`);
      } finally {
        for (const c of x.connections()) if (alive(c.pid)) process.kill(c.pid, "SIGKILL");
      }
    });
  const requests = () => takeRequests(mock);
  const updates = (x, kind) => x.sent("session/update").map((m) => m.params.update).filter((u) => u.sessionUpdate === kind);

  await check("a session's life: new, prompt, status, set-mode, set, list, close", async (x, at) => {
    const made = (await x.run([], "sessions", "new")).json[0];
    const id = made.acpxSessionId;
    await x.run(ALLOW, "prompt", "greet");
    const status = (await x.run([], "status")).json[0];
    assert.match(status.status, /idle|alive|running/);
    assert.equal(status.acpxSessionId, id);
    await x.run([], "set-mode", "plan");
    await x.run(ALLOW, "prompt", script({ call: ["write", { file_path: "f", content: "x" }] }, { text: "x" }));
    assert.ok(!fs.existsSync(path.join(at.cwd, "f")), "plan mode");
    const set = (await x.run([], "set", "effort", "high")).json[0];
    assert.equal(set.configOptions.find((o) => o.id === "effort").currentValue, "high");
    assert.equal(set.configOptions.find((o) => o.id === "mode").currentValue, "plan");
    await x.run([], "set", "model", "deepseek/deepseek-v4-pro");
    await x.fails([], "set", "nonsense", "x");
    await x.fails([], "set-mode", "nonsense");
    requests();
    await x.run([], "set", "mode", "bypassPermissions");
    await x.run(ALLOW, "prompt", script({ call: ["write", { file_path: "f", content: "x" }] }, { text: "x" }));
    assert.ok(fs.existsSync(path.join(at.cwd, "f")));
    assert.equal(x.sent("session/request_permission").length, 0, "bypass: nothing is asked");
    assert.equal(requests()[0].model, "deepseek-v4-pro");
    const list = (await x.run([], "sessions", "list", "--filter-cwd", at.cwd)).json[0];
    assert.equal(list.source, "agent");
    assert.deepEqual(list.sessions.map((s) => [s.sessionId, s.cwd]), [[id, at.cwd]]);
    assert.ok(list.sessions[0].title);
    await x.run([], "sessions", "close");
    assert.equal((await x.run([], "status")).json[0].status, "no-session");
  });

  await check("a session that outlives the agent, killed and replaced", async (x) => {
    const id = (await x.run([], "sessions", "new", "--name", "work")).json[0].acpxSessionId;
    await x.run(ALLOW, "prompt", "-s", "work", script({ call: ["bash", { command: "echo the first" }] }, { text: "First answer." }));
    await x.run([], "set-mode", "-s", "work", "acceptEdits");
    for (const c of x.connections()) if (alive(c.pid)) process.kill(c.pid, "SIGKILL");
    await until("it is gone", () => x.connections().every((c) => !alive(c.pid)));
    requests();
    await x.run(ALLOW, "prompt", "-s", "work", "and again");
    const sent = JSON.stringify(requests().at(-1).messages);
    for (const w of ["the first", "First answer.", "and again"]) assert.ok(sent.includes(w), w);
    const back = [...x.sent("session/load"), ...x.sent("session/resume")];
    assert.ok(back.length >= 1 && back.every((m) => m.params.sessionId === id), "the same session again");
    assert.equal(x.sent("session/new").length, 1);
    await x.run([], "sessions", "close", "work");
  });

  await check("cancel", async (x, at) => {
    await x.run([], "sessions", "new");
    const open = x.start(ALLOW, "prompt", script({ call: ["bash", { command: "echo $$ > pid; sleep 100" }] }, { text: "never" }));
    const pid = await until("the command runs", () => fs.existsSync(path.join(at.cwd, "pid")) && Number(fs.readFileSync(path.join(at.cwd, "pid"), "utf8")));
    await x.run([], "cancel");
    const got = await open.done;
    assert.ok(got.out.includes('"cancelled"'), got.out.slice(-1000));
    await until("the command is gone", () => !alive(pid));
    requests();
    await x.run(ALLOW, "prompt", "go on");
    assert.equal(requests().length, 1);
    await x.run([], "sessions", "close");
    assert.equal(x.sent("session/cancel").length, 1);
  });

  const work = script({ call: [["write", { file_path: "made", content: "made\n" }], ["bash", { command: "echo ran > ran" }]] }, { text: "Done." });
  const initialized = (x) => x.sent("initialize")[0].params.clientCapabilities;
  const calls = (x) => updates(x, "tool_call_update").filter((u) => ["completed", "failed"].includes(u.status)).map((u) => u.status);
  const variants = {
    "everything approved": { flags: ALLOW, ok: true },
    "everything denied": { flags: ["--deny-all"], ok: false },
    "without files and terminals": { flags: [...ALLOW, "--no-fs", "--no-terminal"], ok: true },
    "denied without files and terminals": { flags: ["--deny-all", "--no-fs", "--no-terminal"], ok: false },
  };
  for (const [name, v] of Object.entries(variants)) {
    await check(`exec, ${name}`, async (x, at) => {
      const got = await x.start(v.flags, "exec", work).done;
      assert.ok(got.out.includes('"end_turn"'), got.out.slice(-1000) + got.err);
      assert.deepEqual(calls(x), v.ok ? ["completed", "completed"] : ["failed", "failed"]);
      assert.deepEqual(fs.readdirSync(at.cwd).sort(), v.ok ? ["made", "ran"] : []);
      const plain = v.flags.includes("--no-fs");
      assert.equal(initialized(x).terminal ?? false, !plain);
      assert.equal(x.sent("fs/write_text_file").length, v.ok && !plain ? 1 : 0);
      assert.equal(x.sent("terminal/create").length, v.ok && !plain ? 1 : 0);
      assert.equal(x.sent("terminal/release").length, v.ok && !plain ? 1 : 0);
    });
  }

  await check("exec with config options and an MCP server", async (x, at) => {
    const file = path.join(at.dir, "mcp.json");
    const server = { name: "every", type: "stdio", command: process.execPath, args: [packageFile("@modelcontextprotocol/server-everything", "dist", "index.js")], env: [] };
    fs.writeFileSync(file, JSON.stringify({ mcpServers: [server] }));
    await x.run([...ALLOW, "--mcp-config", file], "exec", "--config-option", "mode=acceptEdits", "--config-option", "effort=high", script({ call: [["mcp__every__echo", { message: "by acpx" }], ["write", { file_path: "f", content: "x" }]] }, { text: "x" }));
    assert.deepEqual(calls(x), ["completed", "completed"]);
    assert.equal(x.sent("session/request_permission").length, 1, "the server's tool is asked for, the edit is not");
    assert.deepEqual(x.sent("session/set_config_option").map((m) => m.params.configId), ["mode", "effort"]);
    await x.fails(ALLOW, "exec", "--config-option", "effort=nonsense", "greet");
    assert.equal(x.sent("session/prompt").length, 1, "no prompt after an option that was refused");
  });
}
