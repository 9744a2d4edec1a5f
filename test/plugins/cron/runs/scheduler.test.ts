/** Scheduled runs and their records, across outages and clocks that are set forward and back. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";
import type { CronSchedule } from "@svc/sdk/cron";
import type { Storage } from "@svc/sdk/storage";
import { createFakeClock } from "@svc/sdk/testing";
import { loadCalendar, nextSlot, zoned } from "../../../../plugins/cron/schedule/calendar.ts";
import { runIdOf, Scheduler } from "../../../../plugins/cron/runs/scheduler.ts";
import { JobChanges } from "../../../../plugins/cron/store/job-changes.ts";
import type { StoredJob } from "../../../../plugins/cron/store/records.ts";
import { CronStore } from "../../../../plugins/cron/store/store.ts";
import { openStorage } from "../../../../plugins/storage-sqlite/storage.ts";
import { createRandom, SEED } from "../../../fault/workload.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NOON = Date.UTC(2026, 0, 1, 12);
const log = { debug() {}, info() {}, warn() {}, error: (about: object) => assert.fail(JSON.stringify(about)) };

before(loadCalendar);

interface Record {
  readonly [column: string]: string | number;
  readonly due_at: number;
  readonly through_at: number;
  readonly status: string;
  readonly entry: string;
}

/** Jobs by name, on real storage; a run ends at once. The clock of the jobs is `now`. */
async function openScheduler(t: TestContext, schedules: Readonly<{ [name: string]: CronSchedule }>) {
  const directory = await mkdtemp(join(tmpdir(), "svc-scheduler-"));
  const { storage: real, close } = await openStorage({ file: join(directory, "svc.db") });
  t.after(async () => {
    await close();
    await rm(directory, { recursive: true, force: true });
  });
  let calls = 0;
  const counted = <T>(call: Promise<T>): Promise<T> => {
    calls += 1;
    return call.finally(() => (calls -= 1));
  };
  const storage: Storage = {
    ...real,
    get: (...asked) => counted(real.get(...asked)),
    all: (...asked) => counted(real.all(...asked)),
    transaction: (...asked) => counted(real.transaction(...asked)),
  };
  const store = new CronStore(storage);
  await store.open();
  const fake = createFakeClock(NOON);
  let aheadMs = 0;
  const clock = { ...fake, now: () => fake.now() + aheadMs };
  const changes = new JobChanges(store);
  const ran: string[] = [];
  const finish = async (jobId: string) => {
    for (const fire of await store.unsettled(jobId)) {
      const settled = { status: "ran", at: clock.now(), entry: { status: "ok" } } as const;
      await store.write([store.settle(fire, jobId, settled)]);
      ran.push(`${jobId} ${fire.dueAt}`);
    }
  };
  const idle = async () => {
    for (let quiet = 0; quiet < 3; quiet = calls === 0 ? quiet + 1 : 0)
      await new Promise<void>((resolve) => setImmediate(resolve));
  };
  let timeZone = "UTC";
  let scheduler: Scheduler;
  const open = async () => {
    const runner = { pump: (jobId: string) => void finish(jobId), cancel: () => 0 };
    const rest = { notifyMain: async () => assert.fail(), publish: () => undefined };
    const sources = { store, changes, runner, clock, log, timeZone: () => timeZone, ...rest };
    scheduler = new Scheduler(sources as ConstructorParameters<typeof Scheduler>[0]);
    await scheduler.open();
    await idle();
  };
  for (const [name, schedule] of Object.entries(schedules)) {
    const nextAt = nextSlot(zoned(schedule, timeZone), name, NOON);
    const definition = { id: name, name, enabled: true, schedule, createdAtMs: NOON, updatedAtMs: NOON };
    const job = { definition, facts: {}, nextAt, heldUntil: 0, runningAt: undefined, revision: 0 };
    await store.write([store.insert(job as unknown as StoredJob)]); // the scheduler reads only these fields
  }
  await open();
  return {
    store,
    changes,
    ran,
    now: () => clock.now(),
    /** Moves the clock on. */
    async pass(ms: number, stepMs = SECOND) {
      for (let left = ms; left > 0; left -= stepMs) {
        await fake.advance(Math.min(left, stepMs));
        await idle();
      }
    },
    jump: (ms: number) => (aheadMs += ms),
    /** Changes the user's zone. */
    async move(zone: string) {
      timeZone = zone;
      await scheduler.checkZone();
      await idle();
    },
    /** Moves the clock on while the gateway is down. */
    async outage(ms: number, zone = timeZone) {
      await scheduler.stop();
      await idle();
      aheadMs += ms;
      timeZone = zone;
      await open();
    },
    next: async (name: string) => (await store.job(name))?.nextAt ?? assert.fail(name),
    records: (name: string) => storage.all<Record>("SELECT * FROM cron_fires WHERE job_id = ? ORDER BY due_at", [name]),
  };
}

type Scene = Awaited<ReturnType<typeof openScheduler>>;

/** Checks that every scheduled run until now has exactly one record, and that none ran twice. @returns the number of runs */
async function check({ records, next, ran, now }: Scene, name: string, schedule: CronSchedule, context: string) {
  const all = await records(name);
  const iso = (at: number) => `${context}, ${name}: ${new Date(at).toISOString()}`;
  const end = Math.min(await next(name), now() + 1);
  let index = 0;
  for (let slot = nextSlot(schedule, name, NOON); slot !== undefined && slot < end;) {
    while ((all[index]?.through_at ?? Infinity) < slot) index += 1;
    const { due_at: dueAt } = all[index] ?? assert.fail(`no record of ${iso(slot)}`);
    assert.ok(dueAt <= slot, `no record of ${iso(slot)}`);
    slot = nextSlot(schedule, name, slot);
  }
  for (const [at, { due_at: dueAt, through_at: throughAt, status }] of all.entries()) {
    assert.ok((all[at + 1]?.due_at ?? Infinity) > throughAt, `two records of ${iso(throughAt)}`);
    assert.equal(nextSlot(schedule, name, dueAt - 1), dueAt, `no time of the schedule: ${iso(dueAt)}`);
    assert.ok(status === "ran" || throughAt <= now(), `${status} before it came: ${iso(throughAt)}`);
  }
  assert.equal(new Set(ran).size, ran.length, `${context}: a time ran twice`);
  return all.filter(({ status }) => status === "ran").length;
}

const SCHEDULES = {
  second: { kind: "cron", expr: "* * * * * *", tz: "UTC" },
  minute: { kind: "cron", expr: "* * * * *", tz: "UTC" },
} as const;

describe("a clock that was ahead", () => {
  const schedules = { ...SCHEDULES, every: { kind: "every", everyMs: 2 * SECOND, anchorMs: NOON } as const };

  for (const isRestarted of [false, true]) {
    it(`leaves jobs due by their schedule${isRestarted ? ", also after a restart" : ""}`, async (t) => {
      const scene = await openScheduler(t, schedules);
      await scene.pass(6 * SECOND);
      scene.jump(2 * HOUR);
      await scene.pass(68 * SECOND);
      const ranAhead = scene.ran.length;
      scene.jump(-2 * HOUR);
      if (isRestarted) await scene.outage(0);
      await scene.pass(MINUTE);
      const now = scene.now();
      for (const [name, schedule] of Object.entries(schedules)) {
        assert.equal(await scene.next(name), nextSlot(schedule, name, now), `${name} is due by its schedule`);
        await check(scene, name, schedule, "set back");
      }
      assert.ok(scene.ran.length > ranAhead, "they run at once");
      scene.jump(2 * HOUR);
      await scene.pass(70 * SECOND);
      for (const [name, schedule] of Object.entries(schedules)) await check(scene, name, schedule, "right again");
    });
  }

  it("ends a back-off that it began", async (t) => {
    const scene = await openScheduler(t, { every: schedules.every });
    scene.jump(2 * HOUR);
    await scene.pass(2 * SECOND);
    const lastRunAtMs = scene.now();
    const held = { facts: { lastRunAtMs }, heldUntil: lastRunAtMs + 30 * SECOND };
    await scene.changes.change("every", () => ({ job: held, result: undefined }));
    scene.jump(-2 * HOUR);
    await scene.pass(MINUTE);
    assert.equal((await scene.store.job("every"))?.heldUntil, 0);
  });

  it("updates the number of runs that a shared record stands for", async (t) => {
    const scene = await openScheduler(t, { every: schedules.every });
    scene.jump(2 * HOUR);
    await scene.pass(2 * SECOND);
    scene.jump(-2 * HOUR + 10 * MINUTE);
    await scene.pass(MINUTE);
    const crowd = (await scene.records("every")).find(({ due_at: dueAt, through_at: throughAt }) => dueAt < throughAt);
    const { due_at: dueAt, through_at: throughAt, entry } = crowd ?? assert.fail("no shared record");
    const { slots } = JSON.parse(entry) as { slots?: number };
    assert.equal(slots, Math.floor((throughAt - dueAt) / (2 * SECOND)) + 1);
  });

  it("keeps records of decisions by people", async (t) => {
    const schedule: CronSchedule = { kind: "every", everyMs: HOUR, anchorMs: NOON };
    const scene = await openScheduler(t, { schedule });
    const { store } = scene;
    const dueAt = NOON + HOUR;
    const moved = { dueAt, decision: "skipped", reason: "its next run was set by hand" } as const;
    const named = { id: "schedule", name: "schedule" };
    await store.write([store.recordNotRun(named, runIdOf("schedule", dueAt), moved, scene.now())]);
    scene.jump(2 * HOUR);
    await scene.pass(MINUTE);
    scene.jump(-2 * HOUR);
    await scene.pass(MINUTE);
    assert.equal(await scene.next("schedule"), NOON + 3 * HOUR);
    assert.deepEqual(
      (await scene.records("schedule")).map(({ due_at: at, status }) => `${(at - NOON) / HOUR} ${status}`),
      ["1 skipped", "2 ran"],
    );
  });
});

describe("jobs without a zone", () => {
  const schedules: { [name: string]: CronSchedule } = {
    theirs: { kind: "cron", expr: "0 18 * * *" },
    named: { kind: "cron", expr: "0 18 * * *", tz: "UTC" },
    every: { kind: "every", everyMs: 5 * HOUR, anchorMs: NOON },
  };
  const after = async (scene: Scene) =>
    Promise.all(Object.keys(schedules).map(async (name) => ((await scene.next(name)) - NOON) / HOUR));

  it("follow the user's zone from their next run on", async (t) => {
    const scene = await openScheduler(t, schedules);
    assert.deepEqual(await after(scene), [6, 6, 5]);
    await scene.move("Europe/Berlin");
    assert.deepEqual(await after(scene), [5, 6, 5], "18:00 in Berlin");
    await scene.outage(0, "America/New_York");
    assert.deepEqual(await after(scene), [11, 6, 5], "18:00 in New York, changed while nobody was there");
    await scene.pass(11 * HOUR, MINUTE);
    assert.deepEqual(await after(scene), [35, 30, 15]);
    assert.deepEqual(
      scene.ran.filter((run) => !run.startsWith("every")),
      [`named ${NOON + 6 * HOUR}`, `theirs ${NOON + 11 * HOUR}`],
    );
    assert.deepEqual((await scene.store.job("theirs"))?.definition.schedule, schedules["theirs"], "no tz is stored");
  });

  it("run if they are already due when the zone changes", async (t) => {
    const { theirs = assert.fail() } = schedules;
    const scene = await openScheduler(t, { theirs });
    await scene.outage(6 * HOUR, "America/New_York");
    await scene.pass(MINUTE);
    assert.deepEqual(scene.ran, [`theirs ${NOON + 6 * HOUR}`]);
    assert.equal(await scene.next("theirs"), NOON + 11 * HOUR);
  });
});

it("each scheduled run has one record, across outages and clock jumps", { timeout: 120_000 }, async (t) => {
  const schedules = { ...SCHEDULES, every: { kind: "every", everyMs: 7 * SECOND, anchorMs: NOON } as const };
  const random = createRandom(SEED);
  const scene = await openScheduler(t, schedules);
  let ran = 0;
  for (let round = 0; round < 20; round += 1) {
    await scene.pass(random() * 6 * SECOND);
    const fault = random();
    if (fault < 0.5) await scene.outage(Math.round(random() ** 3 * 20 * MINUTE));
    else scene.jump(Math.round((random() - 0.45) * 20 * MINUTE));
  }
  await scene.pass(61 * SECOND);
  for (const [name, schedule] of Object.entries(schedules)) ran += await check(scene, name, schedule, `seed ${SEED}`);
  assert.ok(ran > 10);
});
