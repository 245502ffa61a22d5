// Runs an agent and records each line that passes, with who sent it:
//
//   node tee.mjs DIRECTORY COMMAND ARG…
//
// A file for each process. What acpx prints is not what went over the wire.
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const [dir, command, ...args] = process.argv.slice(2);
const file = path.join(dir, `${Date.now()}-${process.pid}.jsonl`);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
fs.appendFileSync(file, `${JSON.stringify({ pid: child.pid })}\n`);

function pass(from, who, to) {
  let rest = "";
  from.setEncoding("utf8");
  from.on("data", (d) => {
    const lines = (rest + d).split("\n");
    rest = lines.pop();
    for (const text of lines) fs.appendFileSync(file, `${JSON.stringify({ from: who, text })}\n`);
    to.write(d);
  });
  from.on("end", () => to.end());
  to.on("error", () => {});
}

pass(process.stdin, "client", child.stdin);
pass(child.stdout, "agent", process.stdout);
for (const s of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(s, () => child.kill(s));
child.on("close", (code) => process.exit(code ?? 1));
