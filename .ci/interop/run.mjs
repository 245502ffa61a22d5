// Drives the built agent with independent clients against an independent mock of
// the model APIs, and validates every frame.
//
//   node run.mjs AGENT SCHEMA.json [REGEXP]
//
// The regular expression picks checks by their names.
//
// Everything happens on loopback and in temporary directories.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { acpx } from "./acpx.mjs";
import { Harness, KEY } from "./harness.mjs";
import { isJudge, lastUser, reason, startModel, takeRequests } from "./model.mjs";
import { older } from "./older.mjs";
import { acpxExec, withSDK } from "./peers.mjs";
import { registry } from "./registry.mjs";
import { sdk } from "./sdk.mjs";

const [agent, schema] = process.argv.slice(2).map((p) => path.resolve(p));
const h = new Harness(agent, schema, process.argv[4]);
const mock = await startModel();
// acpx is mostly a wait for processes to start: it runs beside the rest, with a
// model of its own.
const acpxMock = await startModel();
const beside = acpx(h, acpxMock);

const providers = [
  { model: "deepseek/deepseek-chat", env: { DEEPSEEK_API_KEY: KEY, DEEPSEEK_BASE_URL: `${mock.url}/v1` } },
  { model: "openai/gpt-5.5", env: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${mock.url}/v1` } },
  { model: "anthropic/claude-sonnet-5-5", env: { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: mock.url } },
];

// A check of this file has the model's requests to itself.
const check = (name, env, body) => h.check(name, env, (at) => (takeRequests(mock), body(at)));

const said = (updates) =>
  updates.filter((u) => u.sessionUpdate === "agent_message_chunk").map((u) => u.content.text).join("");

async function open(ctx, M, cwd) {
  const init = await ctx.request(M.agent.initialize, { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: "interop", version: "1.0.0" } });
  assert.equal(init.protocolVersion, 1);
  assert.ok(init.authMethods.some((m) => !m.type || m.type === "agent"), "an agent auth method");
  return (await ctx.request(M.agent.session.new, { cwd, mcpServers: [] })).sessionId;
}

const prompt = (ctx, M, sessionId, text) => ctx.request(M.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });

// withHooks writes a Stop hook for one vendor and returns the agent's arguments.
function withHooks(at, flag) {
  const script = path.join(at.dir, "reason.txt");
  fs.writeFileSync(script, `${reason}\n`);
  const file = path.join(at.dir, "hooks.json");
  const command = `grep -q '"stop_hook_active":true' || { cat '${script}' >&2; exit 2; }`;
  fs.writeFileSync(file, JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command }] }] } }));
  return [flag, file];
}

for (const { model, env } of providers) {
  await check(`sdk, ${model}: text and thoughts`, env, (at) =>
    withSDK([agent, "serve", "--model", model], at.options, async (ctx, seen, M) => {
      const id = await open(ctx, M, at.cwd);
      const r = await prompt(ctx, M, id, "greet");
      assert.equal(r.stopReason, "end_turn");
      assert.equal(said(seen), "Grüße aus dem Modell: \u{1f44b} & <ok>");
      assert.ok(seen.some((u) => u.sessionUpdate === "agent_thought_chunk"), "thoughts");
    }).then((got) => (assert.equal(got.code, 0, `exit code; stderr: ${got.stderr}`), got)),
  );

  await check(`sdk, ${model}: a tool with permission`, env, (at) =>
    withSDK([agent, "serve", "--model", model], at.options, async (ctx, seen, M) => {
      const id = await open(ctx, M, at.cwd);
      const r = await prompt(ctx, M, id, "make the file");
      assert.equal(r.stopReason, "end_turn");
      assert.equal(said(seen), "The file is made.");
      assert.equal(fs.readFileSync(path.join(at.cwd, "made.txt"), "utf8"), "made by a tool\n");
      assert.ok(seen.some((u) => u.sessionUpdate === "(permission)"), "a permission question");
      assert.ok(seen.some((u) => u.sessionUpdate === "tool_call_update" && u.status === "completed"), "a completed tool call");
    }),
  );

  for (const flag of ["--claude-hooks", "--codex-hooks"]) {
    await check(`sdk, ${model}: a stop hook by ${flag}, verbatim`, env, (at) =>
      withSDK([agent, "serve", "--model", model, ...withHooks(at, flag)], at.options, async (ctx, seen, M) => {
        const id = await open(ctx, M, at.cwd);
        const r = await prompt(ctx, M, id, "say FIRST");
        assert.equal(r.stopReason, "end_turn");
        assert.equal(said(seen), "FIRSTSECOND");
        const requests = takeRequests(mock);
        assert.equal(requests.length, 2, "model requests");
        assert.equal(lastUser(requests[1]), reason, "the reason as the model's last user message");
      }),
    );
  }

  await check(`sdk, ${model}: an agent hook of ~/.claude reads a file and goes on`, env, (at) => {
    fs.mkdirSync(path.join(at.home, ".claude"));
    const hook = { type: "agent", prompt: "Read todo.txt. Is all of it said? $ARGUMENTS", statusMessage: "Looking at todo.txt" };
    fs.writeFileSync(path.join(at.home, ".claude", "settings.json"), JSON.stringify({ hooks: { Stop: [{ hooks: [hook] }] } }));
    fs.writeFileSync(path.join(at.cwd, "todo.txt"), "SECOND is open\n");
    return withSDK([agent, "serve", "--model", model], at.options, async (ctx, seen, M) => {
      const id = await open(ctx, M, at.cwd);
      const r = await prompt(ctx, M, id, "say FIRST");
      assert.equal(r.stopReason, "end_turn");
      assert.equal(said(seen), "FIRSTSECOND");
      const requests = takeRequests(mock);
      assert.deepEqual(requests.map(isJudge), [false, true, true, false, true], "who asked");
      assert.equal(lastUser(requests[3]), reason, "the reason as the model's last user message");
      assert.ok(!JSON.stringify(requests[3]).includes("SECOND is open"), "what the hook read is its own");
      const shown = seen.filter((u) => u.toolCallId?.startsWith("hook:")).map((u) => [u.title, u.status]);
      assert.deepEqual(shown, [["Looking at todo.txt", "in_progress"], [undefined, "completed"], ["Looking at todo.txt", "in_progress"], [undefined, "completed"]]);
    });
  });

  await check(`sdk, ${model}: errors are answers`, env, (at) =>
    withSDK([agent, "serve", "--model", model], at.options, async (ctx, _seen, M) => {
      const id = await open(ctx, M, at.cwd);
      await assert.rejects(ctx.request("_interop/nope", {}), (e) => e.code === -32601);
      await assert.rejects(prompt(ctx, M, "nope", "x"), (e) => e.code === -32002);
      mock.nextRequestError(500, { message: "broken on purpose" });
      assert.equal((await prompt(ctx, M, id, "greet")).stopReason, "end_turn");
    }),
  );

  await check(`acpx, ${model}: exec`, env, async (at) => {
    const got = await acpxExec(`${agent} serve --model ${model}`, at.options, "make the file");
    assert.equal(got.code, 0, `acpx: ${got.stderr}`);
    assert.equal(fs.readFileSync(path.join(at.cwd, "made.txt"), "utf8"), "made by a tool\n");
    assert.ok(got.frames.some((f) => f.includes('"end_turn"')), "end_turn");
    return got;
  });
}

await check("acpx: no key is an authentication error", {}, async (at) => {
  const got = await acpxExec(`${agent} serve`, at.options, "greet");
  assert.notEqual(got.code, 0);
  assert.ok(got.frames.some((f) => f.includes("-32000") && f.includes("DEEPSEEK_API_KEY")), got.frames.join("\n"));
  return got;
});

await sdk(h, mock);
await older(h, mock);
await registry(h);
await beside;

await mock.stop();
await acpxMock.stop();
console.log(h.failed ? `${h.failed} failed` : `all ${h.passed} passed`);
process.exit(h.failed ? 1 : 0);
