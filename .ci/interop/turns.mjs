// What happens in a turn: modes, permissions, cancels, content, commands.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { ALL, script } from "./editor.mjs";
import { alive, code, text, until } from "./harness.mjs";
import { lastUser } from "./model.mjs";

const bash = (command, more) => ({ call: ["bash", { command, ...more }] });
const option = (options, id) => options.find((o) => o.id === id);

export async function settings(edit, requests) {
  await edit("modes and options, in step", {}, async (ed) => {
    const s = await ed.new();
    const id = s.sessionId;
    assert.equal(s.modes.currentModeId, "default");
    assert.deepEqual(option(s.configOptions, "mode").options.map((o) => o.value), s.modes.availableModes.map((m) => m.id));
    for (const o of s.configOptions) assert.ok(o.options.some((x) => x.value === o.currentValue), `the value of ${o.id}`);
    const of = (mark, kind) => ed.updates(id, mark).filter((u) => u.sessionUpdate === kind);
    for (const mode of s.modes.availableModes.map((m) => m.id).reverse()) {
      const mark = ed.mark();
      await ed.mode(id, mode);
      assert.deepEqual(of(mark, "current_mode_update").map((u) => u.currentModeId), [mode]);
      assert.deepEqual(of(mark, "config_option_update").map((u) => option(u.configOptions, "mode").currentValue), [mode]);
    }
    let mark = ed.mark();
    const all = await ed.set(id, "mode", "plan");
    assert.equal(option(all, "mode").currentValue, "plan");
    assert.deepEqual(all.map((o) => o.id), s.configOptions.map((o) => o.id), "the complete list");
    assert.deepEqual(of(mark, "current_mode_update").map((u) => u.currentModeId), ["plan"]);
    mark = ed.mark();
    assert.deepEqual(await ed.set(id, "mode", "plan"), all, "setting it again");
    await ed.mode(id, "plan");
    assert.equal(ed.updates(id, mark).length, 0, "updates of no change");
    await assert.rejects(ed.mode(id, "nope"), code(-32602));
    await assert.rejects(ed.set(id, "nope", "x"), code(-32602));
    await assert.rejects(ed.set(id, "mode", "nope"), code(-32602));
    await assert.rejects(ed.set(id, "mode", ""), code(-32602));
    await assert.rejects(ed.ctx.request("session/set_config_option", { sessionId: id, configId: "mode", type: "boolean", value: true }), code(-32602));
    // The effort follows the model.
    const models = option(all, "model").options.map((o) => o.value);
    assert.equal(option(await ed.set(id, "effort", "max"), "effort").currentValue, "max");
    const next = await ed.set(id, "model", models.find((m) => m !== option(all, "model").currentValue));
    const effort = option(next, "effort");
    assert.ok(!effort || effort.options.some((o) => o.value === effort.currentValue));
    await ed.mode(id, "default");
    requests();
    await ed.run(id, { text: "ok" });
    assert.equal(`deepseek/${requests().at(-1).model}`, option(next, "model").currentValue, "the model that is asked");
  });

  await edit("modes are enforced, also when set in the middle of a turn", {}, async (ed, at) => {
    const id = await ed.open();
    await ed.mode(id, "plan");
    await ed.run(id, { call: ["write", { file_path: "a", content: "a" }] }, bash("touch b"));
    assert.deepEqual(ed.calls(id).map((c) => c.status), ["failed", "failed"]);
    assert.equal(ed.asks("session/request_permission").length, 0);
    await ed.mode(id, "acceptEdits");
    let mark = ed.mark();
    await ed.run(id, { call: ["write", { file_path: "a", content: "a" }] });
    assert.equal(ed.asks("session/request_permission", mark).length, 0);
    await ed.run(id, bash("touch b"));
    assert.equal(ed.asks("session/request_permission", mark).length, 1, "commands are asked for");
    await ed.mode(id, "default");
    mark = ed.mark();
    ed.permission = async () => {
      await ed.mode(id, "bypassPermissions");
      return "allow_once";
    };
    await ed.run(id, bash("touch c"), bash("touch d"), { call: ["write", { file_path: "a", content: "2" }] });
    assert.equal(ed.asks("session/request_permission", mark).length, 1, "bypass from the second call on");
    assert.deepEqual(fs.readdirSync(at.cwd).sort(), ["a", "b", "c", "d"]);
  });
}

export async function permissions(edit) {
  await edit("permissions: every answer", {}, async (ed, at) => {
    const id = await ed.open();
    const file = (n) => path.join(at.cwd, n);
    const step = async (answer, command) => {
      const mark = ed.mark();
      ed.permission = typeof answer === "function" ? answer : () => answer;
      const stop = await ed.run(id, bash(command));
      assert.equal(stop, "end_turn", String(answer));
      const [call] = ed.calls(id, mark);
      return { asked: ed.asks("session/request_permission", mark), status: call.status };
    };
    const once = await step("allow_once", "touch once");
    assert.equal(once.status, "completed");
    const [q] = once.asked;
    assert.deepEqual(q.options.map((o) => o.kind).sort(), ["allow_always", "allow_once", "reject_always", "reject_once"], "one option a kind");
    assert.equal(q.toolCall.rawInput.command, "touch once");
    assert.equal((await step("allow_once", "touch once")).asked.length, 1, "once is once");
    const refusals = {
      reject_once: "reject_once",
      cancelled: "cancelled",
      "an unknown option": "no-such-option",
      "an unknown outcome": () => ({ outcome: { outcome: "maybe" } }),
      "an empty answer": () => ({}),
      "an error": () => {
        throw new Error("the dialog broke");
      },
    };
    for (const [name, answer] of Object.entries(refusals)) {
      const got = await step(answer, `touch refused`);
      assert.deepEqual([got.asked.length, got.status], [1, "failed"], name);
      assert.ok(!fs.existsSync(file("refused")), `${name}: it ran`);
    }
    assert.equal((await step("allow_always", "git init -q .")).status, "completed");
    assert.equal((await step("reject_once", "git init -q .")).asked.length, 0, "always is remembered");
    assert.equal((await step("reject_once", "git init -q . && touch beside")).asked.length, 1, "another command behind it is asked for");
    assert.equal((await step("reject_once", "git init -q . > redirected")).asked.length, 1, "a redirection is asked for");
    assert.ok(!fs.existsSync(file("beside")) && !fs.existsSync(file("redirected")));
    assert.equal((await step("reject_always", "rm -f once")).status, "failed");
    const again = await step("allow_once", "rm -f once");
    assert.deepEqual([again.asked.length, again.status], [0, "failed"], "never is remembered");
    assert.ok(fs.existsSync(file("once")));
    // Remembered for the session, also when it comes back; not for others.
    await ed.close(id);
    await ed.load(id);
    assert.equal((await step("reject_once", "git init -q .")).asked.length, 0, "always, after a load");
    assert.equal((await step("allow_once", "rm -f once")).status, "failed", "never, after a load");
    const other = await ed.open();
    const mark = ed.mark();
    await ed.run(other, bash("git init -q ."));
    assert.equal(ed.asks("session/request_permission", mark).length, 1, "another session");
  });

  await edit("permissions: what is shown is what is done", {}, async (ed, at) => {
    fs.writeFileSync(path.join(at.cwd, "f.txt"), "one\ntwo\nthree\n");
    const id = await ed.open();
    await ed.run(id, { call: ["read", { file_path: "f.txt" }] }, { call: ["edit", { file_path: "f.txt", old_string: "two", new_string: "2" }] });
    const [q] = ed.asks("session/request_permission");
    const diff = q.toolCall.content.find((c) => c.type === "diff");
    assert.equal(diff.path, path.join(at.cwd, "f.txt"));
    const done = ed.calls(id).at(-1).content.find((c) => c.type === "diff");
    assert.deepEqual([diff.oldText, diff.newText], [done.oldText, done.newText]);
    assert.equal(ed.calls(id).at(-1).locations[0].path, path.join(at.cwd, "f.txt"));
  });
}

export async function cancels(edit) {
  const text_ = { text: "words and words and words and words", slow: true };
  const busy = 'echo $$ > pid; echo up; sleep 100 & echo $! > child; wait';
  const pids = (at) => ["pid", "child"].map((f) => Number(fs.readFileSync(path.join(at.cwd, f), "utf8")));
  const never = (p, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  // A phase: what the turn does, how to see that it is there, what to hold after.
  const phases = {
    "before the first token": { steps: [{ hang: true }], there: () => new Promise((r) => setTimeout(r, 200, true)) },
    "in the text": { steps: [text_], there: (ed, id) => ed.said(id) },
    "in the thoughts": { steps: [{ ...text_, think: "I think and think and think and think" }], there: (ed, id) => ed.updates(id).some((u) => u.sessionUpdate === "agent_thought_chunk") },
    "in a permission question": { steps: [bash("touch ran")], set: (ed) => (ed.permission = () => new Promise((r) => (ed.answer = r))), there: (ed) => ed.asks("session/request_permission").length, cancelled: (ed) => ed.answer("cancelled"), after: (ed, id, at) => assert.ok(!fs.existsSync(path.join(at.cwd, "ran"))) },
    "in a permission question that is never answered": { steps: [bash("touch ran")], set: (ed) => (ed.permission = () => new Promise(() => {})), there: (ed) => ed.asks("session/request_permission").length, after: (ed, id, at) => assert.ok(!fs.existsSync(path.join(at.cwd, "ran"))) },
    "in a command": { steps: [bash(busy)], there: (ed, id, at) => fs.existsSync(path.join(at.cwd, "child")) && pids(at)[1], after: (ed, id, at) => until("the command's processes are gone", () => pids(at).every((p) => !alive(p))) },
    "in a command in the client's terminal": { caps: { terminal: true }, steps: [bash(busy)], there: (ed, id, at) => fs.existsSync(path.join(at.cwd, "child")) && pids(at)[1], after: async (ed, id, at) => { await until("the terminal's processes are gone", () => pids(at).every((p) => !alive(p))); assert.ok(ed.asks("terminal/kill").length === 1 && ed.asks("terminal/release").length === 1); } },
    "in one of several calls": { steps: [{ call: [["read", { file_path: "x" }], ["bash", { command: busy }], ["bash", { command: "touch ran" }]] }], there: (ed, id, at) => fs.existsSync(path.join(at.cwd, "child")) && pids(at)[1], after: (ed, id, at) => assert.ok(!fs.existsSync(path.join(at.cwd, "ran"))) },
    "in a form": { caps: { elicitation: { form: {} } }, steps: [{ call: ["ask_user", { questions: [{ question: "What?" }] }] }], set: (ed) => (ed.form = never), there: (ed) => ed.asks("elicitation/create").length },
    "in a read through the client": { caps: { fs: ALL.fs }, steps: [{ call: ["read", { file_path: "f.txt" }] }], set: (ed, at) => { fs.writeFileSync(path.join(at.cwd, "f.txt"), "x\n"); ed.readFile = never; }, there: (ed) => ed.asks("fs/read_text_file").length },
    "in a write through the client": { caps: { fs: ALL.fs }, steps: [{ call: ["write", { file_path: "f.txt", content: "x\n" }] }], set: (ed) => (ed.writeFile = never), there: (ed) => ed.asks("fs/write_text_file").length },
  };
  for (const [name, ph] of Object.entries(phases)) {
    await edit(`cancel ${name}`, ph.caps ?? {}, async (ed, at) => {
      const id = await ed.open();
      ph.set?.(ed, at);
      const open = ed.run(id, ...ph.steps);
      await until(name, () => ph.there(ed, id, at));
      const began = Date.now();
      await ed.cancel(id);
      ph.cancelled?.(ed);
      assert.equal(await open, "cancelled");
      assert.ok(Date.now() - began < 10_000, "soon");
      await ph.after?.(ed, id, at);
      ed.permission = () => "allow_once";
      assert.equal(await ed.run(id, { text: "Next." }), "end_turn");
      assert.ok(ed.said(id).endsWith("Next."));
    });
  }

  await edit("cancel with nothing running; a cancelled request", {}, async (ed) => {
    const id = await ed.open();
    await ed.run(id, { text: "One." });
    const mark = ed.mark();
    await ed.cancel(id);
    await ed.cancel(id);
    await ed.list();
    assert.equal(ed.mark(), mark, "a cancel of nothing says nothing");
    assert.equal(await ed.run(id, { text: "Two." }), "end_turn", "it is not remembered either");
    const abort = new AbortController();
    const open = ed.prompt(id, script(text_), { cancellationSignal: abort.signal });
    await until("text", () => ed.said(id, mark).includes("words"));
    abort.abort();
    const end = await open.then((r) => r.stopReason, (e) => e.code);
    assert.ok(["cancelled", -32800].includes(end), String(end));
    await ed.ctx.notify("$/cancel_request", { requestId: 999_999 });
    await ed.ctx.notify("_interop/unknown", { a: 1 });
    assert.equal(await ed.run(id, { text: "Three." }), "end_turn");
  });

  await edit("a second prompt is refused while one runs; a cancel right behind the prompt", {}, async (ed) => {
    const id = await ed.open();
    const open = ed.run(id, { text: "a slow answer, word by word", slow: true });
    await until("text", () => ed.said(id) !== "");
    await assert.rejects(ed.prompt(id, "second"), (e) => [-32600, -32602, -32603].includes(e.code) && /running|cancel/.test(e.message));
    assert.equal(await open, "end_turn");
    for (let i = 0; i < 5; i++) {
      const p = ed.run(id, { text: "never whole", slow: true });
      await ed.cancel(id);
      assert.equal(await p, "cancelled");
    }
  });
}

// ends: however the process is told to end, the prompt is answered, what was
// started is gone, and the exit is in order.
export async function ends(edit) {
  const busy = bash("echo $$ > pid; sleep 100 & echo $! > child.new; mv child.new child; wait");
  const ways = { "a hang-up": (ed) => ed.child.stdin.end(), SIGTERM: (ed) => ed.child.kill("SIGTERM"), SIGINT: (ed) => ed.child.kill("SIGINT"), SIGHUP: (ed) => ed.child.kill("SIGHUP") };
  for (const [name, end] of Object.entries(ways)) {
    for (const terminal of [false, true]) {
      if (terminal && name === "a hang-up") continue; // nobody is left to ask
      await edit(`the end in a command${terminal ? " in the client's terminal" : ""}: ${name}`, { terminal }, async (ed, at) => {
        const id = await ed.open();
        const open = ed.run(id, busy);
        await until("the command runs", () => fs.existsSync(path.join(at.cwd, "child")));
        const pids = ["pid", "child"].map((f) => Number(fs.readFileSync(path.join(at.cwd, f), "utf8")));
        end(ed);
        assert.equal(await open, "cancelled");
        assert.equal(await ed.exited, 0);
        if (terminal) assert.equal(ed.asks("terminal/release").length, 1);
        await until("the command's processes are gone", () => pids.every((p) => !alive(p)));
      }, { ends: true });
    }
  }
}

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export async function content(edit, openai, requests) {
  await edit("content: links, resources and what is not advertised", {}, async (ed, at) => {
    fs.writeFileSync(path.join(at.cwd, "linked file.txt"), "l1\nl2\nl3\n");
    const link = pathToFileURL(path.join(at.cwd, "linked file.txt")).href;
    const id = await ed.open();
    const sent = async (...blocks) => {
      requests();
      assert.equal((await ed.prompt(id, [text(script({ text: "ok" })), ...blocks])).stopReason, "end_turn");
      return JSON.stringify(requests().at(-1).messages);
    };
    assert.ok((await sent({ type: "resource_link", uri: link, name: "linked file.txt" })).includes("l1\\\\nl2\\\\nl3".replaceAll("\\\\", "\\")));
    assert.ok((await sent({ type: "resource_link", uri: "https://example.org/far", name: "far", description: "FARAWAY" })).includes("example.org/far"));
    assert.ok((await sent({ type: "resource", resource: { uri: "file:///nowhere/e.txt", mimeType: "text/plain", text: "EMBEDDED <&> text" } })).includes("EMBEDDED <&> text"));
    const blob = await sent({ type: "resource", resource: { uri: "file:///nowhere/e.bin", mimeType: "application/octet-stream", blob: "AAECAw==" } });
    assert.ok(blob.includes("e.bin"), "a blob is at least named");
    assert.ok((await sent(text(""), text("  verbatim \t "))).includes("  verbatim \\t "));
    assert.equal(ed.hello.agentCapabilities.promptCapabilities.audio ?? false, false);
    await assert.rejects(ed.prompt(id, [{ type: "audio", data: "AAAA", mimeType: "audio/wav" }]), code(-32602));
    await assert.rejects(ed.prompt(id, []), code(-32602));
    await assert.rejects(ed.ctx.request("session/prompt", { sessionId: id, prompt: [{ type: "hologram" }] }), code(-32602));
    await assert.rejects(ed.ctx.request("session/prompt", { sessionId: id }), code(-32602));
    await assert.rejects(ed.ctx.request("session/prompt", { sessionId: id, prompt: "text" }), code(-32602));
  });

  const image = (data) => ({ type: "image", data, mimeType: "image/png" });
  await edit("content: images reach a model that takes them", {}, async (ed, at) => {
    const id = await ed.open();
    requests();
    assert.equal((await ed.prompt(id, [text(script({ text: "A dot." })), image(PNG)])).stopReason, "end_turn");
    assert.ok(JSON.stringify(requests().at(-1)).includes(PNG));
    fs.writeFileSync(path.join(at.cwd, "p.png"), Buffer.from(PNG, "base64"));
    await ed.run(id, { call: ["read", { file_path: "p.png" }] });
    assert.equal(ed.calls(id).at(-1).status, "completed");
  }, { env: openai, args: ["--model", "openai/gpt-5.5"] });

  await edit("content: an image for a model that takes none is said, not dropped", {}, async (ed) => {
    const id = await ed.open();
    requests();
    assert.equal((await ed.prompt(id, [text(script({ text: "ok" })), image(PNG)])).stopReason, "end_turn");
    assert.ok(!JSON.stringify(requests().at(-1)).includes(PNG));
    assert.match(ed.said(id), /takes no images/);
  }, { args: ["--model", "deepseek/deepseek-v4-pro"] });
}

export async function commands(edit, requests) {
  const notices = (ed, id, mark, caps) =>
    caps.session
      ? ed.updates(id, mark).filter((u) => u.sessionUpdate === "notice").map((u) => `${u.title}\n${u.description ?? ""}`).join("\n")
      : ed.said(id, mark);
  for (const [name, caps] of [["as text", {}], ["as notices", { session: { notices: {}, compaction: {} } }]]) {
    await edit(`slash commands, ${name}`, caps, async (ed, at) => {
      fs.mkdirSync(path.join(at.cwd, ".claude", "commands", "sub"), { recursive: true });
      fs.writeFileSync(path.join(at.cwd, ".claude", "commands", "sub", "fix.md"), "---\ndescription: Fixes it\nargument-hint: what\n---\nPlease fix $ARGUMENTS, mostly $1.\n");
      const id = await ed.open();
      await until("the commands", () => ed.updates(id).some((u) => u.sessionUpdate === "available_commands_update"));
      const offered = ed.updates(id).find((u) => u.sessionUpdate === "available_commands_update").availableCommands;
      for (const n of ["help", "status", "compact", "model", "mode", "hooks", "sub:fix"]) assert.ok(offered.some((c) => c.name === n), n);
      const typed = async (line) => {
        const mark = ed.mark();
        requests();
        assert.equal((await ed.prompt(id, line)).stopReason, "end_turn", line);
        return { shown: notices(ed, id, mark, caps), requests: requests(), updates: ed.updates(id, mark) };
      };
      const help = await typed("/help");
      for (const c of offered) assert.ok(help.shown.includes(`/${c.name}`), c.name);
      assert.equal(help.requests.length, 0, "/help asks no model");
      const status = await typed("/status");
      assert.ok(status.shown.includes(id) && status.shown.includes(at.cwd) && status.shown.includes("deepseek/"), status.shown);
      assert.match((await typed("/model")).shown, /deepseek\//);
      const other = await typed("/model deepseek/deepseek-v4-pro");
      assert.ok(other.updates.some((u) => u.sessionUpdate === "config_option_update" && u.configOptions.find((o) => o.id === "model").currentValue === "deepseek/deepseek-v4-pro"));
      const wrong = (await typed("/model nope/nope")).shown;
      assert.ok(/nope/.test(wrong) && !/-32602|invalid params/.test(wrong), wrong);
      const mode = await typed("/mode acceptEdits");
      assert.ok(mode.updates.some((u) => u.sessionUpdate === "current_mode_update" && u.currentModeId === "acceptEdits"));
      await typed("/hooks");
      const unknown = await typed("/etc/passwd is a file");
      assert.equal(lastUser(unknown.requests[0]), "/etc/passwd is a file", "an unknown command is a prompt");
      const fix = await typed("/sub:fix the door now");
      assert.equal(lastUser(fix.requests[0]).trim(), "Please fix the door now, mostly the.");
      await typed(script({ text: "x" }));
      const compact = await typed("/compact keep the door in mind");
      assert.equal(compact.requests.length, 1);
      assert.ok(JSON.stringify(compact.requests[0]).includes("keep the door in mind"));
      if (caps.session) {
        const updates = compact.updates.filter((u) => u.sessionUpdate === "compaction_update");
        assert.deepEqual(updates.map((u) => u.status), ["in_progress", "completed"]);
        assert.equal(updates[0].compactionId, updates[1].compactionId);
        assert.ok(JSON.stringify(updates[1].summary).includes("SUMMARY of what was."));
      }
      const after = await typed("and now?");
      const sent = JSON.stringify(after.requests[0].messages);
      assert.ok(sent.includes("SUMMARY of what was.") && !sent.includes("/etc/passwd"), "the summary in the place of what was");
      // The compaction holds after a restart, and the display is whole.
      await ed.close(id);
      const mark = ed.mark();
      await ed.load(id);
      const shown = JSON.stringify(ed.updates(id, mark));
      assert.ok(shown.includes("/etc/passwd is a file"), "the display keeps what was compacted");
      const later = JSON.stringify((await typed("still?")).requests[0].messages);
      assert.ok(later.includes("SUMMARY of what was.") && !later.includes("/etc/passwd"));
    });
  }

  await edit("cancel in a compaction", { session: { compaction: {} } }, async (ed) => {
    const id = await ed.open();
    for (const t of ["slow summary", "b", "c"]) await ed.prompt(id, t);
    const open = ed.prompt(id, "/compact");
    await until("the compaction", () => ed.updates(id).some((u) => u.sessionUpdate === "compaction_update"));
    await ed.cancel(id);
    assert.equal((await open).stopReason, "cancelled");
    assert.deepEqual(ed.updates(id).filter((u) => u.sessionUpdate === "compaction_update").map((u) => u.status), ["in_progress", "cancelled"]);
    assert.equal((await ed.prompt(id, "go on")).stopReason, "end_turn");
  });
}

export async function turns(edit, openai, requests) {
  await edit("plan, usage, titles", {}, async (ed) => {
    const id = await ed.open();
    await until("usage after the setup", () => ed.updates(id).some((u) => u.sessionUpdate === "usage_update"));
    const first = ed.updates(id).find((u) => u.sessionUpdate === "usage_update");
    assert.equal(first.used, 0);
    assert.ok(first.size > 0);
    const mark = ed.mark();
    await ed.run(id, { call: ["todo_write", { todos: [{ content: "a", status: "in_progress" }] }] }, { call: ["todo_write", { todos: [] }] }, { text: "x" });
    const updates = ed.updates(id, mark);
    assert.deepEqual(updates.filter((u) => u.sessionUpdate === "plan").map((u) => u.entries.length), [1, 0]);
    const usage = updates.filter((u) => u.sessionUpdate === "usage_update");
    assert.ok(usage.length >= 3, "one for each call");
    assert.ok(usage.every((u) => u.used >= 1000 && u.size === first.size), JSON.stringify(usage));
    assert.ok(usage.at(-1).cost.amount > usage[0].cost.amount && usage[0].cost.currency === "USD", JSON.stringify(usage));
    assert.ok(updates.some((u) => u.sessionUpdate === "session_info_update" && u.updatedAt));
  }, { env: openai, args: ["--model", "openai/gpt-5.2"] });

  await edit("steering a running turn", {}, async (ed) => {
    const id = await ed.open();
    assert.equal(ed.hello.agentCapabilities._meta["acp-agent"].steer, "_acp-agent/steer");
    await assert.rejects(ed.steer(id, "now"), code(-32600));
    ed.permission = async () => {
      await ed.steer(id, "  steer <b>left</b> ");
      return "allow_once";
    };
    requests();
    await ed.run(id, bash("echo hi"), { text: "as you say" });
    const sent = requests();
    const at = sent.findIndex((r) => lastUser(r) === "  steer <b>left</b> ");
    assert.ok(at > 0, `the steering is the model's last user message, verbatim: ${sent.map(lastUser)}`);
    // In the last text of a turn: it goes on with it rather than ends.
    const open = ed.run(id, { text: "the last words of this turn", slow: true }, { text: " and more" });
    await until("text", () => ed.said(id).includes("the l"));
    await ed.steer(id, "more");
    assert.equal(await open, "end_turn");
    assert.ok(ed.said(id).endsWith("and more"), ed.said(id));
    // Each message by itself when it comes back.
    await ed.close(id);
    const mark = ed.mark();
    await ed.load(id);
    const ids = ed.updates(id, mark).filter((u) => u.sessionUpdate === "user_message_chunk").map((u) => u.messageId);
    assert.ok(ids.length === 4 && ids.every(Boolean) && new Set(ids).size === 4, JSON.stringify(ids));
    await assert.rejects(ed.ctx.request("_acp-agent/steer", { sessionId: id, content: [] }), (e) => [-32600, -32602].includes(e.code));
  });

  await edit("output of tools: long, live, strange bytes", {}, async (ed) => {
    const id = await ed.open();
    await ed.run(id, bash("seq 1 200000"), bash("printf 'a\\000b\\377\\342\\200\\250c'"), bash("for i in 1 2 3 4; do echo tick $i; sleep 0.4; done"));
    const sizes = ed.frames.filter((f) => f.from === "agent").map((f) => f.text.length);
    assert.ok(Math.max(...sizes) < 1 << 20, `a frame of ${Math.max(...sizes)} characters`);
    const calls = ed.calls(id);
    assert.deepEqual(calls.map((c) => c.status), ["completed", "completed", "completed"]);
    const live = ed.updates(id).filter((u) => u.toolCallId === calls[2].toolCallId && u.status !== "completed" && JSON.stringify(u.content ?? "").includes("tick"));
    assert.ok(live.length >= 1, "output while it runs");
    assert.ok(JSON.stringify(calls[2].content).includes("tick 4"));
  });
}
