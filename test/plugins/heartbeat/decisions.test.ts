/** Pure decisions: intervals, active hours, gates, prompts and reports. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { acknowledged, withoutAcknowledgement } from "@svc/kit/runs";
import type { RunOutcome } from "@svc/sdk/agents";
import { isWithin } from "../../../plugins/heartbeat/active-hours.ts";
import { BUSY_LIMIT_MS, type GateFacts, gateOf, saysNothing, worthless } from "../../../plugins/heartbeat/decision.ts";
import { beating, sessionOf, viewOf } from "../../../plugins/heartbeat/hearts.ts";
import { everyMsOf } from "../../../plugins/heartbeat/interval.ts";
import { DEFAULT_PROMPT, messageOf } from "../../../plugins/heartbeat/prompts.ts";
import { reasoningOf, recentAlert, reportOfAlert, resultOf } from "../../../plugins/heartbeat/report.ts";
import { isAboutSomething, strongerReason } from "../../../plugins/heartbeat/wake-reasons.ts";
import { SETTINGS } from "./events.ts";

const SHOWN = { showOk: false, showAlerts: true, useIndicator: true };

describe("an interval", () => {
  const cases: [every: string, ms: number | null][] = [
    ["30m", 1_800_000],
    ["45", 2_700_000],
    ["1.5h", 5_400_000],
    ["1h30m", 5_400_000],
    [" 2D ", 172_800_000],
    ["90s", 90_000],
    ["5ms", 1_000],
    ["0", null],
    ["", null],
    ["-5m", null],
    ["soon", null],
    ["30 minutes", null],
  ];
  for (const [every, ms] of cases) it(`"${every}" is ${ms}`, () => assert.equal(everyMsOf(every), ms));
});

describe("active hours", () => {
  const at = (iso: string) => Date.parse(iso);
  const berlin = (start: string, end: string) => ({ start, end, timezone: "Europe/Berlin" });
  const cases: [what: string, hours: Parameters<typeof isWithin>[0], iso: string, active: boolean][] = [
    ["none are always", undefined, "2026-01-01T03:00:00Z", true],
    ["the first minute is in them", berlin("08:00", "22:00"), "2026-01-01T07:00:00Z", true],
    ["the minute before is not", berlin("08:00", "22:00"), "2026-01-01T06:59:59Z", false],
    ["the last minute is not", berlin("08:00", "22:00"), "2026-01-01T21:00:00Z", false],
    ["in summer an hour earlier", berlin("08:00", "22:00"), "2026-07-01T06:00:00Z", true],
    ["the day the clocks go forward", berlin("02:00", "04:00"), "2026-03-29T01:00:00Z", true],
    ["the hour that comes twice, first", berlin("02:00", "03:00"), "2026-10-25T00:30:00Z", true],
    ["the hour that comes twice, again", berlin("02:00", "03:00"), "2026-10-25T01:30:00Z", true],
    ["past midnight, late", berlin("22:00", "06:00"), "2026-01-01T22:00:00Z", true],
    ["past midnight, early", berlin("22:00", "06:00"), "2026-01-01T04:59:00Z", true],
    ["past midnight, by day", berlin("22:00", "06:00"), "2026-01-01T11:00:00Z", false],
    ["until 24:00", berlin("20:00", "24:00"), "2026-01-01T22:59:00Z", true],
    ["equal ones are never", berlin("08:00", "08:00"), "2026-01-01T07:00:00Z", false],
    ["a start of 24:00 cannot be read", berlin("24:00", "08:00"), "2026-01-01T12:00:00Z", true],
    ["no time of a day", berlin("eight", "22:00"), "2026-01-01T03:00:00Z", true],
    ["a minute too many", berlin("08:60", "22:00"), "2026-01-01T03:00:00Z", true],
    ["no such zone", { start: "08:00", end: "09:00", timezone: "Mars/Base" }, "2026-01-01T03:00:00Z", true],
    ["no end", { start: "08:00", timezone: "UTC" }, "2026-01-01T23:59:00Z", true],
    ["no start", { end: "08:00", timezone: "UTC" }, "2026-01-01T08:00:00Z", false],
  ];
  for (const [what, hours, iso, active] of cases) it(what, () => assert.equal(isWithin(hours, at(iso), "UTC"), active));

  const noon = { here: new Date(2026, 0, 5, 12, 30).getTime(), inTokyo: at("2026-01-05T12:30:00+09:00") };
  const zones: [timezone: string | undefined, now: number][] = [
    [undefined, noon.inTokyo],
    ["user", noon.inTokyo],
    [" User ", noon.inTokyo],
    ["local", noon.here],
  ];
  for (const [timezone, now] of zones)
    it(`in the zone ${timezone}`, () => {
      const zone = timezone === undefined ? {} : { timezone };
      assert.equal(isWithin({ start: "12:30", end: "12:31", ...zone }, now, "Asia/Tokyo"), true);
      assert.equal(isWithin({ start: "12:31", end: "12:32", ...zone }, now, "Asia/Tokyo"), false);
    });
});

describe("the gate of a heartbeat", () => {
  const open: GateFacts = {
    isOn: true,
    everyMs: 1,
    isWithinHours: true,
    isSessionBusy: false,
    isLaneBusy: false,
    waitedMs: 0,
  };
  const worst = { ...open, isOn: false, everyMs: null, isWithinHours: false, isSessionBusy: true, isLaneBusy: true };
  const cases: [what: string, facts: GateFacts, gate: ReturnType<typeof gateOf>][] = [
    ["nothing is in the way", open, "open"],
    ["the switch comes first", worst, "disabled"],
    ["then the agent", { ...worst, isOn: true }, "disabled"],
    ["then the hours", { ...worst, isOn: true, everyMs: 1 }, "quiet-hours"],
    ["then its session", { ...open, isSessionBusy: true, waitedMs: BUSY_LIMIT_MS }, "requests-in-flight"],
    ["then others", { ...open, isLaneBusy: true, waitedMs: BUSY_LIMIT_MS - 1 }, "requests-in-flight"],
    ["others not for ever", { ...open, isLaneBusy: true, waitedMs: BUSY_LIMIT_MS }, "open"],
  ];
  for (const [what, facts, gate] of cases) it(`${what}: ${gate}`, () => assert.equal(gateOf(facts), gate));

  const nothing = { showOk: false, showAlerts: false, useIndicator: false };
  const worths: [what: string, facts: Parameters<typeof worthless>[0], skip: string | undefined][] = [
    ["no file", { file: undefined, isAboutSomething: false, visibility: SHOWN }, undefined],
    ["an empty file", { file: "# T\n\n- \n", isAboutSomething: false, visibility: nothing }, "empty-heartbeat-file"],
    ["an empty file, but something happened", { file: "", isAboutSomething: true, visibility: SHOWN }, undefined],
    ["nobody would see it", { file: "- look", isAboutSomething: true, visibility: nothing }, "alerts-disabled"],
    [
      "one sees the mark",
      { file: "- x", isAboutSomething: false, visibility: { ...nothing, useIndicator: true } },
      undefined,
    ],
  ];
  for (const [what, facts, skip] of worths) it(`${what}: ${skip}`, () => assert.equal(worthless(facts), skip));

  for (const [file, empty] of [
    ["", true],
    ["# Things\r\n\r\n## More\n", true],
    ["-\n* \n- [ ]\n- [x] \n", true],
    ["#hashtag", false],
    ["- water the plants", false],
    ["- [ ] call Ann", false],
    ["look", false],
  ] as const)
    it(`a file of ${JSON.stringify(file)} is ${empty ? "" : "not "}empty`, () =>
      assert.equal(saysNothing(file), empty));

  for (const [former, later, stronger] of [
    ["retry", "interval", "interval"],
    ["interval", "retry", "interval"],
    ["interval", "wake", "wake"],
    ["hook:1", "cron:2", "hook:1"],
    ["cron:1", "manual", "manual"],
    ["hook:1", "exec-event:2", "exec-event:2"],
  ] as const)
    it(`of ${former} and ${later}, ${stronger} wins`, () => assert.equal(strongerReason(former, later), stronger));

  it("recognizes reasons with a cause", () => {
    const reasons = ["exec-event", "exec-event:7", "cron:j", "wake", "hook:w", "interval", "manual", "retry"];
    assert.deepEqual(reasons.filter(isAboutSomething), ["exec-event", "exec-event:7", "cron:j", "wake", "hook:w"]);
  });
});

describe("agents, sessions and views of heartbeats", () => {
  const sessions = {
    canonicalKey: (key: string) => (key.includes("::") ? assert.fail("malformed") : key.toLowerCase()),
    agentOf: (key: string) => key.split(":")[1] ?? "",
  };
  it("agents with an interval", () => {
    const agents = {
      list: () => ["a", "b", "c"].map((id) => ({ id, isDefault: id === "a", workspace: "/w" })),
      heartbeat: (id: string) => (id === "a" ? undefined : { ...SETTINGS, every: id === "b" ? "0" : "5m" }),
    };
    assert.deepEqual(beating(agents), [{ agentId: "c", everyMs: 300_000 }]);
  });
  for (const [session, key] of [
    ["main", "agent:a:main"],
    ["Night", "agent:a:night"],
    ["agent:a:x", "agent:a:x"],
    ["agent:b:x", "agent:a:main"],
    ["", "agent:a:main"],
  ] as const)
    it(`"${session}" is ${key}`, () => assert.equal(sessionOf("a", { session }, sessions), key));

  it("the view", () => {
    const off = { enabled: false, every: "0m", everyMs: null, prompt: DEFAULT_PROMPT };
    assert.deepEqual(viewOf(undefined, true), { ...off, target: "none", ackMaxChars: 0 });
    assert.deepEqual(viewOf(SETTINGS, false), { ...off, target: "last", ackMaxChars: 300 });
    const own = { ...SETTINGS, prompt: "Look.", model: "m", every: "1h" };
    const shown = { enabled: true, every: "1h", everyMs: 3_600_000, prompt: "Look.", target: "last", model: "m" };
    assert.deepEqual(viewOf(own, true), { ...shown, ackMaxChars: 300 });
  });
});

describe("the prompt", () => {
  const events = (...reasons: string[]) => reasons.map((reason) => ({ reason }));
  const cases: [what: string, reasons: string[], says: RegExp][] = [
    ["the configured ones", [], /^Look\.\n\nCurrent time: /],
    ["of webhooks too", ["hook:wake"], /^Look\./],
    ["a reminder", ["hook:wake", "cron:j"], /reminder/],
    ["a finished command comes before it", ["cron:j", "exec-event:p"], /command/],
    ["one on a node too", ["node:exec.finished"], /command/],
  ];
  for (const [what, reasons, says] of cases)
    it(what, () => assert.match(messageOf({ prompt: "Look." }, events(...reasons), 0, "UTC"), says));
  it("contains the user's local time", () =>
    assert.match(messageOf({}, [], 0, "Asia/Tokyo"), /Thursday, 1970-01-01, 09:00 \(Asia\/Tokyo\)$/));
  it("is built in by default", () => assert.match(messageOf({}, [], 0, "UTC"), /HEARTBEAT\.md[^]*HEARTBEAT_OK/));
});

describe("an acknowledgement", () => {
  const cases: [answer: string, rest: string, found: boolean][] = [
    ["HEARTBEAT_OK", "", true],
    ["  HEARTBEAT_OK.  ", "", true],
    ["HEARTBEAT_OK!!!! fine", "fine", true],
    ["**HEARTBEAT_OK**", "", true],
    ["<b>HEARTBEAT_OK</b>", "", true],
    ["_HEARTBEAT_OK_", "", true],
    ["All is well. HEARTBEAT_OK", "All is well.", true],
    ["All is well.\n\n`HEARTBEAT_OK`.", "All is well.", true],
    ["The word HEARTBEAT_OK stands here", "The word HEARTBEAT_OK stands here", false],
    ["HEARTBEAT_OKAY then", "HEARTBEAT_OKAY then", false],
    ["MY_HEARTBEAT_OK", "MY_HEARTBEAT_OK", false],
    ["alarm", "alarm", false],
  ];
  for (const [answer, text, found] of cases)
    it(JSON.stringify(answer), () => assert.deepEqual(withoutAcknowledgement(answer), { text, found }));

  const rule = { maxChars: 5, repeats: "same" };
  const verdicts: [answer: string, verdict: ReturnType<typeof acknowledged>][] = [
    ["", { nothing: "empty" }],
    [" NO_REPLY\n", { nothing: "empty" }],
    ["HEARTBEAT_OK 12345", { nothing: "token" }],
    ["HEARTBEAT_OK 123456", { alert: "123456" }],
    ["123", { alert: "123" }],
    ["same", { nothing: "duplicate" }],
    ["same.", { alert: "same." }],
  ];
  for (const [answer, verdict] of verdicts)
    it(`${JSON.stringify(answer)} is judged ${JSON.stringify(verdict)}`, () =>
      assert.deepEqual(acknowledged(answer, rule), verdict));

  it("is found in linear time", () => {
    const long = `${"* ".repeat(200_000)}x`;
    const before = performance.now();
    assert.equal(withoutAcknowledgement(long).found, false);
    assert.ok(performance.now() - before < 5_000, "a quadratic search takes minutes");
  });
});

describe("the report of a turn", () => {
  const ended: RunOutcome = { runId: "r", sessionKey: "k", status: "ok", startedAt: 5, endedAt: 9, text: "alarm" };
  const took = { durationMs: 4 };
  const none = { ...SETTINGS, target: "none" };
  const cases: [what: string, result: ReturnType<typeof resultOf>, is: object][] = [
    ["an alert", resultOf(ended, SETTINGS, SHOWN), { alert: "alarm" }],
    [
      "nobody is told",
      resultOf(ended, none, SHOWN),
      { report: { status: "skipped", reason: "no-target", preview: "alarm", ...took, indicatorType: "alert" } },
    ],
    [
      "nobody wants to know",
      resultOf(ended, SETTINGS, { ...SHOWN, showAlerts: false, useIndicator: false }),
      { report: { status: "skipped", reason: "alerts-disabled", preview: "alarm", ...took } },
    ],
    [
      "a failure",
      resultOf({ ...ended, status: "error", errorMessage: "no" }, SETTINGS, SHOWN),
      { report: { status: "failed", reason: "no", ...took, indicatorType: "error" } },
    ],
    [
      "stopped",
      resultOf({ ...ended, status: "aborted" }, SETTINGS, SHOWN),
      { report: { status: "skipped", reason: "stopped", ...took } },
    ],
    [
      "taken back as a repetition",
      resultOf({ ...ended, takenBack: "duplicate" }, SETTINGS, SHOWN),
      { report: { status: "skipped", reason: "duplicate", preview: "alarm", ...took } },
    ],
    [
      "all is well",
      resultOf({ ...ended, text: "HEARTBEAT_OK" }, SETTINGS, SHOWN),
      { ok: { status: "ok-token", ...took, indicatorType: "ok", silent: true } },
    ],
    [
      "not a word",
      resultOf({ ...ended, text: "", takenBack: "empty" }, SETTINGS, SHOWN),
      { ok: { status: "ok-empty", ...took, indicatorType: "ok", silent: true } },
    ],
  ];
  for (const [what, result, is] of cases) it(what, () => assert.deepEqual(result, is));

  it("names the address of an alert, or why it was not sent", () => {
    const told = { preview: "alarm", ...took, indicatorType: "alert" };
    const place = { channel: "pigeon", to: "ann", accountId: "a" };
    assert.deepEqual(reportOfAlert(ended, "alarm", { delivered: true, ...place }, SHOWN), {
      status: "sent",
      ...place,
      ...told,
    });
    const blocked = { delivered: false, reason: "a direct chat", code: "dm-blocked" } as const;
    assert.equal(reportOfAlert(ended, "alarm", blocked, SHOWN).reason, "dm-blocked");
    assert.equal(reportOfAlert(ended, "alarm", { delivered: false, reason: "no account" }, SHOWN).reason, "no account");
    assert.equal(reportOfAlert(ended, "x".repeat(999), blocked, SHOWN).preview?.length, 200);
  });

  it("knows the alert of the last day", () => {
    const entry = { lastHeartbeatText: "alarm", lastHeartbeatSentAt: 1_000 };
    assert.equal(recentAlert(entry, 1_000 + 86_399_999), "alarm");
    assert.equal(recentAlert(entry, 1_000 + 86_400_000), undefined);
    assert.equal(recentAlert(undefined, 0), undefined);
  });

  it("has no reasoning where the model gave none", () => {
    assert.equal(reasoningOf({}), undefined);
    assert.equal(reasoningOf({ message: { content: [{ type: "text", text: "alarm" }] } } as never), undefined); // all that is read
  });
});
