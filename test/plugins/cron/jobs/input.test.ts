/** Normalisation of the params of `cron.add` and `cron.update`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { GatewayError } from "@svc/sdk";
import { defaultStaggerMs } from "../../../../plugins/cron/schedule/calendar.ts";
import { parseMoment } from "../../../../plugins/cron/schedule/moment.ts";
import { changeFrom, draftFrom } from "../../../../plugins/cron/jobs/input.ts";

type Fields = Record<string, unknown>;

const NOW = Date.parse("2030-01-01T00:00:00Z");
const MINUTE = 60_000;
const YEAR = 365.25 * 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();

const every = { kind: "every", everyMs: 5_000, anchorMs: 7 };
const told = { kind: "systemEvent", text: "tea" };
const turn = { kind: "agentTurn", message: "look" };

/** A job that is already normalised; each case changes something. */
const base = { name: "n", schedule: every, payload: told };
const basicDraft = { ...base, enabled: true, sessionTarget: "main", wakeMode: "now" };
const turnDraft = { ...basicDraft, sessionTarget: "isolated", payload: turn, delivery: { mode: "announce" } };

/** Drops the keys that are `undefined`, as JSON does. */
const json = (value: unknown): Fields => JSON.parse(JSON.stringify(value)) as Fields;

const isRefusal = (pattern: RegExp) => (error: GatewayError) => {
  assert.equal(error.code, "INVALID_REQUEST");
  assert.match(error.message, pattern);
  return true;
};

describe("draftFrom", () => {
  const at = (ms: number) => ({ schedule: { kind: "at", at: iso(ms) } });
  const berlin = { expr: "0 */2 * * *", tz: "Europe/Berlin" };
  const post = { mode: "webhook", to: "https://example.com" };
  const cases: [what: string, given: object, draft: object][] = [
    ["accepts a plain job", {}, {}],
    ["makes an agent turn isolated, and announces it", { payload: turn }, turnDraft],
    [
      "keeps the label, and the thread of a delivery as text",
      { payload: turn, displayName: " Night ", delivery: { mode: "announce", channel: "irc", to: "#a", threadId: 7 } },
      { ...turnDraft, displayName: "Night", delivery: { mode: "announce", channel: "irc", to: "#a", threadId: "7" } },
    ],
    // schedule
    [
      "infers at, which is removed after it ran",
      { schedule: { at: "2030-01-01T01:00:00Z" } },
      { ...at(NOW + 60 * MINUTE), deleteAfterRun: true },
    ],
    [
      "accepts atMs",
      { schedule: { atMs: NOW + MINUTE }, deleteAfterRun: false },
      { ...at(NOW + MINUTE), deleteAfterRun: false },
    ],
    [
      "accepts atMs as text, and the kind in any case",
      { schedule: { kind: "AT", atMs: String(NOW) }, deleteAfterRun: true },
      { ...at(NOW), deleteAfterRun: true },
    ],
    [
      "prefers at to atMs",
      { schedule: { at: "2030-06-01", atMs: NOW } },
      { ...at(Date.UTC(2030, 5, 1)), deleteAfterRun: true },
    ],
    [
      "infers every, and gives it an anchor",
      { schedule: { everyMs: 5 } },
      { schedule: { kind: "every", everyMs: 5, anchorMs: NOW } },
    ],
    [
      "infers cron from the older name of its expression",
      { schedule: { cron: " 5 9 * * 1 ", tz: "" } },
      { schedule: { kind: "cron", expr: "5 9 * * 1" } },
    ],
    ["spreads the full hour", { schedule: berlin }, { schedule: { kind: "cron", ...berlin, staggerMs: 300_000 } }],
    [
      "leaves a stagger of its own",
      { schedule: { expr: "0 * * * *", staggerMs: 0 } },
      { schedule: { kind: "cron", expr: "0 * * * *", staggerMs: 0 } },
    ],
    // payload
    ["accepts a message as the payload", { payload: undefined, message: "look" }, turnDraft],
    ["infers a system event", { payload: { text: "tea" } }, {}],
    ["accepts the kind in any case", { payload: { ...turn, kind: "agentturn" } }, turnDraft],
    [
      "moves what belongs to the turn into it",
      { payload: { ...turn, model: "own" }, model: "other", thinking: "low", timeoutSeconds: 0 },
      { ...turnDraft, payload: { ...turn, model: "own", thinking: "low", timeoutSeconds: 0 } },
    ],
    [
      "makes a delivery of older hints",
      { payload: { ...turn, to: "#a", bestEffortDeliver: true }, provider: "IRC" },
      { ...turnDraft, delivery: { mode: "announce", channel: "irc", to: "#a", bestEffort: true } },
    ],
    [
      "knows that nothing is to be delivered",
      { payload: turn, deliver: false },
      { ...turnDraft, delivery: { mode: "none" } },
    ],
    [
      "leaves older hints next to a delivery unchanged",
      { payload: { ...turn, provider: "IRC", deliver: true }, delivery: { mode: "none" } },
      { ...turnDraft, payload: { ...turn, channel: "irc", deliver: true }, delivery: { mode: "none" } },
    ],
    ["leaves blank texts out", { payload: { ...turn, model: " ", to: "" } }, turnDraft],
    // delivery
    [
      "accepts deliver as announce, and a channel in lower case",
      { payload: turn, delivery: { mode: "Deliver", channel: " IRC ", to: " #a ", accountId: "" } },
      { ...turnDraft, delivery: { mode: "announce", channel: "irc", to: "#a" } },
    ],
    [
      "accepts a webhook",
      { delivery: { ...post, failureDestination: { channel: "IRC" } } },
      {
        ...basicDraft,
        delivery: { ...post, failureDestination: { channel: "irc" } },
      },
    ],
    // the rest
    ["reads enabled as text", { enabled: "False" }, { enabled: false }],
    ["slugs the agent", { agentId: " My Agent! " }, { agentId: "my-agent" }],
    ["leaves out an agent of nothing", { agentId: " ", sessionKey: "" }, {}],
    ["keeps null", { agentId: null, sessionKey: null }, { agentId: null, sessionKey: null }],
    ["drops isolation", { isolation: { any: 1 } }, {}],
    ["treats an unknown wake mode as now", { wakeMode: 5 }, {}],
    ["accepts a wake mode", { wakeMode: "Next-Heartbeat" }, { wakeMode: "next-heartbeat" }],
    [
      "accepts a plain string for catchUp",
      { catchUp: "All", overlap: "Queue" },
      { catchUp: { mode: "all" }, overlap: "queue" },
    ],
    [
      "passes the other fields",
      { catchUp: { mode: "all", windowMs: 5 }, failureAlert: false },
      { catchUp: { mode: "all", windowMs: 5 }, failureAlert: false },
    ],
  ];
  for (const [what, given, draft] of cases) {
    it(what, () => {
      const raw = json({ ...base, ...given });
      const before = structuredClone(raw);
      assert.deepEqual(draftFrom(raw, NOW), json({ ...basicDraft, ...draft }));
      assert.deepEqual(raw, before, "what was given stays as it was");
    });
  }

  it("unwraps a job", () => assert.deepEqual(draftFrom({ job: base }, NOW), basicDraft));

  const names: [given: Fields, name: string][] = [
    [{ payload: { text: "\n  first line \nsecond" } }, "first line"],
    [{ payload: { text: "x".repeat(70) } }, `${"x".repeat(59)}…`],
    [{ payload: { text: `${"x".repeat(58)}\u{1F600}yy` } }, `${"x".repeat(58)}…`],
    [{ name: " ", payload: { message: "look" } }, "look"],
  ];
  for (const [given, name] of names) {
    it(`gives a job without a name the name "${name}"`, () => {
      assert.equal(draftFrom({ schedule: every, ...given }, NOW).name, name);
    });
  }

  const refused: [what: string, given: object, why: RegExp][] = [
    ["an unknown key", { foo: 1 }, /^invalid cron\.add params: at root: unexpected property 'foo'$/],
    ["a wrapped job next to other keys", { job: base, foo: 1 }, /unexpected property 'job'/],
    ["an unknown key of the schedule", { schedule: { ...every, foo: 1 } }, /at \/schedule: unexpected property 'foo'$/],
    ["an unknown kind", { schedule: { kind: "never" } }, /at \/schedule\/kind: must be one of "at", "every", "cron"$/],
    ["no time to wait", { schedule: { everyMs: 0 } }, /at \/schedule\/everyMs: must be >= 1$/],
    ["no payload", { payload: undefined }, /payload/],
    ["a payload of no kind", { payload: { foo: 1 } }, /payload/],
    ["a blank text", { payload: { kind: "systemEvent", text: "  " } }, /at \/payload\/text: must not have fewer/],
    [
      "an unknown mode",
      { delivery: { mode: "shout" } },
      /at \/delivery\/mode: must be one of "none", "announce", "webhook"/,
    ],
    ["no mode", { delivery: {} }, /at \/delivery: must have required properties mode/],
    ["a webhook to nowhere", { delivery: { mode: "webhook", to: " " } }, /at \/delivery\/to: must be the URL/],
    ["an unknown target", { sessionTarget: "side" }, /at \/sessionTarget: must be one of "main", "isolated"/],
    ["an agent without a letter", { agentId: "!!!" }, /at \/agentId: must have a letter or a digit/],
    ["a failure alert of true", { failureAlert: true }, /at \/failureAlert/],
    ["an unknown catch-up", { catchUp: "some" }, /at \/catchUp\/mode: must be one of/],
    [
      "very many keys",
      Object.fromEntries(Array.from({ length: 98 }, (_, at) => [`k${at}`, 1])),
      /has 101 properties; at most 100/,
    ],
    [
      "very many keys below",
      { failureAlert: Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`k${at}`, 1])) },
      /has 500 properties/,
    ],
    ["an invalid moment", { schedule: { at: "tomorrow" } }, /at \/schedule\/at: must be ISO 8601 or epoch ms/],
    ["a day that is in no calendar", { schedule: { at: "2030-02-30" } }, /must be ISO 8601/],
    ["a moment of another kind", { schedule: { kind: "at", atMs: {} } }, /at \/schedule\/at: must be string/],
    [
      "the past",
      { schedule: { at: iso(NOW - MINUTE - 1) } },
      /at \/schedule\/at: must not be in the past; it is 2030-01-01T00:00:00.000Z now/,
    ],
    ["a moment too far ahead", { schedule: { at: iso(NOW + 10 * YEAR + 1) } }, /must not be more than 10 years ahead/],
  ];
  for (const [what, given, why] of refused) {
    it(`refuses ${what}`, () => {
      assert.throws(() => draftFrom(json({ ...base, ...given }), NOW), isRefusal(why));
    });
  }

  for (const at of [NOW - MINUTE, NOW + 10 * YEAR]) {
    it(`accepts ${iso(at)} at ${iso(NOW)}`, () => {
      assert.deepEqual(draftFrom({ ...base, schedule: { atMs: at } }, NOW).schedule, { kind: "at", at: iso(at) });
    });
  }

  const hostile = [
    '{"__proto__":{"polluted":1}}',
    '{"payload":{"text":"x","__proto__":{"polluted":1}}}',
    '{"payload":{"message":"x","__proto__":{"polluted":1}}}',
    '{"schedule":{"everyMs":5,"__proto__":{"polluted":1}}}',
    '{"delivery":{"mode":"none","__proto__":{"polluted":1}}}',
    '{"constructor":{"prototype":{"polluted":1}}}',
  ];
  for (const text of hostile) {
    it(`refuses ${text} by name`, () => {
      // A spread keeps `__proto__` as an own key, as JSON parsing creates it.
      const raw = { ...json(base), ...(JSON.parse(text) as Fields) };
      assert.throws(() => draftFrom(raw, NOW), isRefusal(/unexpected property '(?:__proto__|constructor)'/));
      assert.equal(({} as Fields)["polluted"], undefined);
    });
  }
});

describe("changeFrom", () => {
  const cases: [what: string, patch: unknown, expected: object][] = [
    ["an empty change", {}, {}],
    ["no defaults", { schedule: { everyMs: 5 } }, { schedule: { kind: "every", everyMs: 5 } }],
    ["no stagger", { schedule: { cron: "0 * * * *" } }, { schedule: { kind: "cron", expr: "0 * * * *" } }],
    ["a wrapped change", { data: { name: " x " } }, { name: "x" }],
    ["a turn without a message", { payload: { model: "m" } }, { payload: { kind: "agentTurn", model: "m" } }],
    [
      "a message next to it",
      { message: "look", model: "m" },
      { payload: { kind: "agentTurn", message: "look", model: "m" } },
    ],
    [
      "texts of nothing, which clear",
      { payload: { ...turn, model: "" }, delivery: { channel: " ", to: "" } },
      { payload: { ...turn, model: "" }, delivery: { channel: "", to: "" } },
    ],
    ["a delivery without a mode", { delivery: { channel: "IRC" } }, { delivery: { channel: "irc" } }],
    ["null, which clears", { agentId: null, sessionKey: null }, { agentId: null, sessionKey: null }],
    ["enabled as text", { enabled: "true" }, { enabled: true }],
    ["a part of the state", { state: { nextRunAtMs: 5 } }, { state: { nextRunAtMs: 5 } }],
    [
      "a moment in the past: that is for who knows the job",
      { schedule: { atMs: 5 } },
      { schedule: { kind: "at", at: iso(5) } },
    ],
    ["catchUp as a word", { catchUp: "none" }, { catchUp: { mode: "none" } }],
  ];
  for (const [what, patch, expected] of cases) {
    it(`accepts ${what}`, () => {
      assert.deepEqual(changeFrom({ id: "j", patch }), { id: "j", patch: expected });
      assert.deepEqual(changeFrom({ jobId: "j", patch }), { id: "j", patch: expected });
    });
  }

  const refused: [what: string, given: Fields, why: RegExp][] = [
    ["no id", { patch: {} }, /^invalid cron\.update params: id is missing$/],
    ["two ids", { id: "a", jobId: "b", patch: {} }, /id and jobId exclude each other/],
    ["a blank id", { id: "", patch: {} }, /at \/id: must not have fewer/],
    ["no change", { id: "a" }, /at root: must have required properties patch/],
    ["a change that is a list", { id: "a", patch: [] }, /at \/patch: must be object/],
    ["an unknown key", { id: "a", patch: {}, mode: "x" }, /at root: unexpected property 'mode'/],
    ["an unknown key of the change", { id: "a", patch: { foo: 1 } }, /at \/patch: unexpected property 'foo'/],
    [
      "an unknown mode",
      { id: "a", patch: { delivery: { mode: "shout" } } },
      /at \/patch\/delivery\/mode: must be one of/,
    ],
    ["a blank name", { id: "a", patch: { name: " " } }, /at \/patch\/name: must not have fewer/],
    [
      "an invalid moment",
      { id: "a", patch: { schedule: { at: "soon" } } },
      /at \/patch\/schedule\/at: must be ISO 8601/,
    ],
  ];
  for (const [what, given, why] of refused) {
    it(`refuses ${what}`, () => {
      assert.throws(() => changeFrom(given), isRefusal(why));
    });
  }
});

describe("moments", () => {
  const moments: [text: string, expected: string | undefined][] = [
    ["2030-01-31", "2030-01-31T00:00:00.000Z"],
    ["2030-01-31 09:00:05", "2030-01-31T09:00:05.000Z"],
    ["2030-01-31T09:00:05.25Z", "2030-01-31T09:00:05.250Z"],
    ["2030-01-31T09:00:05.123456789z", "2030-01-31T09:00:05.123Z"],
    ["2030-01-31T09:00+02:00", "2030-01-31T07:00:00.000Z"],
    ["2030-01-31T09:00-0530", "2030-01-31T14:30:00.000Z"],
    ["2030-01-31T09:00+02", "2030-01-31T07:00:00.000Z"],
    [" 1767225600000 ", "2026-01-01T00:00:00.000Z"],
    ["0050-01-01", "0050-01-01T00:00:00.000Z"],
    ["2030-02-29", undefined],
    ["2030-13-01", undefined],
    ["2030-01-31T24:00", undefined],
    ["2030-01-31T09:60", undefined],
    ["2030-01-31T09:00:60", undefined],
    ["2030-01-31T09:00+24:00", undefined],
    ["9999999999999999", undefined],
    ["99999999999999999999", undefined],
    ["-5", undefined],
    ["Jan 31 2030", undefined],
    ["", undefined],
  ];
  for (const [text, expected] of moments) {
    it(`"${text}" is ${expected ?? "none"}`, () => {
      const at = parseMoment(text);
      assert.equal(at === undefined ? undefined : iso(at), expected);
    });
  }
});

describe("the default stagger", () => {
  const exprs: [expr: string, staggerMs: number | undefined][] = [
    ["0 * * * *", 300_000],
    ["00 * * * *", 300_000],
    ["0 0 * * * *", 300_000],
    [" 0  *  * * * ", 300_000],
    ["30 0 * * * *", undefined],
    ["0 9 * * *", undefined],
    ["* * * * *", undefined],
    ["0 *", undefined],
    ["", undefined],
  ];
  for (const [expr, staggerMs] of exprs)
    it(`of "${expr}" is ${staggerMs ?? "none"}`, () => assert.equal(defaultStaggerMs(expr), staggerMs));
});
