import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandIn, obey, type SessionCommand } from "@svc/kit/chat-commands";
import { type Origin, outsideOrigin, type Scope } from "@svc/sdk";
import type { SessionEntry } from "@svc/sdk/sessions";

describe("a stop request", () => {
  const yes = ["stop", "STOP", " Stop! ", "/stop", "please stop.", "stop  the   agent", "svc stop", "don’t do that!!"];
  const abroad = ["Стоп", "停止。", "やめて", "arrête !", "Aufhören!", "detén", "توقف", "रुको"];
  for (const text of [...yes, ...abroad]) it(`is "${text}"`, () => assert.deepEqual(commandIn(text), { kind: "stop" }));
  const no = ["stop the presses", "do not stop", "when does it stop?", "/stopp", "", "!"];
  for (const text of no) it(`is not "${text}"`, () => assert.notEqual(commandIn(text)?.kind, "stop"));
});

describe("a command", () => {
  const rows: [message: string, command: ReturnType<typeof commandIn>][] = [
    ["/new", { kind: "restart", reason: "new", text: "" }],
    ["/NEW  ", { kind: "restart", reason: "new", text: "" }],
    ["/new  hello\nyou ", { kind: "restart", reason: "new", text: "hello\nyou" }],
    ["/reset", { kind: "restart", reason: "reset", text: "" }],
    ["/help", { kind: "help" }],
    ["/help me", undefined],
    ["/status", { kind: "status" }],
    ["/status of the build", undefined],
    ["/trust", { kind: "trust" }],
    ["/trust me", undefined],
    ["/compact", { kind: "compact", instructions: "" }],
    [" /Compact keep the names ", { kind: "compact", instructions: "keep the names" }],
    ["/queue", { kind: "queue", patch: {} }],
    ["/queue Steer+Backlog", { kind: "queue", patch: { queueMode: "steer+backlog" } }],
    [
      "/queue collect debounce:2s cap:5 drop:old",
      { kind: "queue", patch: { queueMode: "collect", queueDebounceMs: 2_000, queueCap: 5, queueDrop: "old" } },
    ],
    ["/queue debounce:0", { kind: "queue", patch: { queueDebounceMs: 0 } }],
    [
      "/queue default",
      {
        kind: "queue",
        patch: { queueMode: undefined, queueDebounceMs: undefined, queueCap: undefined, queueDrop: undefined },
      },
    ],
    ["/newer", undefined],
    ["/think high", undefined],
    ["say /new", undefined],
  ];
  for (const [message, command] of rows) {
    it(`is read from ${JSON.stringify(message)}`, () => assert.deepEqual(commandIn(message), command));
  }
  for (const words of ["loud", "cap:0", "cap:2s", "debounce:x", "drop:all", "debounce:", "collect x"]) {
    it(`is refused as "/queue ${words}"`, () =>
      assert.throws(() => commandIn(`/queue ${words}`), { code: "INVALID_REQUEST", message: /modes: collect/ }));
  }
});

const principal = { id: "p", role: "operator", scopes: ["operator.admin"], provenance: "token", epoch: 0 } as const;
const by = { principal, now: 5 };

describe("executing a command", () => {
  const queue = { queueMode: "steer", queueDebounceMs: 5, queueCap: 2, queueDrop: "new" };
  const rows: [message: string, entry: object, done: string[], reply: RegExp][] = [
    ["/new", {}, ["new k"], /^New session started\.$/],
    ["/reset tell me", {}, ["reset k"], /^Session reset\.$/],
    ["/help", {}, [], /\/stop/],
    ["/queue", queue, [], /^Queue mode of this session: steer \(debounce 5 ms, cap 2, drop new\)\.$/],
    ["/queue", {}, [], /: as configured\.$/],
    ["/queue collect", {}, ["collect k"], /: collect\.$/],
  ];
  for (const [message, fields, done, reply] of rows)
    it(`executes and answers: ${message} ${JSON.stringify(fields)}`, async () => {
      const entry: SessionEntry = { sessionId: "s", updatedAt: 1, ...fields };
      const acts: string[] = [];
      const sessions = {
        get: async () => entry,
        context: () => assert.fail(),
        async ensure(key: string, patch: Partial<SessionEntry> = {}) {
          acts.push(`${String(patch["queueMode"])} ${key}`);
          return { ...entry, ...patch };
        },
        async reset(key: string, reason: string) {
          acts.push(`${reason} ${key}`);
          return entry;
        },
      };
      assert.match(await obey(commandIn(message) as SessionCommand, "k", sessions, by), reply);
      assert.deepEqual(acts, done);
    });

  const web = outsideOrigin("web", "https://evil.example/");
  const ann: Origin = { kind: "person", id: "ann", scopes: ["operator.write"] };
  const people: readonly [who: Scope, origins: readonly (Origin | undefined)[], trusted: boolean, reply: RegExp][] = [
    [
      "operator.admin",
      [undefined, web, ann, web],
      true,
      /^Trusted: the messages of web \(https:.*\), person \(ann\) in this/,
    ],
    ["operator.admin", [undefined], false, /contains only your own messages/],
    ["operator.write", [web], false, /^Only the owner of this gateway/],
  ];
  for (const [scope, origins, isTrusted, reply] of people) {
    it(`/trust by a caller with ${scope}, with ${origins.length} messages`, async () => {
      const patches: object[] = [];
      const items = origins.map((origin, index) => ({
        id: `m${index}`,
        message: { role: "user" as const, content: [], timestamp: 1, ...(origin ? { origin } : {}) },
      }));
      const sessions = {
        context: async () => ({ summary: undefined, items }),
        ensure: async (_key: string, patch: object = {}) => (patches.push(patch), { sessionId: "s", updatedAt: 1 }),
        get: async () => undefined,
        reset: () => assert.fail(),
      };
      const asking = { principal: { ...by.principal, scopes: [scope] }, now: 5 };
      assert.match(await obey({ kind: "trust" }, "k", sessions, asking), reply);
      assert.deepEqual(patches, isTrusted ? [{ trustedAt: 5 }] : []);
      const told = await obey({ kind: "status" }, "k", sessions, asking);
      assert.match(told, origins.includes(web) ? /messages of web \(https/ : /only messages of the owner/);
    });
  }
});
