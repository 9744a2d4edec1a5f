/** A program that speaks the protocol of `imsg rpc`, for tests: a script that reads and writes files of its directory. */
import { appendFileSync, chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The script. `rows.jsonl` has the messages, `calls.jsonl` the requests, `faults.json` what is refused. */
const SCRIPT = `#!${process.execPath}
const fs = require("node:fs"), path = require("node:path");
const at = (name) => path.join(__dirname, name);
const lines = (name) => fs.existsSync(at(name)) ? fs.readFileSync(at(name), "utf8").split("\\n").filter(Boolean) : [];
const say = (value) => process.stdout.write((typeof value === "string" ? value : JSON.stringify(value)) + "\\n");
if (process.argv[2] !== "rpc") process.exit(64);
if (fs.existsSync(at("dies.json"))) {
  const { words, code } = JSON.parse(fs.readFileSync(at("dies.json"), "utf8"));
  process.stderr.write(words); process.exit(code);
}
fs.writeFileSync(at("pid"), String(process.pid));
fs.writeFileSync(at("variables.json"), JSON.stringify(Object.keys(process.env)));
let shown = -1;
const show = () => {
  if (shown < 0) return;
  const rows = lines("rows.jsonl");
  for (; shown < rows.length; shown++) {
    const isRaw = !rows[shown].startsWith('{"id"');
    const raw = rows[shown].slice(1);
    say(isRaw ? (raw.startsWith("@") ? "x".repeat(Number(raw.slice(1))) : raw) : { jsonrpc: "2.0", method: "message", params: { subscription: 1, message: JSON.parse(rows[shown]) } });
  }
};
setInterval(show, 10);
const parsed = () => lines("rows.jsonl").flatMap((line) => line.startsWith('{"id"') ? [JSON.parse(line)] : []);
const answer = ({ method, params }) => {
  if (method === "chats.list") return { chats: parsed().length > 0 ? [{ id: 1 }] : [] };
  if (method === "messages.history") return { messages: parsed().toReversed().slice(0, params.limit) };
  if (method === "watch.subscribe") {
    const rows = lines("rows.jsonl");
    shown = params.since_rowid === undefined ? rows.length : rows.findIndex((line) => line.startsWith('{"id"') && JSON.parse(line).id > params.since_rowid);
    if (shown < 0) shown = rows.length;
    return { subscription: 1 };
  }
  return { ok: true, id: 1, guid: "SENT-" + lines("calls.jsonl").length };
};
let rest = "";
process.stdin.on("data", (chunk) => {
  const parts = (rest + chunk).split("\\n"); rest = parts.pop();
  for (const part of parts) {
    const request = JSON.parse(part);
    const file = request.params.file;
    fs.appendFileSync(at("calls.jsonl"), JSON.stringify({ ...request, content: file && fs.readFileSync(file, "utf8") }) + "\\n");
    const faults = fs.existsSync(at("faults.json")) ? JSON.parse(fs.readFileSync(at("faults.json"), "utf8")) : {};
    if (faults[request.method] === "silent") continue;
    if (faults[request.method]) say({ jsonrpc: "2.0", id: request.id, error: faults[request.method] });
    else say({ jsonrpc: "2.0", id: request.id, result: answer(request) });
  }
});
process.stdin.on("end", () => process.exit(0));
`;

export interface Call {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly content?: string;
}

/** @param directory of the test */
export function fakeImsg(directory: string) {
  const at = (name: string) => join(directory, name);
  const command = at("imsg.cjs");
  writeFileSync(command, SCRIPT);
  chmodSync(command, 0o755);
  let count = 0;
  const calls = (method: string) =>
    (existsSync(at("calls.jsonl")) ? readFileSync(at("calls.jsonl"), "utf8").split("\n").filter(Boolean) : [])
      .map((line) => JSON.parse(line) as Call)
      .filter((call) => call.method === method);
  const message = (text: string, more: object = {}) => ({
    id: ++count,
    guid: `ROW-${count}`,
    chat_id: 1,
    chat_guid: "iMessage;-;+15550001111",
    is_group: false,
    sender: "+15550001111",
    is_from_me: false,
    text,
    created_at: new Date().toISOString(),
    attachments: [],
    ...more,
  });
  return {
    command,
    calls,
    /** Somebody writes. */
    says: (text: string, more: object = {}) =>
      appendFileSync(at("rows.jsonl"), `${JSON.stringify(message(text, more))}\n`),
    /** The program prints this line; `@<number>`: one of so many characters. */
    prints: (line: string) => appendFileSync(at("rows.jsonl"), `!${line}\n`),
    heard: () => calls("send").flatMap(({ params }) => (typeof params["text"] === "string" ? [params["text"]] : [])),
    /** By method: the error of each answer, or `silent`. */
    refuses(faults: Readonly<Record<string, unknown>>) {
      writeFileSync(at("next.json"), JSON.stringify(faults));
      renameSync(at("next.json"), at("faults.json")); // the program may read it at any time
    },
    /** The program ends at its start. */
    dies: (words: string, code: number) => writeFileSync(at("dies.json"), JSON.stringify({ words, code })),
    kill: () => void process.kill(Number(readFileSync(at("pid"), "utf8")), "SIGKILL"),
    isRunning() {
      try {
        return process.kill(Number(readFileSync(at("pid"), "utf8")), 0);
      } catch {
        return false;
      }
    },
  };
}
