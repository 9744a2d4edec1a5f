import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Origin, outsideOrigin, type Scope } from "@svc/sdk";
import type { AgentRuns, RunState } from "@svc/sdk/agents";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import { queueSettings } from "../../../plugins/commands/queue-settings.ts";
import { having, KEY, openCommands, principalWith } from "./commands-scene.ts";

/** Commands over one session with `fields`. */
function open(fields: object = {}) {
  const state = { entry: { sessionId: "s", updatedAt: 1, ...fields } as SessionEntry };
  const acts: string[] = [];
  const sessions: Partial<Sessions> = {
    agentOf: () => "main",
    get: async () => state.entry,
    async ensure(key, patch = {}) {
      acts.push(`set ${Object.keys(patch).join(",")} ${key}`);
      return (state.entry = { ...state.entry, ...patch });
    },
    async reset(key, reason) {
      acts.push(`${reason} ${key}`);
      return (state.entry = { sessionId: "s2", updatedAt: 2 });
    },
    context: async () => ({ summary: undefined, items: [] }),
  };
  return { state, acts, ...openCommands({ sessions: having(sessions) }) };
}

describe("/new and /reset", () => {
  const rows: [text: string, act: string, reply: RegExp][] = [
    ["/new", `new ${KEY}`, /^New session started\.$/],
    [" /Reset ", `reset ${KEY}`, /^Session reset\.$/],
  ];
  for (const [text, act, reply] of rows)
    it(`${text.trim()} resets once, also if the same message is repeated`, async () => {
      const { says, acts } = open();
      for (const _again of [1, 2]) assert.match(await says(text), reply);
      assert.deepEqual(acts, [act, `set resetByRunId ${KEY}`]);
      await says(text, { runId: "r2" });
      assert.equal(acts.filter((one) => one === act).length, 2);
    });

  it("with a text reset before its run, and not if that is repeated", async () => {
    const { commands, acts } = open();
    const parsed = commands.parse("/new tell me") ?? assert.fail();
    const call = { sessionKey: KEY, principal: principalWith("operator.write"), runId: "r1", surface: "chat" };
    const outcome = await commands.run(parsed, call);
    assert.ok("message" in outcome);
    assert.deepEqual([outcome.message, outcome.compact, acts], ["tell me", undefined, []]);
    for (const _again of [1, 2]) await outcome.before?.();
    assert.deepEqual(acts, [`new ${KEY}`, `set resetByRunId ${KEY}`]);
  });

  it("without a text but with files start a run, too", async () => {
    assert.equal(await open().says("/new", { hasFiles: true }), JSON.stringify({ message: "" }));
  });
});

it("/stop stops what its surface started in the session", async () => {
  const run = (runId: string, source: string): RunState => ({ runId, source, sessionKey: KEY, status: "running" });
  const stopped: string[] = [];
  const runs = {
    active: () => [run("a", "chat"), run("b", "channel"), run("c", "channel"), run("d", "cron")],
    abort: (runId: string, reason: string) => stopped.push(`${runId} ${reason}`) > 0,
  };
  const { says } = openCommands({ runs: having<AgentRuns>(runs) });
  assert.equal(await says("stop!", { surface: "channel" }), "Stopped 2 runs.");
  assert.deepEqual(stopped, ["b stop", "c stop"]);
  assert.equal(await says("/stop", { surface: "chat" }), "Stopped 1 run.");
  assert.equal(await says("/stop", { surface: "pigeon" }), "Nothing to stop.");
});

it("/compact passes what to keep to a run of its own", async () => {
  const { says } = openCommands();
  assert.equal(await says("/compact keep names"), '{"message":"/compact keep names","compact":"keep names"}');
  assert.equal(await says("/compact"), '{"message":"/compact","compact":""}');
});

describe("/queue", () => {
  const all = { queueMode: "steer", queueDebounceMs: 5, queueCap: 2, queueDrop: "new" };
  const shown: [text: string, fields: object, reply: RegExp][] = [
    ["/queue", all, /^Queue mode of this session: steer \(debounce 5 ms, cap 2, drop new\)\.$/],
    ["/queue", {}, /: as configured\.$/],
    ["/queue collect", {}, /: collect\.$/],
    ["/queue default", all, /: as configured\.$/],
  ];
  for (const [text, fields, reply] of shown)
    it(`answers ${text} in ${JSON.stringify(fields)}`, async () => {
      const { says, acts } = open(fields);
      assert.match(await says(text), reply);
      assert.equal(acts.length, text === "/queue" ? 0 : 1);
    });

  const none = { queueMode: undefined, queueDebounceMs: undefined, queueCap: undefined, queueDrop: undefined };
  const settings: [words: string, patch: object][] = [
    ["", {}],
    ["Steer+Backlog", { queueMode: "steer+backlog" }],
    [
      "collect debounce:2s cap:5 drop:old",
      { queueMode: "collect", queueDebounceMs: 2_000, queueCap: 5, queueDrop: "old" },
    ],
    ["debounce:0", { queueDebounceMs: 0 }],
    ["default", none],
  ];
  for (const [words, patch] of settings) it(`reads "${words}"`, () => assert.deepEqual(queueSettings(words), patch));
  for (const words of ["loud", "cap:0", "cap:2s", "debounce:x", "drop:all", "debounce:", "collect x"]) {
    it(`is refused as "/queue ${words}"`, () =>
      assert.rejects(open().says(`/queue ${words}`), { code: "INVALID_REQUEST", message: /modes: collect/ }));
  }
});

describe("/trust and /status", () => {
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
  for (const [who, origins, isTrusted, reply] of people) {
    it(`by a caller with ${who}, with ${origins.length} messages`, async () => {
      const patches: object[] = [];
      const items = origins.map((origin, index) => ({
        id: `m${index}`,
        message: { role: "user" as const, content: [], timestamp: 1, ...(origin ? { origin } : {}) },
      }));
      let entry: Partial<SessionEntry> = {};
      const sessions: Partial<Sessions> = {
        agentOf: () => "main",
        context: async () => ({ summary: undefined, items }),
        get: async () => entry as SessionEntry,
        async ensure(_key, patch = {}) {
          patches.push(patch);
          return (entry = { ...entry, ...patch }) as SessionEntry;
        },
      };
      const { says } = openCommands({ sessions: having(sessions) });
      const principal = principalWith(who);
      for (const _again of [1, 2]) assert.match(await says("/trust", { principal }), reply);
      assert.deepEqual(patches, isTrusted ? [{ trustedAt: 5, trustedByRunId: "r1" }] : []);
      const told = await says("/status", { principal });
      assert.match(told, origins.includes(web) ? /messages of web \(https/ : /only messages of the owner/);
    });
  }

  it("show the model and the replies in progress", async () => {
    const { says } = open({ modelProvider: "p", model: "m" });
    assert.match(await says("/status"), /\nModel: p\/m\. Replies in progress or waiting: 0\.$/);
  });

  for (const text of ["/status of the build", "/trust me", "/whoami really"])
    it(`refuses "${text}", and says how to send it`, () =>
      assert.rejects(open().says(text), { code: "INVALID_REQUEST", message: /stands alone; .* write \/\/[a-z]+ / }));
});

describe("/whoami", () => {
  it("shows the person of a channel, and what they may do", async () => {
    const more = {
      sender: { id: "ann", name: "Ann" },
      address: { channel: "pigeon", accountId: "default", to: "#team" },
    };
    const text = await openCommands().says("/whoami", { ...more, principal: principalWith("operator.write") });
    assert.equal(
      text,
      "You are ann (Ann) on pigeon, default, #team, for the gateway p with operator.write, in the session agent:main:main.",
    );
  });

  it("shows the principal of a client", async () => {
    assert.match(await openCommands().says("/whoami"), /^You are p with operator\.admin, in the session/);
  });
});

describe("a command without the plugin it needs", () => {
  const rows: [text: string, plugin: string][] = [
    ["/new", "sessions"],
    ["/queue", "sessions"],
    ["/status", "sessions"],
    ["/trust", "sessions"],
    ["/stop", "agents"],
  ];
  for (const [text, plugin] of rows)
    it(`${text} names ${plugin}`, async () =>
      assert.match(
        await openCommands().says(text),
        new RegExp(`^${text} needs the plugin ${plugin}, which is not running`),
      ));
});
