// Checks recorded ACP frames against the protocol's schema.
//
//   node validate.mjs SCHEMA.json < transcript.jsonl
//
// The transcript holds one JSON-RPC message a line, both directions, in wire
// order. Exit code 1 when any frame is bad. As a module it exports Validator.
import fs from "node:fs";
import readline from "node:readline";
import { pathToFileURL } from "node:url";
import Ajv from "ajv/dist/2020.js";

const known = new Map();

// read compiles a schema once: it is large, and the checks are many.
function read(schemaFile) {
  if (known.has(schemaFile)) return known.get(schemaFile);
  const schema = JSON.parse(fs.readFileSync(schemaFile, "utf8"));
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema(schema, "acp");
  // The schema marks each definition with the method that it belongs to.
  const out = { ajv, requests: {}, responses: {}, notifications: {}, closed: {} };
  for (const [name, def] of Object.entries(schema.$defs)) {
    const method = def["x-method"];
    if (!method) continue;
    if (/Response$/.test(name)) out.responses[method] = name;
    else if (/Notification$/.test(name)) out.notifications[method] = name;
    else out.requests[method] = name;
  }
  known.set(schemaFile, out);
  return out;
}

export class Validator {
  constructor(schemaFile) {
    Object.assign(this, read(schemaFile));
    // Both sides number their own requests, so that one id may stand for two
    // open ones: a list for each.
    this.open = new Map();
    this.ok = 0;
    this.extension = 0; // methods that the schema does not know
    this.bad = [];
    this.line = 0;
  }

  fault(what, errors) {
    this.bad.push(`frame ${this.line}: ${what}: ${JSON.stringify(errors?.slice?.(0, 3) ?? errors)}`);
  }

  matches(name, value) {
    const check = this.ajv.getSchema(`acp#/$defs/${name}`) ?? this.ajv.compile({ $ref: `acp#/$defs/${name}` });
    return check(value) ? null : check.errors;
  }

  // foreign reports fields that the schema does not know, at the root of what a
  // method carries and at that of an update.
  foreign(name, value) {
    this.closed[name] ??= this.ajv.compile({ $ref: `acp#/$defs/${name}`, unevaluatedProperties: false });
    const own = (e) => e.keyword === "unevaluatedProperties";
    const errors = this.closed[name](value) ? [] : this.closed[name].errors.filter(own);
    if (value.update) {
      this.closed.SessionUpdate ??= this.ajv.compile({ $ref: "acp#/$defs/SessionUpdate", unevaluatedProperties: false });
      if (!this.closed.SessionUpdate(value.update)) errors.push(...this.closed.SessionUpdate.errors.filter(own));
    }
    return errors.length ? errors : null;
  }

  // add takes the next line of the wire. from, where it is known, is "agent" or
  // "client": it tells apart what both sides have asked with one id.
  add(text, from = "") {
    this.line++;
    if (!text.trim()) return;
    let m;
    try {
      m = JSON.parse(text);
    } catch {
      return this.fault("is not JSON", text.slice(0, 120));
    }
    if (m.jsonrpc !== "2.0") return this.fault("has no jsonrpc 2.0", m.jsonrpc ?? null);
    const asker = { agent: "client", client: "agent" }[from] ?? "";
    if (m.method !== undefined) return this.call(m, from);
    if ("error" in m) {
      const errors = this.matches("Error", m.error);
      errors ? this.fault("Error", errors) : this.ok++;
      // Of two open requests with one id the newer is meant: the agent asks
      // while the client's prompt is open, not the other way round.
      this.open.get(asker + JSON.stringify(m.id))?.pop();
      return undefined;
    }
    if ("result" in m) return this.result(m, asker);
    return this.fault("has no method, result or error", m);
  }

  call(m, from) {
    const isRequest = "id" in m;
    if (isRequest) {
      const key = from + JSON.stringify(m.id);
      this.open.set(key, [...(this.open.get(key) ?? []), m.method]);
    }
    const name = (isRequest ? this.requests : this.notifications)[m.method];
    if (!name) {
      if (m.method.startsWith("_") || m.method.startsWith("$/")) this.extension++;
      else this.fault("has a method that the schema does not know", m.method);
      return;
    }
    const errors = this.matches(name, m.params ?? {}) ?? (from === "agent" ? this.foreign(name, m.params ?? {}) : null);
    errors ? this.fault(name, errors) : this.ok++;
  }

  result(m, asker) {
    const asked = this.open.get(asker + JSON.stringify(m.id)) ?? [];
    if (asked.length === 0) return this.fault("answers an id that nobody asked with", m.id);
    let first = null;
    for (let i = 0; i < asked.length; i++) {
      const name = this.responses[asked[i]];
      const errors = name ? (this.matches(name, m.result) ?? (asker === "client" ? this.foreign(name, m.result) : null)) : null;
      if (!errors) {
        name ? this.ok++ : this.extension++;
        asked.splice(i, 1);
        return undefined;
      }
      first ??= [name, errors];
    }
    asked.shift();
    return this.fault(first[0], first[1]);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const v = new Validator(process.argv[2]);
  for await (const line of readline.createInterface({ input: process.stdin })) v.add(line);
  for (const b of v.bad) console.log("BAD", b);
  console.log(JSON.stringify({ ok: v.ok, bad: v.bad.length, extension: v.extension, open: [...v.open.values()].flat() }));
  process.exit(v.bad.length ? 1 : 0);
}
