/** A job after a change. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CronJob, CronJobPatch } from "@svc/sdk/cron";
import { patched } from "../../../../plugins/cron/jobs/patch.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");

const isolated: CronJob = {
  id: "j",
  name: "n",
  agentId: "main",
  description: "d",
  enabled: true,
  createdAtMs: 1,
  updatedAtMs: 2,
  schedule: { kind: "every", everyMs: 5_000, anchorMs: 7 },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "look", model: "m", thinking: "low" },
  delivery: { mode: "announce", channel: "irc", to: "#a", failureDestination: { channel: "irc", to: "#b" } },
  state: { nextRunAtMs: 10, runningAtMs: 9, lastRunAtMs: 8 },
};
const main: CronJob = {
  ...isolated,
  sessionTarget: "main",
  payload: { kind: "systemEvent", text: "tea" },
  delivery: { mode: "webhook", to: "https://example.com" },
};
const { delivery: _none, ...bare } = isolated;
const once: CronJob = { ...isolated, schedule: { kind: "at", at: "2020-01-01T00:00:00.000Z" } };
const hourly: CronJob = { ...isolated, schedule: { kind: "cron", expr: "0 * * * *", tz: "UTC", staggerMs: 9 } };

const { delivery, payload } = isolated;
const mainTurn = { kind: "agentTurn", message: "look" } as const;
const tea = { kind: "systemEvent", text: "tea" } as const;
const hints = { to: "#z", bestEffortDeliver: true };
const idle = { lastRunAtMs: 8 };

/** A change that is its own effect. Everything else stays. */
const plain: [what: string, job: CronJob, patch: CronJobPatch][] = [
  ["nothing but the time of the change", isolated, {}],
  [
    "plain fields",
    isolated,
    { name: "x", deleteAfterRun: true, wakeMode: "next-heartbeat", overlap: "queue", catchUp: { mode: "none" } },
  ],
  ["an agent and a session", isolated, { agentId: "b", sessionKey: "k" }],
  ["every accepts an anchor", isolated, { schedule: { kind: "every", everyMs: 6, anchorMs: 0 } }],
  ["cron accepts a stagger", hourly, { schedule: { kind: "cron", expr: "5 * * * *", staggerMs: 0 } }],
  ["a new cron without a default stagger has none", isolated, { schedule: { kind: "cron", expr: "5 9 * * *" } }],
  ["at", isolated, { schedule: { kind: "at", at: "2030-01-02T00:00:00.000Z" } }],
  ["a moment in the past that stays", once, { name: "x", schedule: { kind: "at", at: "2020-01-01" } }],
  ["the text alone", main, { payload: { kind: "systemEvent", text: "cake" } }],
  ["a turn replaces the payload", main, { sessionTarget: "isolated", payload: { ...mainTurn, fallbacks: ["a"] } }],
  ["main keeps a webhook", main, { name: "x" }],
  ["no alert", isolated, { failureAlert: false }],
  ["an alert after none", { ...isolated, failureAlert: false }, { failureAlert: { after: 3 } }],
  ["another field of a disabled job", { ...isolated, enabled: false }, { name: "x" }],
  ["enabling leaves the state", { ...isolated, enabled: false }, { enabled: true }],
];

const every = (everyMs: number, anchorMs?: number) =>
  ({ schedule: { kind: "every", everyMs, ...(anchorMs === undefined ? {} : { anchorMs }) } }) as const;
const expression = (expr: string, staggerMs?: number) =>
  ({ schedule: { kind: "cron", expr, ...(staggerMs === undefined ? {} : { staggerMs }) } }) as const;

/** A change and its other effect; `undefined` for removed fields. */
const cases: [what: string, job: CronJob, patch: CronJobPatch, changed: Partial<Record<keyof CronJob, unknown>>][] = [
  ...plain.map(([what, job, patch]): (typeof cases)[number] => [what, job, patch, patch]),
  ["null clears", isolated, { agentId: null, sessionKey: null }, { agentId: undefined }],
  ["a description of nothing", isolated, { description: "" }, { description: undefined }],
  // schedule
  ["every keeps its anchor", isolated, every(6), every(6, 7)],
  ["a new every starts now", hourly, every(6), every(6, NOW)],
  ["cron keeps its stagger, not its zone", hourly, expression("5 * * * *"), expression("5 * * * *", 9)],
  ["a new cron has the default stagger", isolated, expression("0 * * * *"), expression("0 * * * *", 300_000)],
  // payload
  [
    "the message alone",
    isolated,
    { payload: { kind: "agentTurn", message: "see" } },
    { payload: { ...payload, message: "see" } },
  ],
  [
    "a model of nothing",
    isolated,
    { payload: { kind: "agentTurn", model: "" } },
    { payload: { ...mainTurn, thinking: "low" } },
  ],
  [
    "fallbacks are not merged",
    isolated,
    { payload: { kind: "agentTurn", fallbacks: ["a"], timeoutSeconds: 0 } },
    { payload: { ...payload, timeoutSeconds: 0 } },
  ],
  ["no text keeps it", main, { payload: { kind: "systemEvent" } }, {}],
  [
    "another kind replaces the payload",
    isolated,
    { sessionTarget: "main", payload: tea },
    { sessionTarget: "main", payload: tea, delivery: undefined },
  ],
  // delivery
  ["a field of the delivery", isolated, { delivery: { to: "#c" } }, { delivery: { ...delivery, to: "#c" } }],
  [
    "texts of nothing clear",
    isolated,
    { delivery: { channel: "", to: "", failureDestination: { to: "" } } },
    { delivery: { mode: "announce", failureDestination: { channel: "irc" } } },
  ],
  [
    "an empty failure destination is removed",
    isolated,
    { delivery: { failureDestination: { channel: "", to: "" } } },
    { delivery: { mode: "announce", channel: "irc", to: "#a" } },
  ],
  [
    "a delivery where there was none has the mode none",
    bare,
    { delivery: { bestEffort: true } },
    { delivery: { mode: "none", bestEffort: true } },
  ],
  [
    "older hints also make a delivery",
    bare,
    { payload: { kind: "agentTurn", ...hints } },
    { payload: { ...payload, ...hints }, delivery: { mode: "announce", to: "#z", bestEffort: true } },
  ],
  [
    "an older hint that nothing is to be delivered",
    isolated,
    { payload: { kind: "agentTurn", deliver: false } },
    { payload: { ...payload, deliver: false }, delivery: { ...delivery, mode: "none" } },
  ],
  [
    "best effort alone leaves the mode",
    isolated,
    { payload: { kind: "agentTurn", bestEffortDeliver: true } },
    { payload: { ...payload, bestEffortDeliver: true }, delivery: { ...delivery, bestEffort: true } },
  ],
  [
    "a delivery wins over older hints",
    isolated,
    { payload: { kind: "agentTurn", to: "#z" }, delivery: { mode: "none" } },
    { payload: { ...payload, to: "#z" }, delivery: { ...delivery, mode: "none" } },
  ],
  ["main drops any other delivery", main, { delivery: { mode: "announce" } }, { delivery: undefined }],
  [
    "an alert is merged",
    { ...isolated, failureAlert: { after: 3, to: "#a" } },
    { failureAlert: { to: "", cooldownMs: 5 } },
    { failureAlert: { after: 3, cooldownMs: 5 } },
  ],
  // state
  ["the state is merged", isolated, { state: { nextRunAtMs: 50 } }, { state: { ...isolated.state, nextRunAtMs: 50 } }],
  ["disabling stops", isolated, { enabled: false, state: { nextRunAtMs: 50 } }, { enabled: false, state: idle }],
  ["a schedule of a disabled job", { ...isolated, enabled: false }, { schedule: isolated.schedule }, { state: idle }],
];

describe("patched", () => {
  for (const [what, job, patch, changed] of cases) {
    it(what, () => {
      const before = structuredClone({ job, patch });
      const expected = Object.entries({ ...job, ...changed, updatedAtMs: NOW }).filter(
        ([, value]) => value !== undefined,
      );
      assert.deepEqual(patched(job, patch, NOW), Object.fromEntries(expected));
      assert.deepEqual({ job, patch }, before, "what was given stays as it was");
    });
  }

  const past = /^invalid cron\.update params: at \/patch\/schedule\/at: must not be in the past/;
  const at = (text: string) => ({ schedule: { kind: "at", at: text } }) as const;
  const refused: [what: string, job: CronJob, patch: CronJobPatch, code: string, why: RegExp][] = [
    ["no text", isolated, { payload: { kind: "systemEvent" } }, "UNAVAILABLE", /^Error: .*needs text/],
    ["no message", main, { payload: { kind: "agentTurn", model: "m" } }, "UNAVAILABLE", /^Error: .*needs message/],
    ["the past", once, at("2020-01-02"), "INVALID_REQUEST", past],
    ["a moment too far ahead", isolated, at("2041-01-01"), "INVALID_REQUEST", /10 years/],
  ];
  for (const [what, job, patch, code, message] of refused) {
    it(`refuses ${what}`, () => assert.throws(() => patched(job, patch, NOW), { code, message }));
  }
});
