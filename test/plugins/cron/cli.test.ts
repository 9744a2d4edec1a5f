/** `svc cron ...` against a gateway with fixed responses, and its output. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError, matches, type ResultOf } from "@svc/sdk";
import { channels } from "@svc/sdk/channels";
import type { GatewayClient } from "@svc/sdk/client";
import { cron, type CronJob, type CronRunEntry } from "@svc/sdk/cron";
import { runCommand } from "@svc/sdk/testing";
import commands from "../../../plugins/cron/cli.ts";
import { jobLines, listLines, ranLines, runsLines, scheduleText, statusLines } from "../../../plugins/cron/cli/text.ts";

const NOW = Date.parse("2030-01-01T12:00:00Z");
const here = { now: NOW, zone: "UTC" };

const job: CronJob = {
  id: "4f1c9a2e-0000-4000-8000-000000000001",
  name: "Report",
  enabled: true,
  createdAtMs: 1,
  updatedAtMs: 1,
  schedule: { kind: "every", everyMs: 3_600_000 },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "What is new?\nAnd old?" },
  delivery: { mode: "announce", channel: "irc", to: "#a" },
  state: { nextRunAtMs: NOW + 300_000, lastRunAtMs: NOW - 60_000, lastRunStatus: "ok" },
};
const page = { offset: 0, limit: 50, hasMore: false, nextOffset: null };
const entry: CronRunEntry = {
  ts: NOW,
  jobId: job.id,
  action: "finished",
  status: "ok",
  durationMs: 1_500,
  summary: "all well",
  record: "ran",
  manual: true,
};
/** What commander fills in for `--no-` options. */
const FILLED = { deliver: true, failureAlert: true };
const status = { enabled: true, storePath: "/s/cron", jobs: 1, nextWakeAtMs: NOW + 300_000 };

const onIrc = {
  channels: { irc: { configured: true }, telegram: { configured: false } },
  channelOrder: ["irc", "telegram"],
  channelLabels: { irc: "Internet Relay Chat", telegram: "Telegram" },
};

describe("the output of svc cron", () => {
  const listed = (jobs: CronJob[], more: object = {}) =>
    ({ jobs, total: jobs.length, ...page, ...more }) as ResultOf<typeof cron.list>;

  it("lists jobs", () => {
    const jobs: CronJob[] = [
      job,
      {
        ...job,
        name: "bad\u001b[2J",
        enabled: false,
        state: { lastRunAtMs: NOW - 7_200_000, lastRunStatus: "error", lastError: "no\nroute", consecutiveErrors: 3 },
      },
      {
        ...job,
        name: "x".repeat(40),
        schedule: { kind: "cron", expr: "0 9 * * *", tz: "Europe/Berlin" },
        state: { runningAtMs: NOW },
      },
      {
        ...job,
        name: "late",
        schedule: { kind: "at", at: "2030-01-01T11:00:00.000Z" },
        state: { nextRunAtMs: NOW - 1 },
      },
    ];
    assert.deepEqual(listLines(listed(jobs, { total: 9, nextOffset: 4 }), false, here), [
      "NAME                              ID        WHEN                            NEXT                              LAST",
      "Report                            4f1c9a2e  every 1h                        Tue 2030-01-01 12:05 UTC (in 5m)  ok 1m ago",
      "bad\\u001b[2J                      4f1c9a2e  every 1h                        off                               error 2h ago, 3 in a row: no route",
      `${"x".repeat(31)}…  4f1c9a2e  cron 0 9 * * * (Europe/Berlin)  running now                       -`,
      "late                              4f1c9a2e  at Tue 2030-01-01 11:00 UTC     Tue 2030-01-01 11:59 UTC (due)    -",
      "5 more: svc cron list --offset 4",
    ]);
  });

  it("prints the next step for an empty list", () => {
    assert.match(listLines(listed([]), false, here).join(), /add one: svc cron add/);
    assert.match(listLines(listed([]), true, here).join(), /svc cron list --all/);
    assert.match(listLines(listed([], { total: 3, offset: 9 }), true, here).join(), /there are 3 jobs/);
  });

  it("shows a job, without the path of its webhook and without terminal control characters", () => {
    const posting: CronJob = {
      ...job,
      name: "a\u001bb",
      delivery: { mode: "webhook", to: "https://example.com/secret" },
    };
    assert.deepEqual(jobLines(posting, "added", true, here), [
      "added a\\u001bb (4f1c9a2e-0000-4000-8000-000000000001)",
      "  when:     every 1h",
      "  next:     Tue 2030-01-01 12:05 UTC (in 5m)",
      "  does:     What is new? (isolated)",
      "  delivery: webhook to example.com",
    ]);
    assert.match(
      jobLines({ ...job, enabled: false }, "added", false, here).join("\n"),
      /svc cron enable 4f1c.*\n.*\n.*\njobs do not run/,
    );
  });

  it("shows schedules with their zone or unit", () => {
    assert.equal(scheduleText({ kind: "cron", expr: "* * * * *" }, here), "cron * * * * *");
    assert.equal(scheduleText({ kind: "at", at: "nonsense" }, here), "at nonsense");
    assert.equal(scheduleText({ kind: "every", everyMs: 90_500 }, here), "every 1m30s500ms");
  });

  it("shows whether the scheduler is on", () => {
    assert.match(
      statusLines(status, here).join("\n"),
      /^jobs run: {2}yes\njobs: {6}1\nnext: {6}Tue 2030-01-01 12:05 UTC \(in 5m\)\nstore: {5}\/s\/cron$/,
    );
    assert.match(
      statusLines({ ...status, enabled: false, nextWakeAtMs: null }, here).join("\n"),
      /no, the scheduler is off\n(?:.*\n)*next: {6}none\n.*\nNext: set cron\.enabled/,
    );
  });

  const plain = { ts: NOW, jobId: job.id, action: "finished" as const };
  const undelivered = { status: "ok", deliveryStatus: "not-delivered", deliveryError: "gone", summary: "s" } as const;
  const hours = { dueAtMs: NOW - 7_200_000, throughAtMs: NOW - 60_000, slots: 12 };
  const records: [what: string, entry: CronRunEntry, line: string][] = [
    ["a run", entry, "12:00 UTC  ran: ok, by hand  1s  all well"],
    ["a run of an older record", { ...plain, status: "error", error: "a\nb" }, "12:00 UTC  ran: error  -  a b"],
    ["a run that did not deliver", { ...plain, ...undelivered }, "12:00 UTC  ran: ok  -  not delivered: gone; s"],
    [
      "a run that had nothing to do",
      { ...plain, record: "ran", status: "skipped", error: "empty" },
      "12:00 UTC  skipped  -  empty",
    ],
    [
      "a time that was skipped",
      { ...plain, dueAtMs: NOW - 60_000, record: "skipped", reason: "it still ran" },
      "11:59 UTC  skipped (it still ran)  -",
    ],
    [
      "times that were missed",
      { ...plain, ...hours, record: "missed", reason: "down" },
      "10:00 UTC  missed (down), 12 times until Tue 2030-01-01 11:59 UTC  -",
    ],
  ];
  for (const [what, one, line] of records) {
    it(`shows ${what}`, () => {
      const [, shown] = runsLines({ entries: [one], total: 1, ...page }, false, here);
      assert.equal(shown?.replace(/ {2,}/g, "  "), `Tue 2030-01-01 ${line}`);
    });
  }

  it("shows the job of each run if there are several, and how to list more", () => {
    const lines = runsLines(
      { entries: [entry, { ...entry, jobName: "Tea" }], total: 9, ...page, nextOffset: 2 },
      true,
      here,
    );
    assert.match(
      lines.join("\n"),
      /^WHEN +JOB +WHAT.*\n.* {2}4f1c9a2e {2}ran.*\n.* {2}Tea +ran.*\n7 more: add --offset 2$/,
    );
    assert.match(runsLines({ entries: [], total: 0, ...page }, true, here).join(), /svc cron list --all/);
  });

  it("shows how a run ended", () => {
    const ended = (result: Parameters<typeof ranLines>[1]) => ranLines(job, result, undefined).join("\n");
    assert.equal(ended({ ok: true, ran: true }), `Report ran\nNext: svc cron runs ${job.id}`);
    assert.match(ended({ ok: true, ran: false, reason: "already-running" }), /is already running\nNext: svc cron runs/);
    assert.match(ended({ ok: true, ran: false, reason: "not-due" }), /not due\nNext: svc cron run /);
  });
});

/** Runs a command against a gateway with these responses. Its params fit the schemas of the methods. */
async function run(
  verb: string,
  args: string[] = [],
  given: Record<string, unknown> = {},
  { json = false, ...options }: Record<string, unknown> & { json?: boolean } = {},
) {
  const answers = {
    "cron.list": { jobs: [job], total: 1, ...page },
    "cron.status": status,
    "channels.status": onIrc,
    ...given,
  };
  const ran = await runCommand(commands, `cron ${verb}`, { args, json, answers, options: { ...FILLED, ...options } });
  for (const [name, params] of ran.asked) {
    const method = [...Object.values(cron), channels.status].find((one) => one.name === name) ?? assert.fail(name);
    assert.ok(matches(method.params, params), `${name} ${JSON.stringify(params)}`);
  }
  return ran;
}

describe("svc cron", () => {
  it("lists enabled jobs, or all", async () => {
    assert.deepEqual((await run("list")).asked, [["cron.list", { enabled: "enabled" }]]);
    const all = await run("list", [], {}, { all: true, search: "x", limit: "5", offset: "2", json: true });
    assert.deepEqual(all.asked, [["cron.list", { enabled: "all", limit: 5, offset: 2, query: "x" }]]);
    assert.deepEqual(all.printed, [{ jobs: [job], total: 1, ...page }]);
    assert.match((await run("list", [], {}, { limit: "201" })).message, /--limit takes a whole number from 1 to 200/);
  });

  it("adds a job, and warns when the scheduler is off", async () => {
    const options = { every: "1h", message: "look" };
    const added = await run("add", [], { "cron.add": job, "cron.status": { ...status, enabled: false } }, options);
    assert.deepEqual(added.asked[0], [
      "cron.add",
      { schedule: { kind: "every", everyMs: 3_600_000 }, payload: { kind: "agentTurn", message: "look" } },
    ]);
    assert.match(added.text, /^added Report .*\n(?:.*\n)*jobs do not run: the scheduler is off/);
    const refusal = new GatewayError("UNAVAILABLE", "Error: no such zone");
    const refused = await run("add", [], { "cron.add": refusal }, options);
    assert.match(refused.message, /^Error: no such zone\nNext: .*svc cron add --help$/);
  });

  it("warns of a channel that cannot send the report", async () => {
    const added = async (channel: string) =>
      run(
        "add",
        [],
        { "cron.add": { ...job, delivery: { mode: "announce", channel } } },
        { every: "1h", message: "x" },
      );
    assert.deepEqual((await added("irc")).notes, []);
    assert.deepEqual((await added("internet Relay Chat")).notes, [], "its label");
    assert.deepEqual((await added("last")).notes, []);
    assert.match(
      (await added("telegram")).notes.join(),
      /^warning: channel telegram is not configured.*\nNext: svc channels list$/,
    );
    assert.match((await added("dove")).notes.join(), /channel dove is not one of this gateway's channels/);
  });

  for (const [verb, options, patch, said] of [
    ["edit", { name: "x" }, { name: "x" }, "changed x"],
    ["enable", {}, { enabled: true }, "enabled Report"],
    ["disable", {}, { enabled: false }, "disabled Report"],
  ] as const) {
    it(`${verb}s the named job`, async () => {
      const { asked, text } = await run(verb, ["report"], { "cron.update": { ...job, ...patch } }, options);
      assert.deepEqual(asked[1], ["cron.update", { id: job.id, patch }]);
      assert.ok(text.startsWith(said), text);
      const unknown = await run(verb, ["nobody"], {}, options);
      assert.match(unknown.message, /no job "nobody"\nNext: svc cron list --all/);
    });
  }

  it("searches for the job on every page", async () => {
    const pages = ({ offset = 0 }: { offset?: number }) =>
      offset === 0 ? { jobs: [], total: 201, ...page, nextOffset: 200 } : { jobs: [job], total: 201, ...page };
    const removed = await run("rm", ["report"], { "cron.list": pages, "cron.remove": { ok: true, removed: true } });
    assert.deepEqual(
      removed.asked.map(([method]) => method),
      ["cron.list", "cron.list", "cron.remove"],
    );
    assert.equal(removed.text, `removed Report (${job.id})`);
    assert.deepEqual(removed.scopes, ["operator.read", "operator.admin"]);
    const gone = await run("rm", ["report"], { "cron.remove": { ok: true, removed: false } });
    assert.equal(gone.text, "Report does not exist any more");
  });

  it("prints how a run ended, and exits with 1 unless it ran well", async () => {
    const ending = async (result: object, last: Partial<CronRunEntry>, options = {}) => {
      const entries: CronRunEntry[] = [entry];
      const finish = () => (entries.unshift({ ...entry, ts: NOW + 5, ...last }), result);
      const runs = () => ({ entries: [...entries], total: 1, ...page });
      const { asked, text, code } = await run("run", ["Report"], { "cron.runs": runs, "cron.run": finish }, options);
      return { mode: asked.find(([method]) => method === "cron.run")?.[1], text, code };
    };
    assert.deepEqual(await ending({ ok: true, ran: true }, {}), {
      mode: { id: job.id, mode: "force" },
      text: "Report ran: ok after 1s\n  all well",
      code: 0,
    });
    const failed = await ending({ ok: true, ran: true }, { status: "error", error: "no route" });
    assert.deepEqual([failed.text, failed.code], ["Report ran: error after 1s\n  no route; all well", 1]);
    const due = await ending({ ok: true, ran: false, reason: "not-due" }, {}, { due: true });
    assert.deepEqual([due.mode, due.code], [{ id: job.id, mode: "due" }, 1]);
    const lost = await run("run", ["Report"], {
      "cron.runs": { entries: [], total: 0, ...page },
      "cron.run": new GatewayError("UNAVAILABLE", "connection lost: 1006"),
    });
    assert.equal(lost.message, "connection lost: 1006\nNext: svc cron runs Report");
  });

  it("waits for a run without a limit", async () => {
    const patience: unknown[] = [];
    const client = {
      async call({ name }: { name: string }, _params: unknown, options: unknown) {
        if (name === "cron.run") patience.push(options);
        return name === "cron.list" ? { jobs: [job], total: 1, ...page } : { ok: true, ran: true, entries: [] };
      },
      close: async () => undefined,
    } as unknown as GatewayClient; // only the parts that the command uses
    await runCommand(commands, "cron run", { args: ["Report"], connect: async () => client });
    assert.deepEqual(patience, [{ timeoutMs: 0 }]);
  });

  it("shows the runs of all jobs, of one job, and of a removed job", async () => {
    const given = { "cron.runs": { entries: [entry], total: 1, ...page } };
    assert.deepEqual((await run("runs", [], given, { status: "error" })).asked, [
      ["cron.runs", { scope: "all", status: "error" }],
    ]);
    assert.deepEqual((await run("runs", ["rep"], given, { limit: "3" })).asked[1]?.[1], { id: job.id, limit: 3 });
    const gone = "00000000-0000-4000-8000-00000000000a";
    assert.deepEqual((await run("runs", [gone], given)).asked[1]?.[1], { id: gone });
    assert.match((await run("runs", ["nobody"], given)).message, /no job "nobody"/);
    assert.match((await run("runs", [], given, { status: "fine" })).message, /--status takes ok, error, skipped/);
  });

  it("cancels runs, and needs only the scope to read for the status", async () => {
    const cancel = async (cancelled: number) =>
      (await run("cancel", ["report"], { "cron.cancel": { ok: true, cancelled } })).text;
    assert.equal(await cancel(2), "cancelled runs of Report: 2");
    assert.equal(await cancel(0), "Report has no current or waiting run");
    assert.deepEqual((await run("status")).scopes, ["operator.read"]);
  });
});
