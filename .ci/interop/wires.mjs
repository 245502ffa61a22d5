// One turn script on every model wire, against @copilotkit/aimock, which was
// written by others from the providers' documents: text, thinking, parallel
// tools, errors, a cut stream and a resumed session; then the same with the
// mock's chaos modes at 30 %. Whatever happens, every prompt ends, the session is
// usable after it, and nothing is doubled or lost: what the client was shown,
// what the log holds and what the model is sent must agree.
//
//   node wires.mjs AGENT SCHEMA.json [SEED]
//
// Everything happens on loopback and in temporary directories.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { LLMock } from "@copilotkit/aimock";
import { withSDK } from "./peers.mjs";
import { Validator } from "./validate.mjs";

const [agent, schema] = process.argv.slice(2, 4).map((p) => path.resolve(p));
const seed = Number(process.argv[4] ?? process.pid * 1009 + (Date.now() % 1e6)) >>> 0;
console.log(`seed ${seed}`);

// The mock rolls its dice with Math.random.
let state = seed;
Math.random = () => {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};

const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 5 });
const KEY = "sk-interop-0123456789";
const wires = {
  chat: { model: "deepseek/deepseek-v4-flash", env: (url) => ({ DEEPSEEK_API_KEY: KEY, DEEPSEEK_BASE_URL: `${url}/v1` }) },
  responses: {
    model: "gpt/gpt-5.5",
    env: () => ({ GPT_KEY: KEY }),
    config: (url) => `[providers.gpt]\nbase_url = "${url}/v1"\napi_key_env = "GPT_KEY"\nwire = "responses"\nmodels = ["gpt-5.5"]\n`,
  },
  messages: { model: "anthropic/claude-sonnet-5-5", env: (url) => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url }) },
};

const textOf = (m) => (typeof m.content === "string" ? m.content : (m.content ?? []).map((p) => p.text ?? "").join(""));

// promptsOf are the prompts in a message. The Messages wire has those of turns
// that failed in one message with the next.
const promptsOf = (text) => text.match(/(say|work|cut) \w+;/g) ?? [];

// ask is the prompt that a request answers, and whether its tools have run.
function ask(request) {
  const messages = request.messages ?? [];
  const at = messages.findLastIndex((m) => m.role === "user" && promptsOf(textOf(m)).length > 0);
  if (at < 0) return { verb: "" };
  const [verb, n] = promptsOf(textOf(messages[at])).at(-1).slice(0, -1).split(" ");
  return { verb, n, ran: messages.slice(at).some((m) => m.role === "tool") };
}

const on = (want, answer, options) => mock.on({ predicate: (r) => want(ask(r)) }, (r) => answer(ask(r).n), options);
// The mock cuts text between UTF-16 units, so there is nothing outside the BMP.
const saying = (n) => `said ${n}: “Grüße” & <ok> \u2603 \u2028.`;
on((a) => a.verb === "say", (n) => ({ content: saying(n), reasoning: `They want ${n}.` }));
on((a) => a.verb === "work" && a.ran, (n) => ({ content: `worked ${n}.` }));
on((a) => a.verb === "work", (n) => ({
  content: `Looking at ${n}. `,
  reasoning: `Two files for ${n}.`,
  toolCalls: ["a", "b"].map((f) => ({ id: `call_${n}_${f}`, name: "read", arguments: JSON.stringify({ file_path: `${f}.txt` }) })),
}));
on((a) => a.verb === "cut", (n) => ({ content: `This is cut ${n} before it is whole, in the middle of a long sentence.` }), { truncateAfterChunks: 9, latency: 5 });
await mock.start();

// whole is the text of a turn that goes well.
const whole = (p) => {
  const [verb, n] = p.split(" ");
  return verb === "say" ? saying(n) : `Looking at ${n}. worked ${n}.`;
};

let failed = 0;
async function check(name, wire, body) {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "acp-wires-")));
  const home = path.join(dir, "home");
  const cwd = path.join(dir, "work");
  fs.mkdirSync(home);
  fs.mkdirSync(cwd);
  for (const f of ["a", "b"]) fs.writeFileSync(path.join(cwd, `${f}.txt`), `content of ${f}\n`);
  const env = { PATH: process.env.PATH, HOME: home, TERM: "dumb", ...wire.env(mock.url) };
  const args = ["serve", "--model", wire.model];
  if (wire.config) {
    const file = path.join(dir, "config.toml");
    fs.writeFileSync(file, wire.config(mock.url));
    env.ACP_AGENT_CONFIG = file;
  }
  mock.clearChaos();
  mock.clearRequests();
  const started = Date.now();
  try {
    const frames = await body(new Talk({ cwd, env }, args));
    const v = new Validator(schema);
    for (const f of frames) v.add(f);
    assert.deepEqual(v.bad, [], "frames against the schema");
    for (const f of frames) assert.ok(!f.includes(KEY), "a key is on the wire");
    console.log(`ok   ${name}: ${v.ok} frames valid, ${Date.now() - started} ms`);
  } catch (err) {
    failed++;
    console.log(`FAIL ${name}\n${String(err.stack ?? err).replaceAll(/^/gm, "     ")}`);
  } finally {
    fs.rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

const said = (updates, kind = "agent_message_chunk") => updates.filter((u) => u.sessionUpdate === kind).map((u) => u.content.text).join("");

// Talk is one session, over as many processes as it takes.
class Talk {
  prompts = [];
  shown = ""; // all that the client was shown of answers
  frames = [];

  constructor(options, args) {
    this.options = options;
    this.args = args;
  }

  // connect starts a process and has body talk to it.
  async connect(body) {
    const got = await withSDK([agent, ...this.args], this.options, async (ctx, seen, M) => {
      this.ctx = ctx;
      this.seen = seen;
      this.M = M;
      await ctx.request(M.agent.initialize, { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: "wires", version: "1.0.0" } });
      const where = { cwd: this.options.cwd, mcpServers: [] };
      if (this.id) {
        await ctx.request(M.agent.session.load, { sessionId: this.id, ...where });
        assert.equal(said(seen), this.shown, "the replay");
      } else {
        this.id = (await ctx.request(M.agent.session.new, where)).sessionId;
      }
      await body();
    });
    assert.equal(got.code, 0, `exit code; stderr: ${got.stderr}`);
    this.frames.push(...got.frames);
  }

  // prompt returns the error of a turn, or nothing. A turn that goes well was
  // shown in full and once.
  async prompt(text) {
    this.prompts.push(`${text};`);
    const from = this.seen.length;
    let error;
    try {
      const r = await this.ctx.request(this.M.agent.session.prompt, { sessionId: this.id, prompt: [{ type: "text", text: `${text};` }] });
      assert.equal(r.stopReason, "end_turn", text);
    } catch (err) {
      if (err.code === undefined) throw err;
      error = err;
    }
    const updates = this.seen.slice(from);
    this.shown += said(updates);
    if (!error) {
      assert.equal(said(updates), whole(text), `what was shown of ${text}`);
      return undefined;
    }
    assert.ok(error.data?.kind, `the error of ${text} has no kind: ${error.message} ${JSON.stringify(error.data)}`);
    assert.ok(whole(text).startsWith(said(updates)) || text.startsWith("cut "), `what was shown of ${text}: ${said(updates)}`);
    return error;
  }

  // compare holds the log against what was said and what the model was sent.
  compare() {
    const run = (...args) => execFileSync(agent, args, { ...this.options, encoding: "utf8" });
    run("sessions", "verify", this.id);
    const messages = run("sessions", "show", this.id, "--transcript", "--json").split("\n").filter(Boolean).map((l) => JSON.parse(l)).flat();
    const users = (list) => list.filter((m) => m.role === "user").flatMap((m) => promptsOf(textOf(m)));
    assert.deepEqual(users(messages), this.prompts, "the prompts in the log");
    assert.deepEqual(users(mock.getRequests().at(-1).body.messages), this.prompts, "the prompts that the model was sent");
    const texts = messages.filter((m) => m.role === "assistant").flatMap((m) => m.content.filter((b) => b.type === "text").map((b) => b.text));
    assert.equal(texts.join(""), this.shown, "the answers in the log");
  }
}

for (const [name, wire] of Object.entries(wires)) {
  await check(`${name}: the turn script`, wire, async (talk) => {
    await talk.connect(async () => {
      assert.equal(await talk.prompt("say one"), undefined);
      assert.equal(said(talk.seen, "agent_thought_chunk"), "They want one.", "the thought");
      assert.equal(await talk.prompt("work two"), undefined);
      const done = talk.seen.filter((u) => u.sessionUpdate === "tool_call_update" && u.status === "completed").map((u) => u.toolCallId);
      assert.deepEqual([...new Set(done)].sort(), ["call_two_a", "call_two_b"], "both tools");
      mock.nextRequestError(500, { message: "broken on purpose" });
      assert.equal(await talk.prompt("say three"), undefined, "a 500 is tried again");
      mock.nextRequestError(400, { message: "no such thing", type: "invalid_request_error" });
      const bad = await talk.prompt("say four");
      assert.equal(bad?.data.status, 400);
      assert.equal(bad.data.retryable, false);
      const cut = await talk.prompt("cut five");
      assert.equal(cut?.data.kind, "stream_closed", cut?.message);
      assert.equal(await talk.prompt("say six"), undefined, "after the cut");
    });
    await talk.connect(async () => {
      assert.equal(await talk.prompt("work seven"), undefined, "after the restart");
    });
    talk.compare();
    return talk.frames;
  });

  const modes = { 500: { dropRate: 0.3 }, "malformed JSON": { malformedRate: 0.3 }, disconnect: { disconnectRate: 0.3 }, 429: { rateLimitRate: 0.3 } };
  modes.all = { dropRate: 0.08, malformedRate: 0.08, disconnectRate: 0.08, rateLimitRate: 0.08 };
  for (const [mode, rates] of Object.entries(modes)) {
    await check(`${name}: ${mode} at 30 %`, wire, async (talk) => {
      await talk.connect(async () => {
        mock.setChaos(rates);
        for (const p of ["say c1", "work c2", "say c3", "work c4"]) await talk.prompt(p);
      });
      await talk.connect(async () => {
        for (const p of ["work c5", "say c6"]) await talk.prompt(p);
        mock.clearChaos();
        assert.equal(await talk.prompt("say last"), undefined, "after the chaos");
      });
      talk.compare();
      return talk.frames;
    });
  }
}

await mock.stop();
console.log(failed ? `${failed} failed` : "all passed");
process.exit(failed ? 1 : 0);
