// The clients: the TypeScript SDK in this process, acpx as a program of its own.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";
import { PassThrough, Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const LIMIT = 60_000; // ends what hangs; nothing here takes a second

// withSDK starts the agent, hands use(ctx, seen) a connected SDK client and
// returns every frame of both directions, in order. seen holds the updates.
export async function withSDK(command, options, use) {
  const child = spawn(command[0], command.slice(1), { ...options, stdio: ["pipe", "pipe", "pipe"] });
  const frames = [];
  let stderr = "";
  child.stderr.on("data", (d) => (stderr += d));
  const exited = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) => resolve(code ?? signal));
  });
  const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT);
  try {
    const toAgent = new PassThrough();
    tap(toAgent, frames);
    toAgent.pipe(child.stdin);
    const fromAgent = child.stdout.pipe(new PassThrough());
    tap(fromAgent, frames);
    const seen = [];
    const M = acp.methods;
    const app = acp
      .client({ name: "interop" })
      .onRequest(M.client.session.requestPermission, (c) => {
        seen.push({ sessionUpdate: "(permission)", options: c.params.options });
        const allow = c.params.options.find((o) => o.kind === "allow_once") ?? c.params.options[0];
        return { outcome: { outcome: "selected", optionId: allow.optionId } };
      })
      .onNotification(M.client.session.update, (c) => {
        seen.push(c.params.update);
      });
    const stream = acp.ndJsonStream(Writable.toWeb(toAgent), Readable.toWeb(fromAgent));
    await app.connectWith(stream, (ctx) => use(ctx, seen, M));
    child.stdin.end();
    const code = await exited;
    return { frames, stderr, code };
  } catch (err) {
    throw new Error(`${err.stack ?? err}\nthe agent's stderr: ${stderr}`);
  } finally {
    clearTimeout(limit);
    child.kill("SIGKILL");
  }
}

// tap records the lines that pass a stream.
function tap(stream, frames) {
  let rest = "";
  stream.on("data", (d) => {
    const lines = (rest + d).split("\n");
    rest = lines.pop();
    frames.push(...lines);
  });
}

// acpxBin is the program that the package declares.
function acpxBin() {
  const require = createRequire(import.meta.url);
  const manifest = path.join(path.dirname(require.resolve("acpx")), "..", "package.json");
  const pkg = require(manifest);
  return path.join(path.dirname(manifest), typeof pkg.bin === "string" ? pkg.bin : pkg.bin.acpx);
}

// acpxExec runs one prompt and returns the frames that acpx printed.
export async function acpxExec(agent, options, prompt) {
  const args = [acpxBin(), "--agent", agent, "--approve-all", "--format", "json", "--json-strict", "--timeout", "40", "exec", prompt];
  const child = spawn(process.execPath, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT);
  let stderr = "";
  child.stderr.on("data", (d) => (stderr += d));
  const frames = [];
  const lines = readline.createInterface({ input: child.stdout });
  lines.on("line", (l) => frames.push(l));
  const code = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (c, signal) => resolve(c ?? signal));
  });
  clearTimeout(limit);
  return { frames, stderr, code };
}
