import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFakeClock, type FakeClock } from "@svc/sdk/testing";
import { type Renewal, type Restartable, runWithRestarts } from "../../../host/cli/restart-loop.ts";
import type { Restarter } from "../../../host/restarts.ts";
import { until } from "../kernel/reload-scene.ts";

interface Scene {
  readonly clock: FakeClock;
  /** Events, in order. */
  readonly log: string[];
  /** The restarter passed to the running gateway. */
  readonly restart: Restarter;
  end(): void;
  request(reason: string): void;
  readonly done: Promise<Renewal<Restartable> | undefined>;
  /** Waits for a line of the log. */
  until(line: string): Promise<void>;
}

/** @param refusals numbers of the starts that fail */
function scene(refusals: readonly number[] = []): Scene {
  const clock = createFakeClock();
  const log: string[] = [];
  const say = (line: string) => void log.push(line);
  let end = () => {};
  let request: Scene["request"] = () => {};
  let current: Restarter = { perform: () => assert.fail("nothing was started") };
  let starts = 0;
  const done = runWithRestarts<Restartable & { readonly number: number }>({
    clock,
    ended: new Promise((resolve) => (end = () => resolve({}))),
    onRequest: (ask) => (request = ask),
    async start(restart, former) {
      starts += 1;
      const number = starts;
      if (refusals.includes(number)) throw new Error(`no ${number}`);
      current = restart;
      say(`start ${number} after ${former?.number ?? "none"}`);
      return {
        number,
        async stop(reason, options) {
          const { restartExpectedMs = "", drainMs = "" } = options ?? {};
          say(`stop ${number} ${reason ?? "for good"} ${restartExpectedMs} ${drainMs}`.trim());
        },
      };
    },
    up: async ({ number }, reason) => say(`up ${number} ${reason ?? "first"}`),
    failed: (error, retryMs) => say(`${(error as Error).message}, again in ${retryMs}`),
  });
  return {
    clock,
    log,
    get restart() {
      return current;
    },
    end: () => end(),
    request: (reason) => request(reason),
    done,
    until: (line) => until(() => log.includes(line), line),
  };
}

describe("a gateway that may restart", { timeout: 120_000 }, () => {
  it("runs until `ended`, then is stopped", async () => {
    const { log, end, done, until } = scene();
    await until("up 1 first");
    end();
    await done;
    assert.deepEqual(log, ["start 1 after none", "up 1 first", "stop 1 for good"]);
  });

  it("throws the reason if the first start is refused", () => assert.rejects(scene([1]).done, /no 1/));

  it("is stopped and restarted on its own request", async () => {
    const made = scene();
    await made.until("up 1 first");
    assert.equal(made.restart.lastPerformedAt, undefined);
    made.restart.perform("config.patch");
    made.restart.perform("once more");
    await made.until("up 2 config.patch");
    assert.deepEqual(made.log, [
      "start 1 after none",
      "up 1 first",
      "stop 1 gateway restarting 1500 5000",
      "start 2 after 1",
      "up 2 config.patch",
    ]);
    assert.equal(made.restart.lastPerformedAt, made.clock.now(), "the cooldown goes on");
    made.end();
    await made.done;
    assert.equal(made.log.at(-1), "stop 2 for good");
  });

  it("is restarted on each external request; the stop then waits for work in flight", async () => {
    const made = scene();
    for (const number of [1, 2, 3]) {
      await made.until(`up ${number} ${number === 1 ? "first" : "SIGUSR1"}`);
      made.request("SIGUSR1");
    }
    await made.until("up 4 SIGUSR1");
    assert.equal(made.log[2], "stop 1 gateway restarting 1500");
    made.end();
    await made.done;
  });

  it("a request of a stopped gateway is ignored", async () => {
    const made = scene();
    await made.until("up 1 first");
    const { restart } = made;
    made.request("SIGUSR1");
    await made.until("up 2 SIGUSR1");
    restart.perform("too late");
    await made.clock.advance(0);
    made.end();
    await made.done;
    assert.equal(made.log.at(-1), "stop 2 for good");
  });

  it("hands over to a new process on request, also if the request arrives while it stops", async () => {
    const made = scene();
    await made.until("up 1 first");
    made.restart.perform("config.patch");
    made.restart.perform("update.run", "process");
    const renewal = await made.done;
    assert.deepEqual([renewal?.reason, renewal?.at], ["config.patch", made.clock.now()]);
    assert.deepEqual(made.log.slice(2), ["stop 1 gateway restarting 5000 5000"]);
  });

  it("retries a failed start every 5 s, and reports the reason", async () => {
    const made = scene([2, 3]);
    await made.until("up 1 first");
    made.request("SIGUSR1");
    await made.until("no 2, again in 5000");
    await made.clock.advance(4_999);
    assert.ok(!made.log.includes("no 3, again in 5000"));
    await made.clock.advance(1);
    await made.until("no 3, again in 5000");
    await made.clock.advance(5_000);
    await made.until("up 4 SIGUSR1");
    assert.equal(made.log[2], "stop 1 gateway restarting 1500");
    made.end();
    await made.done;
    assert.equal(made.clock.pending, 0);
  });

  it("ends while it waits for the next attempt", async () => {
    const made = scene([2]);
    await made.until("up 1 first");
    made.request("SIGUSR1");
    await made.until("no 2, again in 5000");
    made.end();
    await made.done;
    assert.equal(made.clock.pending, 0);
  });
});
