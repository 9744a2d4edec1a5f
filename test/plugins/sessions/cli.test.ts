import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import { sessions } from "@svc/sdk/sessions";
import { type CommandRunOptions, runCommand } from "@svc/sdk/testing";
import commands, { patchParams } from "../../../plugins/sessions/cli.ts";
import { usageLines } from "../../../plugins/sessions/cli-text.ts";
import { NOON } from "./open-store.ts";

const row = {
  key: "agent:main:notes",
  kind: "direct",
  updatedAt: NOON - 90 * 60_000,
  sessionId: "s1",
  totalTokens: 1200,
  totalTokensFresh: true,
  model: "m1",
  derivedTitle: "Shopping list",
} as const;
const NO_COST = { inputCost: 0, outputCost: 0, cacheReadCost: 0, cacheWriteCost: 0 };
const TOKENS = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 1200 };
const totals = { ...TOKENS, ...NO_COST, totalCost: 0.5, missingCostEntries: 2 };
const usage = {
  updatedAt: NOON,
  startDate: "2026-03-01",
  endDate: "2026-03-02",
  sessions: [{ key: row.key, updatedAt: NOON, usage: totals }],
  totals,
  aggregates: { byModel: [{ provider: "p", model: "m1", count: 3, totals }] },
};
const preview = { key: row.key, status: "ok", items: [{ role: "user", text: "milk" }], damaged: 1 };
const answers: Record<string, unknown> = {
  "sessions.list": { ts: NOON, sessions: [row, { ...row, key: "agent:main:notes2" }] },
  "sessions.resolve": { ok: true, key: row.key },
  "sessions.preview": { ts: NOON, previews: [preview] },
  "sessions.patch": { ok: true, key: row.key, entry: { sessionId: "s1", updatedAt: NOON }, resolved: { model: "m1" } },
  "sessions.reset": { ok: true, key: row.key, entry: { sessionId: "s2", updatedAt: NOON } },
  "sessions.delete": { ok: true, key: row.key, deleted: true, archived: ["db#s1.deleted.x"] },
  "sessions.compact": { ok: true, key: row.key, compacted: true, archived: "db#s1.bak.x", kept: 100 },
  "sessions.usage": usage,
};

/** Runs a command against a gateway with these responses; an `Error` is a refusal. */
type Given = CommandRunOptions & { readonly given?: Record<string, unknown> };
const run = (name: string, { given, ...rest }: Given = {}) =>
  runCommand(commands, `sessions ${name}`, { answers: { ...answers, ...given }, ...rest });

describe("svc sessions", () => {
  it("list shows one line per session and passes its options", async () => {
    const options = { limit: "5", agent: "main", search: "no", active: "60" };
    const { printed, asked, scopes } = await run("list", { options });
    const shown = { includeGlobal: false, includeDerivedTitles: true };
    const params = { ...shown, limit: 5, agentId: "main", search: "no", activeMinutes: 60 };
    assert.deepEqual(asked, [["sessions.list", params]]);
    assert.deepEqual(scopes, ["operator.read"]);
    assert.deepEqual(printed, [
      "agent:main:notes   1h ago  m1  1,200 tokens  Shopping list",
      "agent:main:notes2  1h ago  m1  1,200 tokens  Shopping list",
    ]);
  });

  it("list without a match says whether there are other sessions", async () => {
    const none = { "sessions.list": { ts: NOON, sessions: [] } };
    const all = await run("list", { given: none });
    assert.deepEqual(all.printed, ["No sessions. Start one: svc chat"]);
    const some = await run("list", { given: none, options: { search: "zzz" } });
    assert.deepEqual(some.printed, ["No matching sessions. List all: svc sessions list"]);
  });

  it("show prints the settings and the last messages, and changes nothing", async () => {
    const { printed, asked, scopes } = await run("show", { args: ["notes"] });
    assert.deepEqual([asked.length, asked[0]?.[0], asked[2]?.[0]], [3, "sessions.resolve", "sessions.preview"]);
    assert.deepEqual(asked[1], ["sessions.list", { key: row.key }], "one session is read, not all with this key");
    assert.deepEqual(scopes, ["operator.read"]);
    assert.ok(printed.includes("key:               agent:main:notes"));
    assert.deepEqual(printed.slice(-2), ["user: milk", "(1 messages cannot be read; see the log of the gateway)"]);
  });

  it("patch passes the settings and the fields to clear", async () => {
    const options = { thinking: "high", sendPolicy: "deny", clear: "label, model" };
    const { printed, asked, scopes } = await run("patch", { args: ["notes"], options });
    const params = { key: "notes", thinkingLevel: "high", sendPolicy: "deny", label: null, model: null };
    assert.deepEqual(asked, [["sessions.patch", params]]);
    assert.deepEqual(scopes, ["operator.admin"]);
    assert.equal(printed[0], "changed agent:main:notes");
    assert.throws(() => patchParams("k", {}), { message: /svc sessions patch --help/ });
    assert.throws(() => patchParams("k", { clear: "key" }), { message: /use label, model/ });
  });

  it("every option of patch sets a field the method has", () => {
    const { options = [] } = commands.find(({ name }) => name === "sessions patch") ?? {};
    const names = options.map(({ flags }) => /^--([a-z-]+)/.exec(flags)?.[1] ?? "").filter((name) => name !== "clear");
    const given = names.map((name) => name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()));
    const params = patchParams("k", Object.fromEntries(given.map((name) => [name, "on"])));
    const known = Object.keys(sessions.patch.params.properties);
    assert.equal(Object.keys(params).length, names.length + 1);
    for (const field of Object.keys(params)) assert.ok(known.includes(field), field);
  });

  const changes: [verb: string, given: Given, lines: string[]][] = [
    ["reset", {}, ["agent:main:notes starts afresh with session id s2"]],
    ["delete", {}, ["deleted agent:main:notes", "its messages are archived as db#s1.deleted.x"]],
    [
      "compact",
      { options: { keep: "100" } },
      ["agent:main:notes keeps its last 100 messages", "the earlier messages are archived as db#s1.bak.x"],
    ],
    [
      "compact",
      { given: { "sessions.compact": { ok: true, key: "k", compacted: false, kept: 3 } } },
      ["k has only 3 messages; nothing to do"],
    ],
    [
      "compact",
      { given: { "sessions.compact": { ok: true, key: "k", compacted: false, reason: "no transcript" } } },
      ["k has no messages; nothing to do"],
    ],
  ];
  for (const [verb, given, lines] of changes) {
    it(`${verb} prints: ${lines[0]}`, async () =>
      assert.deepEqual((await run(verb, { args: ["notes"], ...given })).printed, lines));
  }

  it("usage prints totals, sessions and models", async () => {
    const cost = "1,200 tokens, $0.5000 (2 answers without a price)";
    const { printed, asked } = await run("usage", { options: { since: "2026-03-01", until: "2026-03-02" } });
    assert.deepEqual(printed, [
      `2026-03-01 to 2026-03-02 (UTC): ${cost}`,
      `  agent:main:notes: ${cost}`,
      `  model p/m1: 3 answers, ${cost}`,
    ]);
    assert.deepEqual(asked[0]?.[1], { mode: "gateway", limit: 50, startDate: "2026-03-01", endDate: "2026-03-02" });
    assert.equal(usageLines({ ...usage, sessions: [{ ...usage.sessions[0], usage: null }] } as never).length, 2);
  });

  it("every verb prints one value with --json", async () => {
    for (const verb of ["list", "show", "patch", "reset", "delete", "compact", "usage"]) {
      const options = verb === "patch" ? { label: "l" } : {};
      const { printed, message } = await run(verb, { args: ["notes"], options, json: true });
      assert.deepEqual([printed.length, typeof printed[0], message], [1, "object", ""], verb);
    }
  });

  const fails = (verb: string, error: Error) => ({ [`sessions.${verb}`]: error });
  const missing = fails("resolve", new GatewayError("NOT_FOUND", "no session"));
  const undeleted = { "sessions.delete": { ok: true, key: "x", deleted: false, archived: [] } };
  const untouched = { "sessions.compact": { ok: true, key: "x", compacted: false, reason: "no sessionId" } };
  const unknown = fails("patch", refusal("UNKNOWN_MODEL", 'no model "y"'));
  const invalid = fails("patch", refusal("INVALID_PARAM", 'invalid thinkingLevel "y"; use one of off, low'));
  const main = fails("delete", refusal("MAIN_SESSION", "the main session; use sessions.reset"));
  const busy = fails("reset", new GatewayError("UNAVAILABLE", "still active"));
  const args = ["x"];
  const refusals: [what: string, verb: string, given: Given, says: RegExp][] = [
    ["a key that is missing", "reset", {}, /svc sessions list/],
    ["an invalid number", "list", { options: { limit: "many" } }, /--limit 10/],
    ["one date alone", "usage", { options: { since: "2026-03-01" } }, /svc sessions usage --since/],
    ["a session that is not there", "show", { args, given: missing }, /^no session\nNext: svc sessions list$/],
    ["a delete of nothing", "delete", { args, given: undeleted }, /svc sessions list/],
    ["a compact of nothing", "compact", { args, given: untouched }, /svc sessions list/],
    [
      "usage of nothing",
      "usage",
      { args, given: { "sessions.usage": { ...usage, sessions: [] } } },
      /svc sessions list/,
    ],
    ["an unknown model", "patch", { args, options: { model: "y" }, given: unknown }, /Next: svc models list$/],
    ["an unknown word", "patch", { args, options: { thinking: "y" }, given: invalid }, /svc sessions patch --help$/],
    ["a delete of the main session", "delete", { args: ["main"], given: main }, /Next: svc sessions reset main$/],
    ["a session in use", "reset", { args, given: busy }, /Next: .*svc gateway status/],
  ];
  for (const [what, verb, given, says] of refusals) {
    it(`${verb} refuses ${what} and names the next command`, async () => {
      const { error, printed } = await run(verb, given);
      assert.match(error?.message ?? "", says);
      assert.equal(error?.name, "GatewayError");
      assert.deepEqual(printed, []);
    });
  }
});
