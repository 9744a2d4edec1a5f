/** Jobs and runs that come from another gateway, and go back. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";
import { matches, outsideOrigin, saidAfter } from "@svc/sdk";
import { cron, type CronEventPayload, type CronRunEntry } from "@svc/sdk/cron";
import { CronJobRecord, CronRunRecord, imports, type ImportOutcome } from "@svc/sdk/import";
import { createFakeClock } from "@svc/sdk/testing";
import * as fc from "fast-check";
import { jobImporter, runImporter } from "../../../plugins/cron/import.ts";
import { MAX_JOBS } from "../../../plugins/cron/jobs/jobs.ts";
import { loadCalendar, nextSlot } from "../../../plugins/cron/schedule/calendar.ts";
import { runIdOf } from "../../../plugins/cron/runs/scheduler.ts";
import { JobChanges } from "../../../plugins/cron/store/job-changes.ts";
import { listJobs, listRuns } from "../../../plugins/cron/store/queries.ts";
import { CronStore } from "../../../plugins/cron/store/store.ts";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { directory } from "../../directory.ts";
import { MAIN, NOON, openScene } from "./scene.ts";

const PAGE = saidAfter(outsideOrigin("web", "https://evil.example/"));
const limited = { timeout: 120_000 };
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

before(loadCalendar);

/** A valid job; each case changes one thing. */
const tea: CronJobRecord = {
  id: "4cb22d9f-3b7b-4fad-9268-65927cbd8794",
  name: "tea",
  enabled: true,
  createdAtMs: NOON - DAY - 5 * MINUTE,
  updatedAtMs: NOON - DAY,
  schedule: { kind: "every", everyMs: HOUR, anchorMs: NOON - DAY - 5 * MINUTE },
  sessionTarget: "main",
  wakeMode: "next-heartbeat",
  payload: { kind: "systemEvent", text: "The tea is ready" },
  state: { nextRunAtMs: NOON + 55 * MINUTE },
};
const backup: CronJobRecord = {
  id: "backup",
  name: "backup",
  enabled: true,
  createdAtMs: NOON - DAY,
  updatedAtMs: NOON - DAY,
  schedule: { kind: "cron", expr: "0 3 * * *", tz: "Europe/Berlin" },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "Check last night's backup", timeoutSeconds: 60 },
  delivery: { mode: "none" },
  state: {
    nextRunAtMs: Date.UTC(2026, 0, 2, 2),
    lastRunAtMs: NOON - 10 * HOUR,
    lastRunStatus: "ok",
    lastStatus: "ok",
    lastDurationMs: 507,
    lastDelivered: false,
    lastDeliveryStatus: "not-delivered",
    consecutiveErrors: 0,
  },
};
const once: CronJobRecord = {
  ...backup,
  id: "once",
  name: "once",
  schedule: { kind: "at", at: "2026-03-01T09:00:00.000Z" },
  deleteAfterRun: true,
  delivery: { mode: "announce", channel: "irc", to: "#team", bestEffort: true },
  state: { nextRunAtMs: Date.UTC(2026, 2, 1, 9) },
};
/** A valid run of `backup`; each case changes one thing. */
const entry: CronRunEntry = {
  ts: NOON - HOUR,
  jobId: "backup",
  action: "finished",
  status: "ok",
  summary: "All well",
  deliveryStatus: "not-delivered",
  sessionId: "s1",
  sessionKey: "agent:main:cron:backup:run:s1",
  runAtMs: NOON - HOUR - 507,
  durationMs: 507,
  nextRunAtMs: NOON + 15 * HOUR,
  model: "fake-model",
  provider: "fake",
  usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 },
};
const run = (id: string, changes: Partial<CronRunEntry> = {}): CronRunRecord => ({
  id,
  entry: { ...entry, ...changes },
});

/** Without the keys that are `undefined`. */
function recordOf(fields: object): CronJobRecord {
  const record: unknown = JSON.parse(JSON.stringify(fields));
  return matches(CronJobRecord, record) ? record : assert.fail("not a record");
}

async function openCron(t: TestContext, timeZone = "UTC") {
  const { storage, close } = await openStorage({ file: join(directory(t), "svc.db") });
  t.after(close);
  const store = new CronStore(storage);
  await store.open();
  const clock = createFakeClock(NOON);
  const [wakes, events]: [(number | undefined)[], CronEventPayload[]] = [[], []];
  const sources = {
    storage,
    store,
    changes: new JobChanges(store),
    clock,
    scheduler: { wakeBy: (at: number | undefined) => void wakes.push(at) },
    defaultAgentId: () => "main",
    timeZone: () => timeZone,
    publish: (payload: CronEventPayload) => void events.push(payload),
  };
  const jobs = jobImporter(sources);
  const runs = runImporter(sources);
  return {
    storage,
    store,
    clock,
    jobs,
    runs,
    wakes,
    events,
    list: async () =>
      (await listJobs({ storage: storage, defaultAgentId: "main" }, { enabled: "all", limit: 200 })).jobs,
    listed: async () =>
      (await listRuns({ storage: storage, defaultAgentId: "main" }, { scope: "all", limit: 200, sortDir: "asc" }))
        .entries,
    /** Records of all kinds of decisions. */
    fires: (id: string) =>
      storage.all<{ due_at: number; through_at: number; status: string; entry: string }>(
        "SELECT due_at, through_at, status, entry FROM cron_fires WHERE job_id = ? ORDER BY due_at",
        [id],
      ),
    /** Everything, as it is given. */
    async all() {
      return { jobs: await allOf(jobs.give), runs: await allOf(runs.give) };
    },
  };
}

async function allOf<R>(give: (after?: string) => Promise<{ readonly records: readonly R[]; readonly next?: string }>) {
  const all: R[] = [];
  for (let after: string | undefined; ;) {
    const { records, next } = await give(after);
    all.push(...records);
    if (next === undefined) return all;
    after = next;
  }
}

const actions = (outcomes: readonly ImportOutcome[]) => outcomes.map(({ action }) => action);

describe("a job that comes from another gateway", limited, () => {
  it("keeps its id, times, settings and what is known of its last run", async (t) => {
    const scene = await openCron(t);
    const outcomes = await scene.jobs.take([tea, backup, once]);
    assert.deepEqual(
      outcomes,
      [tea, backup, once].map(({ id }) => ({ id, action: "take" })),
    );
    assert.equal(await scene.jobs.count(), 3);
    assert.deepEqual(await scene.list(), [tea, backup, once]);
    assert.deepEqual(
      scene.wakes,
      [tea, backup, once].map(({ state }) => state.nextRunAtMs),
    );
    assert.deepEqual(scene.events[0], { jobId: tea.id, action: "added", nextRunAtMs: tea.state.nextRunAtMs });
    assert.deepEqual(await scene.fires(tea.id), []);
  });

  it("is not changed when it is here already", async (t) => {
    const scene = await openCron(t);
    await scene.jobs.take([tea]);
    const again = await scene.jobs.take([
      { ...tea, name: "other" },
      { ...tea, schedule: { kind: "every", everyMs: 1 } },
    ]);
    assert.deepEqual(actions(again), ["skip", "skip"]);
    assert.deepEqual(await scene.list(), [tea]);
    assert.equal(scene.events.length, 1);
  });

  const MONTHS = "0 9 1 2,7 *";
  const next: [what: string, record: CronJobRecord, at: number | undefined][] = [
    ["as planned after a back-off", { ...tea, state: { nextRunAtMs: NOON + 7 * MINUTE + 1 } }, NOON + 7 * MINUTE + 1],
    ["by its anchor", { ...tea, state: {} }, NOON + 55 * MINUTE],
    [
      "by its creation without an anchor",
      { ...tea, schedule: { kind: "every", everyMs: HOUR }, state: {} },
      NOON + 55 * MINUTE,
    ],
    ["by its zone", { ...backup, state: {} }, Date.UTC(2026, 0, 2, 2)],
    [
      "by the zone of the gateway without one",
      { ...backup, schedule: { kind: "cron", expr: MONTHS }, state: {} },
      Date.UTC(2026, 1, 1, 0),
    ],
    ["once", { ...once, state: {} }, Date.UTC(2026, 2, 1, 9)],
    [
      "at the time of a retry",
      { ...once, schedule: { kind: "at", at: "2026-01-01T11:59:00Z" } },
      Date.UTC(2026, 2, 1, 9),
    ],
    ["never, when it is off", { ...tea, enabled: false }, undefined],
    [
      "never, when its schedule has no time",
      { ...backup, schedule: { kind: "cron", expr: "0 0 30 2 *" }, state: {} },
      undefined,
    ],
  ];
  for (const [what, record, at] of next) {
    it(`is due next ${what}`, async (t) => {
      const scene = await openCron(t, "Asia/Tokyo");
      assert.deepEqual(await scene.jobs.take([record]), [{ id: record.id, action: "take" }]);
      const [job] = await scene.list();
      assert.equal(job?.state.nextRunAtMs, at);
      assert.equal(job?.enabled, record.enabled);
      assert.deepEqual(await scene.fires(record.id), []);
    });
  }

  it("of every full hour without staggerMs is spread like a new one", async (t) => {
    const scene = await openCron(t);
    await scene.jobs.take([{ ...backup, schedule: { kind: "cron", expr: "0 * * * *", tz: "UTC" }, state: {} }]);
    const [job] = await scene.list();
    const schedule = { kind: "cron", expr: "0 * * * *", tz: "UTC", staggerMs: 300_000 } as const;
    assert.deepEqual(job?.schedule, schedule);
    assert.equal(job?.state.nextRunAtMs, nextSlot(schedule, "backup", NOON));
  });

  it("has one missed record for a time that passed, and is due by its schedule", async (t) => {
    const scene = await openCron(t);
    const missedAt = NOON - 5 * MINUTE;
    const taken = await scene.jobs.take([{ ...tea, state: { nextRunAtMs: missedAt, runningAtMs: missedAt } }]);
    assert.deepEqual(taken, [{ id: tea.id, action: "take" }]);
    const [job] = await scene.list();
    assert.deepEqual(job?.state, { nextRunAtMs: NOON + 55 * MINUTE });
    const [missed, ...more] = await scene.listed();
    assert.deepEqual(more, []);
    assert.deepEqual(
      { ...missed, error: undefined },
      {
        ts: NOON,
        jobId: tea.id,
        jobName: "tea",
        action: "finished",
        record: "missed",
        dueAtMs: missedAt,
        status: "skipped",
        reason: "it was due while the job was moved here",
        error: undefined,
      },
    );
    assert.equal(await scene.runs.count(), 0, "a missed run is not counted as a run");
    assert.equal((await scene.runs.give()).records.length, 0);
    assert.deepEqual(actions(await scene.jobs.take([tea])), ["skip"]);
    assert.equal((await scene.fires(tea.id)).length, 1, "also when the job comes again");
  });

  it("has one missed record for all times that passed", async (t) => {
    const scene = await openCron(t);
    const planned = NOON - DAY + 7; // off its schedule, e.g. after a back-off
    await scene.jobs.take([{ ...tea, state: { nextRunAtMs: planned } }]);
    await scene.jobs.take([
      { ...backup, schedule: { kind: "cron", expr: "0 * * * *", staggerMs: 0 }, state: { nextRunAtMs: NOON - HOUR } },
    ]);
    const [missed, ...more] = await scene.fires(tea.id);
    assert.deepEqual([missed?.due_at, missed?.through_at, more.length], [planned, NOON, 0]);
    assert.equal((JSON.parse(missed?.entry ?? "") as CronRunEntry).slots, 25);
    const [hourly] = await scene.fires("backup");
    assert.deepEqual([hourly?.due_at, hourly?.through_at], [NOON - HOUR, NOON]);
  });

  it("has no missed record for a time that has a record, or while it is off", async (t) => {
    const scene = await openCron(t);
    const planned = NOON - 5 * MINUTE;
    const passed = { dueAt: planned - MINUTE, throughAt: NOON, decision: "missed", reason: "down" } as const;
    await scene.store.write([scene.store.recordNotRun(tea, "r", passed, NOON)]); // of a removed job with this id
    await scene.jobs.take([{ ...tea, state: { nextRunAtMs: planned } }]);
    await scene.jobs.take([{ ...tea, id: "off", enabled: false, state: { nextRunAtMs: planned } }]);
    assert.equal((await scene.fires(tea.id)).length, 1);
    assert.deepEqual(await scene.fires("off"), []);
  });

  for (const state of [{ nextRunAtMs: NOON - 1_000 }, {}] as const) {
    const isMissed = "nextRunAtMs" in state;
    it(`that runs once and whose time has just passed is disabled${isMissed ? ", and missed" : ""}`, async (t) => {
      const scene = await openCron(t);
      const schedule = { kind: "at", at: "2026-01-01T11:59:59.000Z" } as const;
      const [outcome] = await scene.jobs.take([{ ...once, schedule, state }]);
      assert.deepEqual(outcome, {
        id: "once",
        action: "convert",
        reason: "it is disabled, because its time has passed",
      });
      const [job] = await scene.list();
      assert.deepEqual([job?.enabled, job?.state, job?.schedule], [false, {}, schedule]);
      assert.deepEqual(
        (await scene.fires("once")).map(({ due_at: at, status }) => [at, status]),
        isMissed ? [[NOON - 1_000, "missed"]] : [],
      );
      assert.deepEqual(scene.wakes, [undefined]);
    });
  }

  const kept: [what: string, changes: object, wanted: object][] = [
    ["without a default delivery", { delivery: undefined }, { delivery: undefined }],
    ["without a default deleteAfterRun", { schedule: once.schedule, state: {} }, { deleteAfterRun: undefined }],
    [
      "with the delivery that older clients put into its payload",
      { delivery: undefined, payload: { ...backup.payload, deliver: true, channel: "IRC", to: " #x " } },
      { delivery: { mode: "announce", channel: "irc", to: "#x" }, payload: backup.payload },
    ],
    ["with a normalized agent", { agentId: " Work " }, { agentId: "work" }],
    ["with the origin of its text", { origin: PAGE }, { origin: PAGE }],
  ];
  for (const [what, changes, wanted] of kept) {
    it(`is taken ${what}`, async (t) => {
      const scene = await openCron(t);
      const record = recordOf({ ...backup, ...changes });
      assert.deepEqual(actions(await scene.jobs.take([record])), ["take"]);
      const [job] = await scene.list();
      for (const [key, value] of Object.entries(wanted)) assert.deepEqual(Object(job)[key], value);
    });
  }

  it("loses fields of its state that have no place here, and says so", async (t) => {
    const scene = await openCron(t);
    const state = { ...tea.state, consecutiveSkipped: 1, lastErrorReason: "x" };
    const [outcome] = await scene.jobs.take([{ ...tea, state }]);
    const reason = "without state.consecutiveSkipped, state.lastErrorReason";
    assert.deepEqual(outcome, { id: tea.id, action: "convert", reason });
    assert.deepEqual((await scene.list())[0]?.state, tea.state);
  });

  const refused: [what: string, changes: object, why: RegExp][] = [
    ["an unknown field", { toolsAllow: ["*"] }, /unexpected property 'toolsAllow'/],
    ["an invalid expression", { schedule: { kind: "cron", expr: "61 * * * *" } }, /cron expression "61 \* \* \* \*"/],
    ["an unknown zone", { schedule: { kind: "cron", expr: "0 3 * * *", tz: "Mars" } }, /zone "Mars"/],
    ["an interval that is too short", { schedule: { kind: "every", everyMs: 999 } }, /everyMs must be at least 1000/],
    ["a moment that cannot be read", { schedule: { kind: "at", at: "soon" } }, /must be ISO 8601/],
    ["a moment in 20 years", { schedule: { kind: "at", at: "2046-01-01" } }, /more than 10 years ahead/],
    ["a turn in the main session", { sessionTarget: "main", delivery: undefined }, /"systemEvent"/],
    ["a webhook to nowhere", { delivery: { mode: "webhook" } }, /must be the URL/],
    [
      "a level of thinking that does not exist",
      { payload: { ...backup.payload, thinking: "wild" } },
      /thinking "wild"/,
    ],
    ["an agent of nothing", { agentId: "?" }, /must have a letter or a digit/],
    ["an id with a slash", { id: "a/b" }, /its id has a slash/],
  ];
  for (const [what, changes, why] of refused) {
    it(`is refused with ${what}; the next one is taken`, async (t) => {
      const scene = await openCron(t);
      const record = recordOf({ ...backup, ...changes });
      const [first, second] = await scene.jobs.take([record, tea]);
      assert.deepEqual([first?.action, second?.action], ["refuse", "take"]);
      assert.match(first?.reason ?? "", why);
      assert.deepEqual(await scene.list(), [tea]);
    });
  }

  it("is refused at the limit of jobs", async (t) => {
    const scene = await openCron(t);
    scene.store.count = () => Promise.resolve(MAX_JOBS);
    const [outcome] = await scene.jobs.take([tea]);
    assert.equal(outcome?.action, "refuse");
    assert.match(outcome?.reason ?? "", /already 10000 cron jobs/);
  });

  it("is no refusal when the storage fails: that concerns all", async (t) => {
    const scene = await openCron(t);
    const full = new Error("disk full");
    scene.store.write = () => Promise.reject(full);
    await assert.rejects(scene.jobs.take([tea]), full);
  });
});

describe("a run that comes from another gateway", limited, () => {
  async function withBackup(t: TestContext) {
    const scene = await openCron(t);
    await scene.jobs.take([backup]);
    return scene;
  }

  it("is listed with its entry, once", async (t) => {
    const scene = await withBackup(t);
    const records = [
      run("a"),
      run("b", { ts: NOON - 2, runAtMs: NOON - 9, status: "skipped", summary: "", error: "nothing to do" }),
    ];
    assert.deepEqual(await scene.runs.take(records), [
      { id: "a", action: "take" },
      { id: "b", action: "take" },
    ]);
    assert.deepEqual(actions(await scene.runs.take([...records, run("a", { summary: "other" })])), [
      "skip",
      "skip",
      "skip",
    ]);
    assert.equal(await scene.runs.count(), 2);
    const [first, second] = await scene.listed();
    assert.deepEqual(first, { ...entry, jobName: "backup", record: "ran", dueAtMs: entry.runAtMs });
    assert.deepEqual([second?.record, second?.status, second?.error], ["skipped", "skipped", "nothing to do"]);
    const found = async (params: object) =>
      (await listRuns({ storage: scene.storage, defaultAgentId: "main" }, { scope: "all", ...params })).total;
    assert.deepEqual(
      [
        await found({ query: "ALL WELL" }),
        await found({ status: "skipped" }),
        await found({ deliveryStatus: "not-delivered" }),
      ],
      [1, 1, 2],
    );
    assert.deepEqual((await scene.list())[0], backup, "the job stays as it is");
  });

  it("twice in one call is taken once", async (t) => {
    const scene = await withBackup(t);
    assert.deepEqual(actions(await scene.runs.take([run("a"), run("a")])), ["take", "skip"]);
  });

  it("does not replace another one of the same time", async (t) => {
    const scene = await withBackup(t);
    assert.deepEqual(actions(await scene.runs.take([run("a"), run("b", { summary: "b" }), run("c")])), [
      "take",
      "take",
      "take",
    ]);
    const due = entry.runAtMs ?? 0;
    assert.deepEqual(
      (await scene.fires("backup")).map(({ due_at: at }) => at),
      [due, due + 1, due + 2],
    );
  });

  it("without status has none", async (t) => {
    const scene = await withBackup(t);
    const { status: _status, ...rest } = entry;
    await scene.runs.take([{ id: "a", entry: rest }]);
    const [listed] = await scene.listed();
    assert.deepEqual([listed?.record, "status" in (listed ?? {})], ["ran", false]);
  });

  it("loses fields that have no place here, and says so", async (t) => {
    const scene = await withBackup(t);
    const more = { ...entry, usage: { ...entry.usage, cost: 1 }, delivery: { to: "x" } };
    const [outcome] = await scene.runs.take([{ id: "a", entry: more }]);
    assert.deepEqual(outcome, { id: "a", action: "convert", reason: "without delivery, usage.cost" });
    assert.deepEqual((await scene.listed())[0]?.usage, entry.usage);
  });

  const others: [what: string, record: CronRunRecord, action: string, why: RegExp][] = [
    ["of an unknown job is dropped", run("a", { jobId: "gone" }), "drop", /its job is not here/],
    ["that was missed is dropped", run("a", { record: "missed" }), "drop", /^it was missed$/],
    ["that ends in the future is refused", run("a", { ts: NOON + 1 }), "refuse", /lies in the future/],
    ["that was due in the future is refused", run("a", { dueAtMs: NOON + 1 }), "refuse", /lies in the future/],
  ];
  for (const [what, record, action, why] of others) {
    it(`${what}; the next one is taken`, async (t) => {
      const scene = await withBackup(t);
      const [first, second] = await scene.runs.take([record, run("b")]);
      assert.deepEqual([first?.id, first?.action, second?.id, second?.action], ["a", action, "b", "take"]);
      assert.match(first?.reason ?? "", why);
      assert.equal(await scene.runs.count(), 1);
    });
  }
});

describe("what is given", limited, () => {
  it("comes in pages in a fixed order, and can be taken by another gateway, which gives the same", async (t) => {
    const from = await openCron(t);
    const many = Array.from({ length: 401 }, (_, n) => ({ ...tea, id: `job-${n}` }));
    await from.jobs.take([...many, backup, once]);
    const runs = Array.from({ length: 450 }, (_, n) =>
      run(`r${n}`, { jobId: n % 2 ? "backup" : "job-7", runAtMs: NOON - 1_000 - n }),
    );
    await from.runs.take(runs);
    const first = await from.jobs.give();
    assert.deepEqual([first.records.length, first.next], [200, first.records[199]?.id]);
    const given = await from.all();
    assert.deepEqual([given.jobs.length, given.runs.length], [403, 450]);
    assert.ok(given.jobs.every((record) => matches(CronJobRecord, record)));
    assert.ok(given.runs.every((record) => matches(CronRunRecord, record)));
    assert.deepEqual(new Set(actions(await from.jobs.take(given.jobs))), new Set(["skip"]));
    assert.deepEqual(new Set(actions(await from.runs.take(given.runs))), new Set(["skip"]));
    assert.deepEqual(await from.all(), given);

    const to = await openCron(t);
    assert.deepEqual(new Set(actions(await to.jobs.take(given.jobs))), new Set(["take"]));
    assert.deepEqual(new Set(actions(await to.runs.take(given.runs))), new Set(["take"]));
    assert.deepEqual(await to.all(), given);
    assert.deepEqual(await to.listed(), await from.listed());
    assert.deepEqual([await to.jobs.count(), await to.runs.count()], [403, 450]);
  });

  it("has runs by hand, skipped runs and the end of a back-off, but no missed or orphaned runs", async (t) => {
    const from = await openCron(t);
    const { store } = from;
    await from.jobs.take([tea, backup]);
    const job = (await store.job(tea.id)) ?? assert.fail();
    const dueAt = NOON - HOUR;
    const byHand = { jobId: tea.id, dueAt, runId: runIdOf(tea.id, dueAt), isManual: true };
    await store.write([store.change(job, { heldUntil: NOON + 2 * HOUR }), store.accept(byHand)]);
    const fire = (await store.claim((await store.unsettled())[0] ?? assert.fail(), "me", NOON)) ?? assert.fail();
    assert.equal((await from.runs.give()).records.length, 0, "a run that has not ended is not given");
    assert.equal((await from.jobs.give()).records.at(0)?.state.runningAtMs, undefined);
    const crowd = { dueAt: NOON - DAY, throughAt: NOON - 2 * HOUR, slots: 3, reason: "x" };
    await store.write([
      store.settle(fire, "tea", { status: "ran", at: NOON, entry: { status: "error", error: "no" } }),
      store.recordNotRun(tea, "s", { ...crowd, decision: "skipped" }, NOON),
      store.recordNotRun(tea, "m", { ...crowd, dueAt: 1, decision: "missed" }, NOON),
      store.recordNotRun({ id: "removed", name: "" }, "x", { ...crowd, decision: "skipped" }, NOON),
    ]);
    const given = await from.all();
    assert.deepEqual(
      given.runs.map(({ id, entry: { manual, throughAtMs, slots } }) => [id, manual, throughAtMs, slots]),
      [
        ["s", undefined, NOON - 2 * HOUR, 3],
        [byHand.runId, true, undefined, undefined],
      ],
    );
    assert.equal(given.jobs.find(({ id }) => id === tea.id)?.state.nextRunAtMs, NOON + 2 * HOUR);
    const to = await openCron(t);
    await to.jobs.take(given.jobs);
    await to.runs.take(given.runs);
    assert.deepEqual(await to.all(), given);
  });

  it("keeps a job on the dot that has no staggerMs", async (t) => {
    const from = await openCron(t);
    await from.jobs.take([backup]);
    const job = (await from.store.job("backup")) ?? assert.fail();
    const schedule = { kind: "cron", expr: "0 * * * *", tz: "UTC" } as const;
    await from.store.write([
      from.store.change(job, { definition: { ...job.definition, schedule }, nextAt: NOON + HOUR }),
    ]);
    const given = await from.all();
    const to = await openCron(t);
    await to.jobs.take(given.jobs);
    assert.deepEqual(await to.all(), given);
    const stored = (await to.store.job("backup")) ?? assert.fail();
    assert.equal(nextSlot(stored.definition.schedule, "backup", NOON), NOON + HOUR);
  });

  it("refuses a place that it has not given", async (t) => {
    const scene = await openCron(t);
    for (const after of ["x", ":a", "1:", "1.5:a"])
      await assert.rejects(scene.runs.give(after), { code: "INVALID_REQUEST" });
  });
});

it("each job has its next time from its schedule, and at most one missed record", limited, async (t) => {
  const scene = await openCron(t);
  const schedules = fc.oneof(
    fc.record({
      kind: fc.constant("every" as const),
      everyMs: fc.integer({ min: 1_000, max: 10 * DAY }),
      anchorMs: fc.integer({ min: 0, max: NOON + DAY }),
    }),
    fc.record({
      kind: fc.constant("cron" as const),
      expr: fc.constantFrom("* * * * *", "0 * * * *", "15 9 * * 1", "30 2 * * *", "*/7 3 1 * *"),
      tz: fc.constantFrom("UTC", "Europe/Berlin", "Asia/Kolkata"),
      staggerMs: fc.constantFrom(0, 1_000, 300_000),
    }),
  );
  let index = 0;
  const jobs = fc.record({ schedule: schedules, plannedIn: fc.option(fc.integer({ min: -30 * DAY, max: 30 * DAY })) });
  await fc.assert(
    fc.asyncProperty(jobs, async ({ schedule, plannedIn }) => {
      index += 1;
      const id = `job-${index}`;
      const planned = plannedIn === null ? undefined : NOON + plannedIn;
      const state = planned === undefined ? {} : { nextRunAtMs: planned };
      assert.deepEqual(await scene.jobs.take([{ ...tea, id, schedule, state }]), [{ id, action: "take" }]);
      const job = (await scene.store.job(id)) ?? assert.fail();
      const isAhead = planned !== undefined && planned > NOON;
      assert.equal(job.nextAt, isAhead ? planned : nextSlot(schedule, id, NOON));
      assert.ok((job.nextAt ?? 0) > NOON);
      const fires = await scene.fires(id);
      assert.deepEqual(
        fires.map(({ due_at: at, status }) => [at, status]),
        planned === undefined || isAhead ? [] : [[planned, "missed"]],
      );
      assert.ok(fires.every(({ through_at: at }) => at <= NOON));
    }),
    { numRuns: 200 },
  );
});

describe("a gateway", limited, () => {
  it("shows imported jobs and runs, and runs the jobs by their times, without a restart", async (t) => {
    const gateway = await (await openScene(t, { plugins: ["import"] })).start();
    const { client } = gateway;
    const take = (kind: string, records: readonly { readonly id: string }[]) =>
      client.call(imports.take, { kind, records: [...records] });
    const late = {
      ...tea,
      id: "late",
      payload: { ...tea.payload, text: "Cold" },
      state: { nextRunAtMs: NOON - 5 * MINUTE },
    };
    const before = await client.call(imports.kinds, {});
    const jobs = [tea, backup, once, late, { id: "broken" }];
    const { outcomes } = await take("cron-job", jobs);
    assert.deepEqual(actions(outcomes), ["take", "take", "take", "take", "refuse"]);
    assert.deepEqual(actions((await take("cron-run", [run("backup:1"), run("x", { jobId: "gone" })])).outcomes), [
      "take",
      "drop",
    ]);
    const after = await client.call(imports.kinds, {});
    const added = (kind: string) => {
      const [was, is] = [before, after].map(({ kinds }) => kinds.find((one) => one.kind === kind) ?? assert.fail(kind));
      return [is?.plugin, is?.gives, (is?.count ?? 0) - (was?.count ?? 0)];
    };
    assert.deepEqual(
      [added("cron-job"), added("cron-run")],
      [
        ["cron", true, 4],
        ["cron", true, 1],
      ],
    );

    const listed = (await client.call(cron.list, {})).jobs;
    assert.deepEqual(
      new Map(listed.map(({ id, state }) => [id, state.nextRunAtMs])),
      new Map([
        [tea.id, NOON + 55 * MINUTE],
        ["late", NOON + 55 * MINUTE],
        ["backup", Date.UTC(2026, 0, 2, 2)],
        ["once", Date.UTC(2026, 2, 1, 9)],
      ]),
    );
    assert.equal((await client.call(cron.status, {})).nextWakeAtMs, NOON + 55 * MINUTE);
    const shown = await gateway.runs();
    assert.deepEqual(
      shown.map(({ jobId, record, dueAtMs }) => [jobId, record, dueAtMs]),
      [
        ["backup", "ran", entry.runAtMs],
        ["late", "missed", NOON - 5 * MINUTE],
      ],
    );

    await gateway.pass(MINUTE);
    assert.equal((await gateway.runs()).length, 2, "nothing runs because of the import");
    await gateway.pass(54 * MINUTE - 1_000);
    assert.equal((await gateway.runs()).length, 2);
    await gateway.pass(1_000);
    await gateway.settled("late", 2);
    await gateway.settled(tea.id, 1);
    assert.deepEqual(await gateway.records(tea.id), ["ran ok"]);
    assert.deepEqual(await gateway.records("late"), [
      "missed skipped it was due while the job was moved here",
      "ran ok",
    ]);
    const waiting = await gateway.waiting();
    assert.deepEqual(new Set(waiting.map(({ text }) => text)), new Set(["The tea is ready", "Cold"]));
    assert.ok(waiting.every(({ sessionKey }) => sessionKey === MAIN));
    const { records, next } = await client.call(imports.give, { kind: "cron-job" });
    assert.deepEqual([records.length, next], [4, undefined]);
    assert.deepEqual(new Set(actions((await take("cron-job", records)).outcomes)), new Set(["skip"]));
  });

  it("that does not run jobs imports them, and the next start runs them", async (t) => {
    const scene = await openScene(t, { plugins: ["import"] });
    process.env["SVC_SKIP_CRON"] = "1";
    t.after(() => delete process.env["SVC_SKIP_CRON"]);
    const first = await scene.start();
    await first.client.call(imports.take, { kind: "cron-job", records: [tea] });
    await first.pass(56 * MINUTE);
    assert.deepEqual(await first.runs(), []);
    await first.halt();
    delete process.env["SVC_SKIP_CRON"];
    const second = await scene.start(createFakeClock(NOON + 54 * MINUTE));
    await second.pass(MINUTE);
    await second.settled(tea.id, 1);
    assert.deepEqual(await second.records(tea.id), ["ran ok"]);
  });
});
