/** A component stopped while it opens stays stopped. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { Runner, type RunnerSources } from "../../../../plugins/cron/runs/runner.ts";
import { Scheduler, type SchedulerSources } from "../../../../plugins/cron/runs/scheduler.ts";
import { onlyOwner } from "../../only-owner.ts";

const soon = async <T>(value: T) => value;

it("a stopped scheduler sets no timer", async () => {
  const clock = createFakeClock();
  const store = {
    latest: () => soon(0),
    zone: () => soon("UTC"),
    nextWake: () => soon(clock.now() + 5_000),
  };
  const scheduler = new Scheduler({ store, clock, timeZone: () => "UTC" } as unknown as SchedulerSources); // only these parts are used
  const opened = scheduler.open();
  await scheduler.stop();
  await opened;
  await scheduler.open();
  scheduler.wakeBy(clock.now() + 1);
  assert.equal(clock.pending, 0);
});

it("a stopped runner takes over no run", async () => {
  const fire = { jobId: "job", status: "waiting" };
  const asked: string[] = [];
  const store = {
    unsettled: (jobId?: string) => {
      asked.push(jobId ?? "all");
      return soon([fire]);
    },
    claim: () => assert.fail("it claims"),
  };
  const runner = new Runner({ store, clock: createFakeClock(), config: {} } as unknown as RunnerSources); // only these parts are used
  const opened = runner.open(onlyOwner());
  await runner.stop();
  await opened;
  runner.pump("job");
  assert.deepEqual(asked, ["all"]);
});
