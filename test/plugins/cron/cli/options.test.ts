/** Options of `svc cron add` and `svc cron edit`, and the params that the gateway gets. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type GatewayError, matches } from "@svc/sdk";
import { type CronJob, CronJobDraft } from "@svc/sdk/cron";
import { resolveJob } from "../../../../plugins/cron/cli/find-job.ts";
import { draftParams, patchFields } from "../../../../plugins/cron/cli/job-options.ts";
import {
  distanceText,
  localText,
  parseSpan,
  parseWhen,
  roughly,
  spanText,
} from "../../../../plugins/cron/cli/times.ts";
import { changeFrom, draftFrom } from "../../../../plugins/cron/jobs/input.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");

const job: CronJob = {
  id: "4f1c9a2e-0000-4000-8000-000000000001",
  name: "Report",
  enabled: true,
  createdAtMs: 1,
  updatedAtMs: 1,
  schedule: { kind: "cron", expr: "0 9 * * *", tz: "Europe/Berlin" },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "look" },
  delivery: { mode: "announce", channel: "irc", to: "#a" },
  state: {},
};
const posting: CronJob = { ...job, delivery: { mode: "webhook", to: "https://example.com" } };
const reminder: CronJob = {
  ...job,
  schedule: { kind: "every", everyMs: 5 },
  sessionTarget: "main",
  payload: { kind: "systemEvent", text: "tea" },
};

const isRefusal = (pattern: RegExp) => (error: GatewayError) => {
  assert.equal(error.code, "INVALID_REQUEST");
  assert.match(error.message, pattern);
  assert.match(error.message, /\nNext: \S/);
  return true;
};

describe("durations", () => {
  const spans: [text: string, ms: number | undefined][] = [
    ["30s", 30_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
    ["1w", 604_800_000],
    ["250ms", 250],
    ["1h30m", 5_400_000],
    [" 5M ", 300_000],
    ["0", 0],
    ["0s", 0],
    ["5", undefined],
    ["m", undefined],
    ["1.5h", 5_400_000],
    ["-5m", undefined],
    ["5m ago", undefined],
    ["5y", undefined],
    ["99999d", undefined],
    ["", undefined],
  ];
  for (const [text, ms] of spans) it(`"${text}" is ${ms ?? "none"}`, () => assert.equal(parseSpan(text), ms));

  it("are parsed as they are printed", () => {
    for (const ms of [0, 999, 90_000, 86_400_000, 93_784_005]) assert.equal(parseSpan(spanText(ms)), ms);
  });

  it("are rounded for people, and moments shown in a zone", () => {
    assert.deepEqual([5, 1_500, 90_500, 3_661_000, 90_061_000].map(roughly), ["5ms", "1s", "1m30s", "1h1m", "1d1h"]);
    const distances = [90_000, -7_200_000, 5].map((ms) => distanceText(NOW + ms, NOW));
    assert.deepEqual(distances, ["in 1m30s", "2h ago", "now"]);
    assert.equal(localText(NOW, "Europe/Berlin"), "Tue 2030-01-01 01:00 GMT+1");
    assert.equal(localText(1e300, "UTC"), "1e+300");
  });
});

describe("moments", () => {
  const moments: [text: string, at: string | undefined][] = [
    ["+1d2h", "2030-01-02T02:00:00.000Z"],
    ["2030-05-01T09:00+02:00", "2030-05-01T07:00:00.000Z"],
    ["+", undefined],
    ["20m", undefined],
    ["tomorrow", undefined],
  ];
  for (const [text, at] of moments) it(`"${text}" is ${at ?? "none"}`, () => assert.equal(parseWhen(text, NOW), at));
});

describe("svc cron add", () => {
  const at = { kind: "at", at: "2030-01-01T00:20:00.000Z" };
  const text = { kind: "systemEvent", text: "tea" };
  const turn = { kind: "agentTurn", message: "look" };
  /** The options of a reminder and of a turn, and their params. */
  const tea = { systemEvent: "tea" };
  const teaSoon = { at: "+20m", ...tea };
  const lookSoon = { at: "+20m", message: "look" };
  const reminds = { schedule: at, payload: text };
  const works = { schedule: at, payload: turn };
  const irc = { channel: "irc", to: "#a" };
  const onTurn = { model: "m", thinking: "low" };

  const cases: [what: string, options: object, params: object][] = [
    ["a reminder", teaSoon, reminds],
    ["every", { every: "90s", ...tea }, { ...reminds, schedule: { kind: "every", everyMs: 90_000 } }],
    [
      "cron",
      { cron: " 0 9 * * 1-5 ", tz: "Europe/Berlin", stagger: "0", ...tea },
      { ...reminds, schedule: { kind: "cron", expr: "0 9 * * 1-5", tz: "Europe/Berlin", staggerMs: 0 } },
    ],
    [
      "a turn",
      { ...lookSoon, ...onTurn, timeoutSeconds: "0", agent: "b", name: "x", description: "y" },
      { ...works, payload: { ...turn, ...onTurn, timeoutSeconds: 0 }, agentId: "b", name: "x", description: "y" },
    ],
    [
      "a channel announces",
      { ...lookSoon, ...irc, account: "b" },
      { ...works, delivery: { mode: "announce", ...irc, accountId: "b" } },
    ],
    ["announce", { ...lookSoon, announce: true }, { ...works, delivery: { mode: "announce" } }],
    [
      "best effort announces",
      { ...lookSoon, bestEffortDeliver: true },
      { ...works, delivery: { mode: "announce", bestEffort: true } },
    ],
    ["a webhook", { ...lookSoon, webhook: "https://a" }, { ...works, delivery: { mode: "webhook", to: "https://a" } }],
    ["no delivery", { ...lookSoon, deliver: false }, { ...works, delivery: { mode: "none" } }],
    ["what commander fills in", { ...lookSoon, deliver: true, failureAlert: true }, works],
    [
      "where and how",
      { ...teaSoon, session: "Main", sessionKey: "k", wake: "next-heartbeat", disabled: true, keepAfterRun: true },
      {
        ...reminds,
        sessionTarget: "main",
        sessionKey: "k",
        wakeMode: "next-heartbeat",
        enabled: false,
        deleteAfterRun: false,
      },
    ],
    [
      "times that were missed or overlap",
      { ...teaSoon, catchUp: "all", catchUpWindow: "6h", overlap: "queue", deleteAfterRun: true },
      { ...reminds, catchUp: { mode: "all", windowMs: 21_600_000 }, overlap: "queue", deleteAfterRun: true },
    ],
    [
      "an alert",
      {
        ...teaSoon,
        failureAlertAfter: "3",
        failureAlertCooldown: "0",
        failureAlertChannel: "irc",
        failureAlertTo: "b",
      },
      { ...reminds, failureAlert: { after: 3, cooldownMs: 0, channel: "irc", to: "b" } },
    ],
    ["no alert", { ...lookSoon, failureAlert: false }, { ...works, failureAlert: false }],
  ];
  for (const [what, options, params] of cases) {
    it(`accepts ${what}`, () => {
      const asked = draftParams({ ...options }, NOW);
      assert.deepEqual(asked, params);
      assert.ok(matches(CronJobDraft, draftFrom(asked, NOW)), "the gateway takes it");
    });
  }

  const refused: [what: string, options: object, why: RegExp][] = [
    ["no time", tea, /the job has no schedule\nNext: give --at \+20m, --every 1h or --cron/],
    ["nothing to do", { at: "+20m" }, /the job has no payload\nNext: give --message/],
    ["two times", { ...teaSoon, every: "1h" }, /--at and --every exclude each other/],
    ["two things to do", { ...lookSoon, ...tea }, /--system-event and --message exclude each other/],
    ["an invalid moment", { at: "soon", ...tea }, /--at takes ISO 8601 or \+20m, not "soon"/],
    ["what would steer the terminal", { at: "\u001b[2J", ...tea }, /not "\\u001b\[2J"/],
    ["a length without a unit", { every: "5", ...tea }, /takes a duration like 30s, .* not "5"\nNext: --every 5m/],
    ["no time between", { every: "0", ...tea }, /--every takes a duration/],
    ["a blank expression", { cron: " ", ...tea }, /--cron is blank/],
    ["a zone without --cron", { ...teaSoon, tz: "UTC" }, /--tz is only valid with --cron/],
    ["a stagger without --cron", { every: "5m", ...tea, stagger: "5m" }, /--stagger is only valid with --cron/],
    ["a blank text", { ...teaSoon, systemEvent: " " }, /--system-event is blank/],
    ["a blank message", { ...lookSoon, message: "" }, /--message is blank/],
    ["a blank name", { ...teaSoon, name: "" }, /--name is blank/],
    ["a model of a reminder", { ...teaSoon, model: "m" }, /--model is only valid with --message/],
    ["seconds that are none", { ...lookSoon, timeoutSeconds: "5s" }, /--timeout-seconds takes a whole number from 0/],
    ["an unknown session", { ...lookSoon, session: "side" }, /--session takes main, isolated, not "side"/],
    ["two deliveries", { ...lookSoon, announce: true, webhook: "https://x" }, /--announce and --webhook exclude/],
    ["a channel of a webhook", { ...lookSoon, webhook: "https://x", channel: "irc" }, /--channel is only valid with/],
    ["a recipient of nothing", { ...lookSoon, deliver: false, to: "#a" }, /--no-deliver and --to exclude each other/],
    ["best effort for nothing", { ...lookSoon, deliver: false, bestEffortDeliver: true }, /--no-deliver and --best-/],
    ["both after a run", { ...teaSoon, deleteAfterRun: true, keepAfterRun: true }, /--delete-after-run and --keep/],
    ["a window without all", { ...teaSoon, catchUp: "last", catchUpWindow: "6h" }, /only valid with --catch-up all/],
    [
      "an alert and none",
      { ...lookSoon, failureAlert: false, failureAlertAfter: "3" },
      /--no-failure-alert and --fail/,
    ],
    ["an alert after nothing", { ...lookSoon, failureAlertAfter: "0" }, /takes a whole number from 1 to 1000, not "0"/],
  ];
  for (const [what, options, why] of refused) {
    it(`refuses ${what}`, () => assert.throws(() => draftParams({ ...options }, NOW), isRefusal(why)));
  }
});

describe("svc cron edit", () => {
  const berlin = { kind: "cron", expr: "0 9 * * *", tz: "Europe/Berlin" };
  const cases: [what: string, options: object, of: CronJob, patch: object][] = [
    ["a name", { name: "x" }, job, { name: "x" }],
    [
      "texts of nothing, which clear",
      { agent: "", sessionKey: "", description: "", model: "" },
      job,
      { agentId: null, sessionKey: null, description: "", payload: { kind: "agentTurn", model: "" } },
    ],
    ["an expression, its zone stays", { cron: "0 8 * * *" }, job, { schedule: { ...berlin, expr: "0 8 * * *" } }],
    ["a zone, its expression stays", { tz: "UTC" }, job, { schedule: { ...berlin, tz: "UTC" } }],
    ["no zone", { tz: "" }, job, { schedule: { kind: "cron", expr: "0 9 * * *" } }],
    ["a stagger", { stagger: "1m" }, job, { schedule: { ...berlin, staggerMs: 60_000 } }],
    ["another schedule", { every: "5m" }, job, { schedule: { kind: "every", everyMs: 300_000 } }],
    ["work into a reminder", { systemEvent: "tea" }, job, { sessionTarget: "main", payload: reminder.payload }],
    ["a reminder into work", { message: "look" }, reminder, { sessionTarget: "isolated", payload: job.payload }],
    ["a model", { model: "m" }, job, { payload: { kind: "agentTurn", model: "m" } }],
    ["a message", { message: "see" }, job, { payload: { kind: "agentTurn", message: "see" } }],
    ["a recipient", { to: "#b" }, job, { delivery: { mode: "announce", to: "#b" } }],
    ["best effort, its mode stays", { bestEffortDeliver: true }, job, { delivery: { bestEffort: true } }],
    [
      "a channel instead of a webhook",
      { announce: true, channel: "irc" },
      posting,
      { delivery: { mode: "announce", channel: "irc", to: "" } },
    ],
    ["a webhook", { webhook: "https://b" }, posting, { delivery: { mode: "webhook", to: "https://b" } }],
    ["no delivery", { deliver: false }, posting, { delivery: { mode: "none" } }],
    [
      "a window of a job that catches up with all",
      { catchUpWindow: "1h" },
      { ...job, catchUp: { mode: "all" } },
      { catchUp: { mode: "all", windowMs: 3_600_000 } },
    ],
  ];
  for (const [what, options, of, patch] of cases) {
    it(`changes ${what}`, () => {
      const asked = patchFields({ deliver: true, failureAlert: true, ...options }, of, NOW);
      assert.deepEqual(asked, patch);
      assert.deepEqual(changeFrom({ id: of.id, patch: asked }), { id: of.id, patch }, "the gateway takes it");
    });
  }

  const refused: [what: string, options: object, of: CronJob, why: RegExp][] = [
    ["nothing", { deliver: true }, job, /nothing to change\nNext: svc cron edit --help/],
    ["a zone of no expression", { tz: "UTC" }, reminder, /--tz is only valid with --cron/],
    ["a model of a reminder", { model: "m" }, reminder, /--model is only valid with --message/],
    ["a recipient of a webhook", { to: "#b" }, posting, /posts to a webhook\nNext: give --to together with --announce/],
    ["a window of a job that does not catch up", { catchUpWindow: "1h" }, job, /--catch-up-window is only valid with/],
    ["a blank name", { name: " " }, job, /--name is blank/],
  ];
  for (const [what, options, of, why] of refused) {
    it(`refuses ${what}`, () => assert.throws(() => patchFields({ ...options }, of, NOW), isRefusal(why)));
  }
});

describe("the job that an argument names", () => {
  const named = (id: string, name: string): CronJob => ({ ...job, id, name });
  const jobs = [named("aa11", "Report"), named("aa22", "Report weekly"), named("bb33", "Tea"), named("tea", "Other")];
  const found: [wanted: string, id: string][] = [
    ["aa11", "aa11"],
    ["REPORT", "aa11"],
    ["report w", "aa22"],
    ["b", "bb33"],
    ["tea", "tea"],
    ["aa", ""],
    ["nobody", ""],
    [" ", ""],
  ];
  for (const [wanted, id] of found) {
    it(`"${wanted}" is ${id === "" ? "refused" : id}`, () => {
      if (id !== "") return assert.equal(resolveJob(jobs, wanted).id, id);
      return assert.throws(() => resolveJob(jobs, wanted), { name: "GatewayError", message: /\nNext: / });
    });
  }

  it("is refused if several jobs match, with a bounded list of them", () => {
    const many = Array.from({ length: 25 }, (_, at) => named(`a${at}`, "x\u001b"));
    assert.throws(
      () => resolveJob(many, "a"),
      isRefusal(
        /^"a" matches 25 jobs:\n {2}a0 {2}x\\u001b\n(?:.*\n){9} {2}and 15 more\nNext: give the id of one of them$/,
      ),
    );
  });
});
