// What the suites share: a clean place for each check, and the judge of every
// frame.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { breaches } from "./rules.mjs";
import { Validator } from "./validate.mjs";

// These parts are stable since a later release than the copied schema.json; the
// draft beside it has them.
const newest = new Set(["plan_update", "plan_removed", "subagent_update", "session_message", "session_message_chunk"]);

export const KEY = "sk-interop-0123456789";

export class Harness {
  // only, a regular expression, picks checks by their names.
  constructor(agent, schema, only) {
    this.agent = agent;
    this.schemas = { stable: schema, draft: path.join(path.dirname(schema), "schema.unstable.json") };
    this.only = only && new RegExp(only);
    this.failed = 0;
    this.passed = 0;
  }

  // place makes a home and a working directory.
  place(env) {
    const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "acp-interop-")));
    const home = path.join(dir, "home");
    const cwd = path.join(dir, "work");
    fs.mkdirSync(home);
    fs.mkdirSync(cwd);
    return { dir, home, cwd, options: { cwd, env: { PATH: process.env.PATH, HOME: home, TERM: "dumb", ...env } } };
  }

  // check runs body(place), which returns {frames} or {logs: [frames…]}, a list
  // for each connection. A frame is its text, or {from, text}.
  async check(name, env, body) {
    if (this.only && !this.only.test(name)) return;
    const at = this.place(env);
    const started = Date.now();
    try {
      const got = await body(at);
      let n = 0;
      for (const frames of got.logs ?? [got.frames]) n += this.judge(frames);
      this.passed++;
      console.log(`ok   ${name}: ${n} frames valid, ${Date.now() - started} ms`);
    } catch (err) {
      this.failed++;
      console.log(`FAIL ${name}\n${String(err.stack ?? err).replaceAll(/^/gm, "     ")}`);
    } finally {
      fs.rmSync(at.dir, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  // judge holds the frames of one connection to the schemas and the rules.
  judge(frames) {
    const texts = frames.map((f) => (typeof f === "string" ? f : f.text));
    const stable = new Validator(this.schemas.stable);
    const draft = new Validator(this.schemas.draft);
    frames.forEach((f, i) => {
      for (const v of isNewest(texts[i]) ? [draft] : [draft, stable]) {
        const n = v.bad.length;
        v.add(texts[i], f.from);
        if (f.from === "client") v.bad.length = n; // a test may well send nonsense
      }
    });
    assert.deepEqual(draft.bad, [], "frames against schema.unstable.json");
    assert.deepEqual(stable.bad, [], "frames against schema.json");
    assert.ok(stable.ok > 0, "no frame was checked");
    for (const text of texts) assert.ok(!text.includes("sk-interop-"), "a key is on the wire");
    if (frames.every((f) => f.from)) assert.deepEqual(breaches(frames), [], "the protocol's rules");
    return draft.ok;
  }
}

function isNewest(text) {
  try {
    return newest.has(JSON.parse(text).params?.update?.sessionUpdate);
  } catch {
    return false;
  }
}

// packageFile is a file of an installed package.
export function packageFile(name, ...rest) {
  const require = createRequire(import.meta.url);
  for (const dir of require.resolve.paths(name)) {
    const file = path.join(dir, name, ...rest);
    if (fs.existsSync(file)) return file;
  }
  throw new Error(`${path.join(name, ...rest)} is not installed`);
}

// until waits for something that becomes true soon. Only a failure waits long.
export async function until(what, test, ms = 30_000) {
  const end = Date.now() + ms;
  for (;;) {
    const got = await test();
    if (got) return got;
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((r) => setTimeout(r, 10));
  }
}

// alive reports whether a process of this id still runs; a zombie does not.
export function alive(pid) {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return process.platform !== "linux";
  }
}

// code expects an error of this number.
export const code = (n) => (e) => e.code === n || assert.fail(`error ${e.code} (${e.message}) instead of ${n}`);

export const text = (t) => ({ type: "text", text: t });
