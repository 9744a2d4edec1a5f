/** `svc cron ...` against a gateway with fixed responses, and its output. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { GatewayError, matches, type ResultOf } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { cron, type CronJob, type CronRunEntry } from "@svc/sdk/cron";
import commands from "../../../plugins/cron/cli.ts";
import { jobLines, listLines, ranLines, runsLines, scheduleText, statusLines } from "../../../plugins/cron/cli/text.ts";
import { root } from "../../checkout.ts";

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
const status = { enabled: true, storePath: "/s/cron", jobs: 1, nextWakeAtMs: NOW + 300_000 };

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
  const records: [what: string, entry: CronRunEntry, line: string][] = [
    ["a run", entry, "Tue 2030-01-01 12:00 UTC  ran: ok, by hand  1s  all well"],
    [
      "a run of an older record",
      { ...plain, status: "error", error: "a\nb" },
      "Tue 2030-01-01 12:00 UTC  ran: error  -  a b",
    ],
    [
      "a run that did not deliver",
      { ...plain, status: "ok", deliveryStatus: "not-delivered", deliveryError: "gone", summary: "s" },
      "Tue 2030-01-01 12:00 UTC  ran: ok  -  not delivered: gone; s",
    ],
    [
      "a run that had nothing to do",
      { ...plain, record: "ran", status: "skipped", error: "empty" },
      "Tue 2030-01-01 12:00 UTC  skipped  -  empty",
    ],
    [
      "a time that was skipped",
      { ...plain, dueAtMs: NOW - 60_000, record: "skipped", reason: "it still ran" },
      "Tue 2030-01-01 11:59 UTC  skipped (it still ran)  -",
    ],
    [
      "times that were missed",
      { ...plain, dueAtMs: NOW - 7_200_000, throughAtMs: NOW - 60_000, slots: 12, record: "missed", reason: "down" },
      "Tue 2030-01-01 10:00 UTC  missed (down), 12 times until Tue 2030-01-01 11:59 UTC  -",
    ],
  ];
  for (const [what, one, line] of records) {
    it(`shows ${what}`, () => {
      const [, shown] = runsLines({ entries: [one], total: 1, ...page }, false, here);
      assert.equal(shown?.replace(/ {2,}/g, "  "), line);
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
    assert.deepEqual(ranLines(job, { ok: true, ran: true }, entry), ["Report ran: ok after 1s", "  all well"]);
    assert.deepEqual(ranLines(job, { ok: true, ran: true }, undefined), [
      "Report ran",
      `Next: svc cron runs ${job.id}`,
    ]);
    assert.match(
      ranLines(job, { ok: true, ran: false, reason: "already-running" }, undefined).join("\n"),
      /is already running\nNext: svc cron runs/,
    );
    assert.match(
      ranLines(job, { ok: true, ran: false, reason: "not-due" }, undefined).join("\n"),
      /not due\nNext: svc cron run /,
    );
  });
});

/** Runs a command against a gateway with these responses; an `Error` is a refusal, a function creates the response. */
async function run(
  verb: string,
  args: string[],
  given: Record<string, unknown>,
  options: Record<string, unknown> = {},
) {
  const printed: unknown[] = [];
  const calls: [method: string, params: unknown, options: unknown][] = [];
  const answers: Record<string, unknown> = {
    "cron.list": { jobs: [job], total: 1, ...page },
    "cron.status": status,
    ...given,
  };
  const { json = false, ...flags } = options;
  const scopes: unknown[] = [];
  const client = {
    async call(method: { name: string; params: never }, params: unknown, patience?: unknown) {
      calls.push([method.name, params, patience]);
      assert.ok(matches(method.params, params), `${method.name} ${JSON.stringify(params)}`);
      const answer = answers[method.name];
      const value: unknown = typeof answer === "function" ? (answer as (params: unknown) => unknown)(params) : answer;
      if (value instanceof Error) throw value;
      return value;
    },
    close: async () => undefined,
  };
  const context = {
    args,
    options: { deliver: true, failureAlert: true, ...flags },
    json,
    async connect(wanted: { scopes: unknown }) {
      scopes.push(wanted.scopes);
      return client;
    },
    print: (value: unknown) => void printed.push(value),
    note: () => undefined,
  } as unknown as CommandContext; // only the parts that the commands use
  const command = commands.find(({ name }) => name === `cron ${verb}`) ?? assert.fail(verb);
  const [code, message] = await command.run(context).then(
    (exit) => [exit ?? 0, ""] as const,
    (thrown: Error) => [1, thrown.message] as const,
  );
  return { printed, text: printed.join("\n"), code, message, calls, scopes };
}

describe("svc cron", () => {
  it("has the commands that its package lists", () => {
    const verbs = commands.map(({ name, summary }) => ({ name, summary }));
    const manifest = JSON.parse(readFileSync(join(root, "plugins/cron/package.json"), "utf8")) as {
      svc: { commands: object[] };
    };
    assert.deepEqual(verbs, manifest.svc.commands);
  });

  it("lists enabled jobs, or all", async () => {
    assert.deepEqual((await run("list", [], {})).calls, [["cron.list", { enabled: "enabled" }, undefined]]);
    const all = await run("list", [], {}, { all: true, search: "x", limit: "5", offset: "2", json: true });
    assert.deepEqual(all.calls, [["cron.list", { enabled: "all", limit: 5, offset: 2, query: "x" }, undefined]]);
    assert.deepEqual(all.printed, [{ jobs: [job], total: 1, ...page }]);
    assert.match((await run("list", [], {}, { limit: "201" })).message, /--limit takes a whole number from 1 to 200/);
  });

  it("adds a job, and warns when the scheduler is off", async () => {
    const options = { every: "1h", message: "look" };
    const added = await run("add", [], { "cron.add": job, "cron.status": { ...status, enabled: false } }, options);
    assert.deepEqual(added.calls[0], [
      "cron.add",
      { schedule: { kind: "every", everyMs: 3_600_000 }, payload: { kind: "agentTurn", message: "look" } },
      undefined,
    ]);
    assert.match(added.text, /^added Report .*\n(?:.*\n)*jobs do not run: the scheduler is off/);
    const refusal = new GatewayError("UNAVAILABLE", "Error: no such zone");
    assert.match(
      (await run("add", [], { "cron.add": refusal }, options)).message,
      /^Error: no such zone\nNext: .*svc cron add --help$/,
    );
  });

  it("changes the named job", async () => {
    const edited = await run("edit", ["report"], { "cron.update": job }, { name: "x", json: true });
    assert.deepEqual(edited.calls[1], ["cron.update", { id: job.id, patch: { name: "x" } }, undefined]);
    assert.deepEqual(edited.printed, [job]);
    for (const [verb, enabled] of [
      ["enable", true],
      ["disable", false],
    ] as const) {
      const { calls, text } = await run(verb, ["4f1c"], { "cron.update": { ...job, enabled } });
      assert.deepEqual(calls[1], ["cron.update", { id: job.id, patch: { enabled } }, undefined]);
      assert.match(text, /^(?:en|dis)abled Report/);
    }
    assert.match(
      (await run("edit", ["nobody"], {}, { name: "x" })).message,
      /no job "nobody"\nNext: svc cron list --all/,
    );
  });

  it("searches for the job on every page", async () => {
    const pages = ({ offset = 0 }: { offset?: number }) =>
      offset === 0 ? { jobs: [], total: 201, ...page, nextOffset: 200 } : { jobs: [job], total: 201, ...page };
    const removed = await run("rm", ["report"], { "cron.list": pages, "cron.remove": { ok: true, removed: true } });
    assert.deepEqual(
      removed.calls.map(([method]) => method),
      ["cron.list", "cron.list", "cron.remove"],
    );
    assert.equal(removed.text, `removed Report (${job.id})`);
  });

  it("waits for a run without a limit, and prints how it ended", async () => {
    let ran = false;
    const runs = () => ({ entries: ran ? [{ ...entry, ts: NOW + 5 }, entry] : [entry], total: 1, ...page });
    const ending = (result: object) => ({ "cron.runs": runs, "cron.run": () => ((ran = true), result) });
    const done = await run("run", ["Report"], ending({ ok: true, ran: true }));
    assert.deepEqual(
      done.calls.find(([method]) => method === "cron.run"),
      ["cron.run", { id: job.id, mode: "force" }, { timeoutMs: 0 }],
    );
    assert.equal(done.text, "Report ran: ok after 1s\n  all well");
    assert.equal(done.code, 0);
    const due = await run("run", ["Report"], ending({ ok: true, ran: false, reason: "not-due" }), { due: true });
    assert.deepEqual(due.calls.find(([method]) => method === "cron.run")?.[1], { id: job.id, mode: "due" });
    assert.equal(due.code, 1);
  });

  it("exits with 1 when the run failed", async () => {
    const entries: CronRunEntry[] = [];
    const fail = () => (entries.push({ ...entry, status: "error", error: "no route" }), { ok: true, ran: true });
    const failed = await run("run", ["Report"], {
      "cron.runs": () => ({ entries: [...entries], total: 1, ...page }),
      "cron.run": fail,
    });
    assert.match(failed.text, /^Report ran: error after 1s\n {2}no route; all well$/);
    assert.equal(failed.code, 1);
    const lost = await run("run", ["Report"], {
      "cron.runs": { entries: [], total: 0, ...page },
      "cron.run": new GatewayError("UNAVAILABLE", "connection lost: 1006"),
    });
    assert.equal(lost.message, "connection lost: 1006\nNext: svc cron runs Report");
  });

  it("shows the runs of all jobs, of one job, and of a removed job", async () => {
    const given = { "cron.runs": { entries: [entry], total: 1, ...page } };
    assert.deepEqual((await run("runs", [], given, { status: "error" })).calls, [
      ["cron.runs", { scope: "all", status: "error" }, undefined],
    ]);
    assert.deepEqual((await run("runs", ["rep"], given, { limit: "3" })).calls[1]?.[1], { id: job.id, limit: 3 });
    const gone = "00000000-0000-4000-8000-00000000000a";
    assert.deepEqual((await run("runs", [gone], given)).calls[1]?.[1], { id: gone });
    assert.match((await run("runs", ["nobody"], given)).message, /no job "nobody"/);
    assert.match((await run("runs", [], given, { status: "fine" })).message, /--status takes ok, error, skipped/);
  });

  it("cancels runs", async () => {
    assert.equal(
      (await run("cancel", ["report"], { "cron.cancel": { ok: true, cancelled: 2 } })).text,
      "cancelled runs of Report: 2",
    );
    assert.equal(
      (await run("cancel", ["report"], { "cron.cancel": { ok: true, cancelled: 0 } })).text,
      "Report has no current or waiting run",
    );
  });

  it("requests only the scopes it needs", async () => {
    assert.deepEqual((await run("status", [], {})).scopes, [["operator.read"]]);
    assert.deepEqual((await run("rm", ["report"], { "cron.remove": { ok: true, removed: false } })).scopes, [
      ["operator.read", "operator.admin"],
    ]);
  });
});
