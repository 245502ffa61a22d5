// The check that the ACP registry runs on an agent before it lists it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";

// What the registry's CI sends.
const hello = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: 1,
    clientInfo: { name: "ACP Registry Validator", version: "1.0.0" },
    clientCapabilities: { terminal: true, fs: { readTextFile: true, writeTextFile: true }, _meta: { terminal_output: true, "terminal-auth": true } },
  },
};

// start runs the agent as it is listed, with next to no environment.
function start(h, at, args = []) {
  const env = { PATH: process.env.PATH, HOME: at.home, TERM: "dumb" };
  const child = spawn(h.agent, args, { cwd: at.cwd, env, stdio: ["pipe", "pipe", "pipe"] });
  const got = { child, out: "", err: "" };
  child.stdout.on("data", (d) => (got.out += d));
  child.stderr.on("data", (d) => (got.err += d));
  child.stdin.on("error", () => {});
  got.exit = new Promise((resolve) => child.on("close", (code, signal) => resolve(code ?? signal)));
  got.limit = setTimeout(() => child.kill("SIGKILL"), 60_000);
  return got;
}

export async function registry(h) {
  for (const args of [[], ["serve"]]) {
    await h.check(`registry: the authentication check, acp-agent ${args.join(" ")}`, {}, async (at) => {
      const p = start(h, at, args);
      try {
        p.child.stdin.write(`${JSON.stringify(hello)}\n`);
        const first = await new Promise((resolve, reject) => {
          const look = () => p.out.includes("\n") && resolve(p.out.split("\n")[0]);
          p.child.stdout.on("data", look);
          p.exit.then((c) => reject(new Error(`it ended (${c}): ${p.err}`)));
        });
        const reply = JSON.parse(first);
        assert.equal(reply.id, 1);
        assert.equal(reply.result.protocolVersion, 1);
        const kinds = reply.result.authMethods.map((m) => m.type ?? "agent");
        assert.ok(kinds.includes("agent"), kinds.join());
        for (const m of reply.result.authMethods) assert.ok(m.id && m.name);
        p.child.stdin.end();
        assert.equal(await p.exit, 0);
        assert.equal(p.out.split("\n").length, 2, "one line and no more");
        assert.equal(p.err, "");
        return { frames: [{ from: "client", text: JSON.stringify(hello) }, { from: "agent", text: first }] };
      } finally {
        clearTimeout(p.limit);
        p.child.kill("SIGKILL");
      }
    });
  }

  // With stdin closed the process stays up or exits 0; the daily probes need an
  // answer to each, of whatever kind.
  await h.check("registry: the launch test and the probes without a login", {}, async (at) => {
    const closed = start(h, at);
    closed.child.stdin.end();
    assert.equal(await closed.exit, 0);
    clearTimeout(closed.limit);
    assert.equal(closed.out, "");
    const p = start(h, at);
    const asked = [
      hello,
      ...[
        ["session/new", { cwd: at.cwd, mcpServers: [] }],
        ["session/list", {}],
        ["session/fork", { sessionId: "x", cwd: at.cwd, mcpServers: [] }],
        ["session/resume", { sessionId: "x", cwd: at.cwd, mcpServers: [] }],
        ["session/set_model", { sessionId: "x", modelId: "y" }],
        ["session/close", { sessionId: "x" }],
      ].map(([method, params], i) => ({ jsonrpc: "2.0", id: i + 2, method, params })),
    ].map((m) => JSON.stringify(m));
    p.child.stdin.end(`${asked.join("\n")}\n`);
    assert.equal(await p.exit, 0, p.err);
    clearTimeout(p.limit);
    const replies = p.out.trimEnd().split("\n");
    const byID = new Map(replies.map((l) => [JSON.parse(l).id, JSON.parse(l)]));
    assert.equal(byID.size, asked.length, "an answer to each");
    assert.equal(byID.get(2).error.code, -32000);
    assert.deepEqual(byID.get(3).result, { sessions: [] });
    for (const id of [4, 6]) assert.equal(byID.get(id).error.code, -32601);
    return { frames: [...asked.map((text) => ({ from: "client", text })), ...replies.map((text) => ({ from: "agent", text }))] };
  });
}
