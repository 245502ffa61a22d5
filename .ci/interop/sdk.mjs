// The agent as an editor of the TypeScript SDK sees it, method by method.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { ALL, script, withEditor } from "./editor.mjs";
import { KEY, code, text, until } from "./harness.mjs";
import { takeRequests } from "./model.mjs";
import { cancels, commands, content, ends, permissions, settings, turns } from "./turns.mjs";
import { auth, forms, servers, services } from "./services.mjs";

export async function sdk(h, mock) {
  const deepseek = { DEEPSEEK_API_KEY: KEY, DEEPSEEK_BASE_URL: `${mock.url}/v1` };
  const openai = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${mock.url}/v1` };
  // edit(name, caps, use) is a check with one agent process.
  const edit = (name, caps, use, more = {}) =>
    h.check(`editor: ${name}`, more.env ?? deepseek, async (at) => {
      takeRequests(mock);
      at.agent = h.agent;
      if (more.config) {
        fs.mkdirSync(path.join(at.home, ".config", "acp-agent"), { recursive: true });
        fs.writeFileSync(path.join(at.home, ".config", "acp-agent", "config.toml"), more.config);
      }
      const options = { ...at.options, caps, args: ["serve", ...(more.args ?? [])], initialize: more.initialize, ends: more.ends };
      const got = await withEditor(h.agent, options, (ed) => use(ed, at));
      await at.after?.();
      return got;
    });
  // requests are the model's, without those for other purposes.
  const requests = () => takeRequests(mock);

  await capabilities(edit);
  await setup(h, edit, deepseek, requests);
  await lists(edit);
  await restored(h, deepseek, mock);
  await settings(edit, requests);
  await permissions(edit);
  await cancels(edit);
  await ends(edit);
  await content(edit, openai, requests);
  await commands(edit, requests);
  await turns(edit, openai, requests);
  await services(edit);
  await forms(edit, requests);
  await servers(edit, requests);
  await auth(edit);
}

const system = (request) => request.messages.filter((m) => m.role === "system").map((m) => m.content.text ?? m.content).join("\n");

async function capabilities(edit) {
  const combinations = {
    none: {},
    "null and empty": { fs: null, terminal: false, elicitation: {}, session: null, plan: null },
    fs: { fs: ALL.fs },
    "reading only": { fs: { readTextFile: true } },
    "writing only": { fs: { writeTextFile: true } },
    terminal: { terminal: true },
    "notices and compaction": { session: { notices: {}, compaction: {} } },
    forms: { elicitation: { form: {} } },
    "url forms only": { elicitation: { url: {} } },
    plan: { plan: {} },
    all: ALL,
  };
  for (const [name, caps] of Object.entries(combinations)) {
    await edit(`client capabilities: ${name}`, caps, async (ed, at) => {
      assert.equal(ed.hello.protocolVersion, 1);
      assert.equal(ed.hello.authMethods.some((m) => m.type === "terminal"), !!caps.auth?.terminal);
      fs.writeFileSync(path.join(at.cwd, "in.txt"), "one\ntwo\n");
      const id = await ed.open();
      const ask = { questions: [{ question: "Which colour?", header: "Colour", options: [{ label: "red" }, { label: "blue" }] }] };
      const stop = await ed.run(
        id,
        { think: "First the plan.", call: ["todo_write", { todos: [{ content: "read", status: "in_progress" }, { content: "write", status: "pending" }] }] },
        { call: ["read", { file_path: "in.txt" }] },
        { text: "Now both.", call: [["write", { file_path: "out.txt", content: "made\n" }], ["edit", { file_path: "in.txt", old_string: "two", new_string: "2" }]] },
        { call: ["bash", { command: "printf '%s ' a b; echo c; pwd" }] },
        { call: ["ask_user", ask] },
        { call: ["todo_write", { todos: [{ content: "read", status: "completed" }, { content: "write", status: "completed" }] }] },
        { text: "All is done." },
      );
      assert.equal(stop, "end_turn");
      assert.ok(ed.said(id).endsWith("All is done."));
      assert.equal(fs.readFileSync(path.join(at.cwd, "out.txt"), "utf8"), "made\n");
      assert.equal(fs.readFileSync(path.join(at.cwd, "in.txt"), "utf8"), "one\n2\n");
      const calls = ed.calls(id);
      assert.deepEqual(calls.map((c) => [c.name, c.status]), [
        ["todo_write", "completed"], ["read", "completed"], ["write", "completed"], ["edit", "completed"], ["bash", "completed"],
        ["ask_user", caps.elicitation?.form ? "completed" : "failed"], ["todo_write", "completed"],
      ]);
      assert.deepEqual(calls.map((c) => c.kind ?? "other"), ["think", "read", "edit", "edit", "execute", "other", "think"]);
      const diff = calls[3].content.find((c) => c.type === "diff");
      assert.equal(diff.path, path.join(at.cwd, "in.txt"));
      assert.ok(diff.oldText.includes("two") && diff.newText.includes("2"));
      assert.equal(calls[2].content.find((c) => c.type === "diff").oldText ?? null, null, "oldText of a new file");
      assert.equal(ed.asks("fs/read_text_file").length > 0, !!caps.fs?.readTextFile, "reading through the client");
      assert.equal(ed.asks("fs/write_text_file").length > 0, !!caps.fs?.writeTextFile, "writing through the client");
      assert.equal(ed.asks("terminal/create").length > 0, !!caps.terminal, "a terminal of the client");
      assert.equal(ed.asks("elicitation/create").length, caps.elicitation?.form ? 1 : 0);
      const plans = ed.updates(id).filter((u) => u.sessionUpdate.startsWith("plan")).map((u) => u.entries ?? u.plan.entries);
      assert.deepEqual(plans.map((p) => p.map((e) => e.status)), [["in_progress", "pending"], ["completed", "completed"]]);
      const bash = calls[4];
      if (caps.terminal) assert.equal(bash.content[0].type, "terminal");
      else assert.ok(JSON.stringify(bash.content).includes(`a b c\\n${at.cwd}`), JSON.stringify(bash.content));
    });
  }
}

async function setup(h, edit, env, requests) {
  await edit("versions: the agent answers with its own", {}, async (ed) => {
    for (const protocolVersion of [0, 2, 65535]) assert.equal((await ed.initialize({ protocolVersion })).protocolVersion, 1);
  });

  await edit("directories: what cannot be used is refused", {}, async (ed, at) => {
    for (const cwd of ["relative", "", path.join(at.dir, "missing"), "/etc/hostname"]) await assert.rejects(ed.new({ cwd }), code(-32602));
    for (const dirs of [["relative"], [""], [path.join(at.dir, "missing")]]) await assert.rejects(ed.new({ additionalDirectories: dirs }), code(-32602));
    assert.deepEqual((await ed.list()).sessions, []);
  });

  await edit("additional directories are roots, and only while they are named", {}, async (ed, at) => {
    const [extra, other] = ["extra", "other"].map((n) => path.join(at.dir, n));
    for (const d of [extra, other]) {
      fs.mkdirSync(d);
      fs.writeFileSync(path.join(d, "f.txt"), `of ${path.basename(d)}\n`);
    }
    const look = (d) => ({ call: ["read", { file_path: path.join(d, "f.txt") }] });
    const id = await ed.open({ additionalDirectories: [extra] });
    await ed.run(id, look(extra), look(other));
    assert.deepEqual(ed.calls(id).map((c) => c.status), ["completed", "failed"]);
    assert.deepEqual((await ed.list()).sessions[0].additionalDirectories, [extra]);
    await ed.close(id);
    let mark = ed.mark();
    await ed.resume(id);
    await ed.run(id, look(extra));
    assert.deepEqual(ed.calls(id, mark).map((c) => c.status), ["failed"], "a root that was not named again");
    await ed.close(id);
    mark = ed.mark();
    await ed.resume(id, { additionalDirectories: [other, extra] });
    await ed.run(id, look(extra), look(other));
    assert.deepEqual(ed.calls(id, mark).map((c) => c.status), ["completed", "completed"]);
  });

  await edit("system prompts: append and override, again at each start", {}, async (ed) => {
    const words = (mode, ...t) => ({ systemPrompt: { mode, content: t.map(text) } });
    const sent = async (id) => {
      requests();
      await ed.run(id, { text: "ok" });
      return system(requests().at(-1));
    };
    const plain = await sent(await ed.open());
    const id = await ed.open(words("append", "Speak of OWLS.", "Twice."));
    const appended = await sent(id);
    assert.ok(appended.startsWith(plain.slice(0, 200)) && appended.includes("Speak of OWLS.") && appended.includes("Twice."));
    await ed.close(id);
    await ed.resume(id, words("append", "Speak of CATS."));
    const again = await sent(id);
    assert.ok(again.includes("CATS") && !again.includes("OWLS"), again.slice(-200));
    await ed.close(id);
    await ed.load(id);
    assert.ok(!/CATS|OWLS/.test(await sent(id)), "a prompt that was not sent again");
    const over = await ed.open(words("override", "You are a teapot."));
    assert.equal((await sent(over)).trim(), "You are a teapot.");
    const n = (await ed.list()).sessions.length;
    await assert.rejects(ed.new(words("replace", "x")), code(-32602));
    await assert.rejects(ed.new(words("append")), code(-32602));
    await assert.rejects(ed.new({ systemPrompt: { mode: "append", content: [{ type: "image", data: "aGk=", mimeType: "image/png" }] } }), code(-32602));
    assert.equal((await ed.list()).sessions.length, n, "a refused session is none");
  });

  await edit("unknown sessions are -32002 with their id", {}, async (ed) => {
    const gone = (e) => (code(-32002)(e), e.data?.sessionId === "nope" || assert.fail(JSON.stringify(e.data)));
    await assert.rejects(ed.prompt("nope", "x"), gone);
    await assert.rejects(ed.load("nope"), gone);
    await assert.rejects(ed.resume("nope"), gone);
    await assert.rejects(ed.mode("nope", "plan"), gone);
    await assert.rejects(ed.set("nope", "mode", "plan"), gone);
    await assert.rejects(ed.steer("nope", "x"), gone);
    await ed.cancel("nope");
    for (const id of ["../../etc/passwd", "a/b", "", "x".repeat(5000), "\u0000"]) await assert.rejects(ed.load(id), (e) => [-32002, -32602].includes(e.code) || assert.fail(`${e.code} ${e.message}`));
    await assert.rejects(ed.ctx.request("session/nonsense", {}), code(-32601));
    await assert.rejects(ed.ctx.request("session/fork", { sessionId: "nope", cwd: "/", mcpServers: [] }), code(-32601));
  });

  await h.check("editor: sessions are apart, and run side by side", env, (at) =>
    withEditor(h.agent, { ...at.options, caps: {}, args: ["serve"] }, async (ed) => {
      const dirs = [0, 1, 2, 3].map((i) => path.join(at.dir, `d${i}`));
      for (const d of dirs) fs.mkdirSync(d);
      const ids = await Promise.all(dirs.map((cwd) => ed.open({ cwd })));
      assert.equal(new Set(ids).size, 4);
      await ed.mode(ids[1], "bypassPermissions");
      const runs = ids.map((id, i) => ed.run(id, { call: ["bash", { command: `echo ${i} > own; sleep 0.3` }] }, { text: `I am ${i}`, slow: true }));
      await until("the first text of session 2", () => ed.said(ids[2]) !== "");
      await ed.cancel(ids[2]);
      assert.deepEqual(await Promise.all(runs), ["end_turn", "end_turn", "cancelled", "end_turn"]);
      dirs.forEach((d, i) => assert.equal(fs.readFileSync(path.join(d, "own"), "utf8"), `${i}\n`));
      assert.equal(ed.asks("session/request_permission").length, 3, "the mode of one session is not that of another");
      for (const i of [0, 1, 3]) assert.equal(ed.said(ids[i]), `I am ${i}`);
    }),
  );
}

async function lists(edit) {
  await edit("session/list: pages, filter, titles", {}, async (ed, at) => {
    assert.deepEqual(await ed.list(), { sessions: [] });
    const other = path.join(at.dir, "other");
    fs.mkdirSync(other);
    const made = new Set();
    for (let i = 0; i < 54; i++) made.add(await ed.open());
    const strange = await ed.open({ cwd: other });
    const named = [...made][7];
    await ed.prompt(named, "greet");
    const all = [];
    let cursor;
    let pages = 0;
    do {
      const page = await ed.list(cursor ? { cursor } : {});
      all.push(...page.sessions);
      cursor = page.nextCursor;
      // A session more between two pages: no gap, no double.
      if (pages++ === 0) await ed.open({ cwd: other });
    } while (cursor);
    assert.ok(pages > 1, "one page");
    assert.equal(new Set(all.map((s) => s.sessionId)).size, all.length, "doubles");
    assert.deepEqual(new Set(all.map((s) => s.sessionId)), new Set([...made, strange]));
    assert.equal(all[0].sessionId, named, "the last used first");
    assert.ok(all[0].title, "a title");
    for (const s of all) {
      assert.ok(path.isAbsolute(s.cwd));
      assert.ok(!Number.isNaN(Date.parse(s.updatedAt)), s.updatedAt);
    }
    const here = await ed.list({ cwd: other });
    assert.equal(here.sessions.length, 2);
    assert.ok(here.sessions.every((s) => s.cwd === other));
    assert.deepEqual((await ed.list({ cwd: path.join(at.dir, "nowhere") })).sessions, []);
    assert.equal((await ed.list({ cwd: null, cursor: null })).sessions.length, 50);
    await assert.rejects(ed.list({ cursor: "junk" }), code(-32602));
  });

  await edit("session/close and session/delete", {}, async (ed) => {
    const id = await ed.open();
    const open = ed.run(id, { hang: true });
    await until("the turn has begun", () => ed.updates(id).length >= 1);
    const order = [];
    const stop = open.then((r) => (order.push("prompt"), r));
    await ed.close(id).then(() => order.push("close"));
    assert.equal(await stop, "cancelled");
    assert.deepEqual(order, ["prompt", "close"]);
    await assert.rejects(ed.prompt(id, "x"), code(-32002));
    await ed.close(id);
    assert.deepEqual((await ed.list()).sessions.map((s) => s.sessionId), [id], "a closed session is still listed");
    await ed.delete(id);
    assert.deepEqual((await ed.list()).sessions, []);
    await ed.delete(id);
    await ed.delete("never-there");
    await assert.rejects(ed.load(id), code(-32002));
    const live = await ed.open();
    const running = ed.run(live, { text: "on and on and on and on", slow: true });
    await until("text", () => ed.said(live) !== "");
    await ed.delete(live);
    assert.equal(await running, "cancelled");
    assert.deepEqual((await ed.list()).sessions, []);
  });
}

// shown is what a client has on its display after updates: messages whole, tool
// calls in their last state, one plan.
function shown(updates) {
  const out = [];
  const at = new Map();
  for (const u of updates) {
    const kind = u.sessionUpdate;
    if (kind.endsWith("_chunk") && !kind.startsWith("compaction")) {
      if (u._meta?.["acp-agent/notice"]) continue;
      const last = out.at(-1);
      if (last?.kind === kind && last.id === u.messageId && last.content.at(-1).type === "text" && u.content.type === "text") last.content.at(-1).text += u.content.text;
      else if (last?.kind === kind && last.id === u.messageId) last.content.push({ ...u.content });
      else out.push({ kind, id: u.messageId, content: [{ ...u.content }] });
    } else if (kind === "tool_call") {
      const { sessionUpdate, ...call } = u;
      at.set(u.toolCallId, out.push({ kind, ...call }) - 1);
    } else if (kind === "tool_call_update") {
      const { sessionUpdate, ...call } = u;
      for (const [k, v] of Object.entries(call)) if (v != null) out[at.get(u.toolCallId)][k] = v;
    } else if (kind === "plan" || kind === "plan_update") {
      const old = out.findIndex((e) => e.kind === "plan");
      if (old >= 0) out[old] = { kind: "gone" };
      out.push({ kind: "plan", entries: u.entries ?? u.plan.entries });
    } else if (kind === "compaction_update") {
      if (u.status !== "completed") continue;
      out.push({ kind, id: u.compactionId, summary: u.summary });
    }
  }
  return out.filter((e) => e.kind !== "gone");
}

async function restored(h, env, mock) {
  for (const [name, caps] of [["bare", {}], ["with every capability", ALL]]) {
    await h.check(`editor: session/load shows what was shown live, ${name}`, env, async (at) => {
      takeRequests(mock);
      let id;
      let live;
      let settings;
      const prompts = [];
      const say = (ed, content) => (prompts.push(content), ed.prompt(id, content));
      const first = await withEditor(h.agent, { ...at.options, caps, args: ["serve"] }, async (ed) => {
        ed.form = () => ({ action: "accept", content: { q1: "red" } });
        fs.writeFileSync(path.join(at.cwd, "in.txt"), "one\ntwo\n");
        id = await ed.open();
        await say(ed, [text(script({ think: "Hm.\n", text: "Reading. ", call: ["read", { file_path: "in.txt" }] }, { text: "Read: \u2028 \u{1f600} <b>&" })), { type: "resource_link", uri: pathToFileURL(path.join(at.cwd, "in.txt")).href, name: "in.txt" }]);
        await say(ed, [text(script({ call: [["edit", { file_path: "in.txt", old_string: "two", new_string: "2" }], ["bash", { command: "echo out; echo err >&2; exit 3" }]] }, { call: ["write", { file_path: "new.txt", content: "n\n" }] }, { text: "Written." })), { type: "resource", resource: { uri: "file:///x/y.txt", text: "embedded", mimeType: "text/plain" } }]);
        ed.permission = () => "reject_once";
        await say(ed, script({ call: ["bash", { command: "echo never" }] }, { call: ["nonsense", { a: 1 }] }, { call: ["read", "{broken"] }, { text: "Refused." }));
        ed.permission = () => "allow_once";
        await say(ed, script({ call: ["todo_write", { todos: [{ content: "a", status: "pending" }] }] }, { call: ["todo_write", { todos: [{ content: "a", status: "completed" }] }] }, { text: "Planned." }));
        const cut = say(ed, script({ text: "This goes on and on and on and is cut", slow: true }));
        await until("text", () => ed.said(id).includes("This goes on"));
        await ed.cancel(id);
        assert.equal((await cut).stopReason, "cancelled");
        await ed.mode(id, "acceptEdits");
        await ed.set(id, "effort", "high");
        settings = await ed.set(id, "mode", "acceptEdits");
        // The prompts are not echoed live: they are put where they belong.
        live = ed.updates(id);
        await ed.close(id);
        const mark = ed.mark();
        const res = await ed.load(id);
        live.load = shown(ed.updates(id, mark));
        assert.deepEqual(res.configOptions, settings);
        assert.equal(res.modes.currentModeId, "acceptEdits");
      });
      const second = await withEditor(h.agent, { ...at.options, caps, args: ["serve"] }, async (ed) => {
        let replay;
        const res = await ed.load(id).then((r) => ((replay = ed.updates(id)), r));
        assert.deepEqual(res.configOptions, settings);
        assert.equal(res.modes.currentModeId, "acceptEdits");
        const again = shown(replay);
        assert.deepEqual(again, live.load, "a load in another process");
        const users = again.filter((e) => e.kind === "user_message_chunk");
        assert.deepEqual(users.map((e) => e.content), prompts.map((p) => (typeof p === "string" ? [text(p)] : p)), "the prompts");
        assert.deepEqual(without(again, "user_message_chunk"), without(noTerminals(shown(live), again), "user_message_chunk"), "replay and live");
        takeRequests(mock);
        assert.equal(await ed.run(id, { text: "Still here." }), "end_turn");
        const sent = JSON.stringify(takeRequests(mock).at(-1).messages);
        for (const w of ["Written.", "Refused.", "This goes on", "embedded"]) assert.ok(sent.includes(w), `${w} in the history`);
        // Loaded again while it is live: attached to or refused, never doubled.
        await ed.load(id);
        assert.equal((await ed.list()).sessions.length, 1);
      });
      const third = await withEditor(h.agent, { ...at.options, caps, args: ["serve"] }, async (ed) => {
        const res = await ed.resume(id);
        assert.deepEqual(res.configOptions, settings);
        assert.deepEqual(ed.updates(id).filter((u) => /chunk|tool_call|plan/.test(u.sessionUpdate)), []);
        takeRequests(mock);
        assert.equal(await ed.run(id, { text: "And here." }), "end_turn");
        assert.ok(JSON.stringify(takeRequests(mock).at(-1).messages).includes("Still here."));
      });
      return { logs: [first.frames, second.frames, third.frames] };
    });
  }
}

// noTerminals puts the text of a replay in the place of a terminal that was shown
// live: another client knows no such terminal.
function noTerminals(live, replay) {
  return live.map((e) => {
    if (!e.content?.some((c) => c.type === "terminal")) return e;
    const later = replay.find((r) => r.toolCallId === e.toolCallId).content;
    assert.ok(later.some((c) => c.type === "content" && c.content.text.includes("out\nerr\n")), JSON.stringify(later));
    return { ...e, content: later };
  });
}

const without = (list, kind) => list.filter((e) => e.kind !== kind);
