import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withDefaults } from "@svc/sdk";
import type { QueueMode, RunRequest } from "@svc/sdk/agents";
import { QueueConfig } from "../../../../plugins/agents/config.ts";
import {
  makeRoom,
  nextTurn,
  turnImages,
  turnMessage,
  type Waiting,
} from "../../../../plugins/agents/runs/queue-plan.ts";
import { parseQueueMode, queueModeOf, queueSettings } from "../../../../plugins/agents/runs/queue-settings.ts";
import { principal, request } from "../script.ts";

const settings = { debounceMs: 1_000, cap: 3, drop: "summarize" } as const;

function waiting(runId: string, mode?: QueueMode, changes: Partial<RunRequest> = {}, isOverflow = false): Waiting {
  return { request: request(runId, changes), queue: mode && { ...settings, mode }, isOverflow };
}

const ids = (items: readonly Waiting[] = []) => items.map(({ request: { runId } }) => runId);

function turn(items: readonly Waiting[]) {
  const next = nextTurn(items);
  return next && [next.leader.request.runId, ids(next.merged), ids(next.overflow)];
}

describe("the next turn", () => {
  const cases: [string, Waiting[], unknown][] = [
    ["is none when nothing waits", [], undefined],
    ["is the oldest run", [waiting("a"), waiting("b")], ["a", [], []]],
    ["is one message at a time for followup", [waiting("a", "followup"), waiting("b", "followup")], ["a", [], []]],
    [
      "is all that collect, answered by the newest",
      [waiting("a", "collect"), waiting("b", "collect"), waiting("c", "collect")],
      ["c", ["a", "b"], []],
    ],
    ["ends where another mode begins", [waiting("a", "collect"), waiting("b"), waiting("c", "collect")], ["a", [], []]],
    [
      "keeps callers apart",
      [waiting("a", "collect"), waiting("b", "collect", { principal: { ...principal, id: "device:x" } })],
      ["a", [], []],
    ],
    [
      "keeps rights apart",
      [waiting("a", "collect"), waiting("b", "collect", { principal: { ...principal, scopes: ["operator.admin"] } })],
      ["a", [], []],
    ],
    ["keeps models apart", [waiting("a", "collect", { model: "x" }), waiting("b", "collect")], ["a", [], []]],
    [
      "takes lines of what was too much along",
      [waiting("a", "followup", {}, true), waiting("b", "followup"), waiting("c", "followup")],
      ["b", [], ["a"]],
    ],
    [
      "asks the newest of what was too much when the rest was stopped",
      [waiting("a", "collect", {}, true), waiting("b", "collect", {}, true)],
      ["b", [], ["a"]],
    ],
  ];
  for (const [what, items, expected] of cases) it(what, () => assert.deepEqual(turn(items), expected));
});

describe("the words of a turn", () => {
  it("are those of the message when there is one", () => {
    const leader = waiting("a", "collect");
    assert.equal(turnMessage({ leader, merged: [], overflow: [] }), "hello from a");
  });

  it("are a title, what was left out, and the messages by number", () => {
    const long = `two\nlines ${"x".repeat(300)}`;
    const text = turnMessage({
      leader: waiting("b", "collect"),
      merged: [waiting("a", "collect")],
      overflow: [waiting("o", "collect", { message: long })],
    });
    const line = `two lines ${"x".repeat(147)}...`;
    assert.equal(line.length, 160);
    assert.equal(
      text,
      "[Messages that arrived while the agent was busy]\n\n" +
        `1 older message left out because the queue was full; it began:\n- ${line}\n\n` +
        "---\nQueued #1\nhello from a\n\n---\nQueued #2\nhello from b",
    );
  });

  it("come with the images of all", () => {
    const image = (data: string) => ({ images: [{ type: "image" as const, data, mimeType: "image/png" }] });
    const images = turnImages({
      leader: waiting("b", "collect", image("B")),
      merged: [waiting("a", "collect", image("A"))],
      overflow: [],
    });
    assert.deepEqual(
      images.map(({ data }) => data),
      ["A", "B"],
    );
  });
});

describe("a full queue", () => {
  const held = [waiting("a", "followup"), waiting("b", "followup"), waiting("c", "followup")];
  const rule = (drop: "old" | "new" | "summarize", cap = 3) => ({ ...settings, mode: "followup" as const, drop, cap });

  it("has room below its cap", () => {
    assert.deepEqual(makeRoom(held, rule("old", 4)), { refuse: false, drop: [], summarize: [] });
  });

  it("refuses the new message", () => assert.deepEqual(makeRoom(held, rule("new")), { refuse: true }));

  it("drops the oldest", () => {
    assert.deepEqual(makeRoom(held, rule("old")), { refuse: false, drop: [held[0]], summarize: [] });
  });

  it("keeps a line of the oldest, and at most as many lines as messages", () => {
    assert.deepEqual(makeRoom(held, rule("summarize")), { refuse: false, drop: [], summarize: [held[0]] });
    const lines = ["o1", "o2", "o3"].map((id) => waiting(id, "followup", {}, true));
    const room = makeRoom([...lines, ...held], rule("summarize"));
    assert.deepEqual(room, { refuse: false, drop: [lines[0]], summarize: [held[0]] });
  });
});

describe("queue settings", () => {
  const config = (queue: object) => withDefaults(QueueConfig, queue);
  const entry = (fields: object) => ({ sessionId: "s", updatedAt: 1, ...fields });

  it("know the other names of modes", () => {
    assert.deepEqual(["queue", "steer+backlog", "collect", "loud"].map(parseQueueMode), [
      "steer",
      "steer-backlog",
      "collect",
      undefined,
    ]);
  });

  it("take the mode of the session, of the channel, the one for all, and collect", () => {
    const all = config({ mode: "followup", byChannel: { irc: "steer" } });
    assert.equal(queueModeOf(entry({ queueMode: "interrupt" }), all, "irc"), "interrupt");
    assert.equal(queueModeOf(entry({ queueMode: "loud" }), all, "irc"), "steer");
    assert.equal(queueModeOf(undefined, all, "matrix"), "followup");
    assert.equal(queueModeOf(undefined, config({}), "matrix"), "collect");
    assert.equal(queueModeOf(undefined, config({})), "collect");
  });

  it("answer each message of a web chat by default", () => {
    assert.equal(queueModeOf(undefined, config({}), "webchat"), "followup");
    assert.equal(queueModeOf(undefined, config({ mode: "collect" }), "webchat"), "collect");
  });

  it("take each option of the session, then of the channel, then the one for all", () => {
    const all = config({ debounceMs: 5, debounceMsByChannel: { irc: 7 }, cap: 9, drop: "old" });
    assert.deepEqual(queueSettings("collect", undefined, all, "irc"), {
      mode: "collect",
      debounceMs: 7,
      cap: 9,
      drop: "old",
    });
    const own = entry({ queueDebounceMs: 0, queueCap: 2, queueDrop: "new" });
    assert.deepEqual(queueSettings("collect", own, all, "irc"), {
      mode: "collect",
      debounceMs: 0,
      cap: 2,
      drop: "new",
    });
    const wrong = entry({ queueDebounceMs: -1, queueCap: 0, queueDrop: "all" });
    assert.deepEqual(queueSettings("collect", wrong, all), { mode: "collect", debounceMs: 5, cap: 9, drop: "old" });
  });
});
