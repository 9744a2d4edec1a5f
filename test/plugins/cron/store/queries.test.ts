/** `cron.list`, `cron.runs`, and large numbers of jobs. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ParamsOf } from "@svc/sdk";
import { cron } from "@svc/sdk/cron";
import { NOON, openScene, report } from "../scene.ts";

const limited = { timeout: 120_000 };
const HOUR = 3_600_000;

describe("lists", limited, () => {
  it("of jobs have pages, an order and a text search", async (t) => {
    const gateway = await (await openScene(t)).start();
    const add = (name: string, hours: number, more: object = {}) =>
      gateway.add({ name, schedule: { everyMs: hours * HOUR }, text: name, ...more });
    for (const [name, hours] of [
      ["Beta", 3],
      ["alpha", 2],
      ["gamma 100%", 1],
    ] as const)
      await add(name, hours);
    await add("off", 1, { enabled: false, description: "Not now" });
    const list = async (params: ParamsOf<typeof cron.list>) => {
      const { jobs, ...page } = await gateway.client.call(cron.list, params);
      return { names: jobs.map(({ name }) => name), ...page };
    };
    const whole = { total: 3, offset: 0, limit: 3, hasMore: false, nextOffset: null };
    assert.deepEqual(await list({}), { names: ["gamma 100%", "alpha", "Beta"], ...whole });
    assert.deepEqual((await list({ includeDisabled: true })).names, ["gamma 100%", "alpha", "Beta", "off"]);
    assert.deepEqual((await list({ includeDisabled: true, enabled: "disabled" })).names, ["off"]);
    assert.deepEqual((await list({ enabled: "all", sortDir: "desc" })).names, ["Beta", "alpha", "gamma 100%", "off"]);
    assert.deepEqual((await list({ sortBy: "name" })).names, ["alpha", "Beta", "gamma 100%"]);
    assert.deepEqual((await list({ sortBy: "name", sortDir: "desc" })).names, ["gamma 100%", "Beta", "alpha"]);
    assert.deepEqual((await list({ enabled: "all", query: " not NOW " })).names, ["off"]);
    assert.deepEqual((await list({ query: "100%" })).names, ["gamma 100%"]);
    assert.deepEqual((await list({ query: "a_pha" })).names, [], "no wildcards");
    assert.deepEqual((await list({ query: "nobody" })).limit, 50);
    const second = { names: ["alpha"], total: 3, offset: 1, limit: 1, hasMore: true, nextOffset: 2 };
    assert.deepEqual(await list({ offset: 1, limit: 1 }), second);
    assert.deepEqual((await list({ offset: 99 })).offset, 3);
  });

  it("of runs are filtered by status and text", async (t) => {
    const scene = await openScene(t, { replies: [{ text: "The sky is blue" }, { status: 400, message: "no" }] });
    const gateway = await scene.start();
    const first = await gateway.add({ ...report, name: "Sky" });
    const second = await gateway.add({ ...report, name: "Sea", enabled: false });
    await gateway.client.call(cron.run, { id: first.id });
    await gateway.client.call(cron.run, { id: second.id });
    const runs = async (params: ParamsOf<typeof cron.runs>) => (await gateway.client.call(cron.runs, params)).entries;
    const of = async (params: ParamsOf<typeof cron.runs>) =>
      (await runs(params)).map(({ jobId }) => (jobId === first.id ? "Sky" : "Sea")).toSorted();
    assert.deepEqual(new Set((await runs({})).map(({ jobName }) => jobName)), new Set(["Sky", "Sea"]));
    const [entry, ...others] = await runs({ id: first.id });
    assert.deepEqual([entry?.summary, entry?.jobName, others], ["The sky is blue", undefined, []]);
    assert.deepEqual(await of({ status: "error" }), ["Sea"]);
    assert.deepEqual(await of({ status: "error", statuses: ["ok"] }), ["Sky"]);
    assert.deepEqual(await of({ deliveryStatus: "not-requested" }), ["Sea", "Sky"]);
    assert.deepEqual(await of({ deliveryStatus: "not-requested", deliveryStatuses: ["delivered"] }), []);
    assert.deepEqual(await of({ query: "BLUE" }), ["Sky"]);
    assert.deepEqual(await of({ query: "sea" }), ["Sea"]);
    assert.deepEqual(await runs({ jobId: "nobody" }), []);
    await assert.rejects(gateway.client.call(cron.runs, { scope: "job" }), { code: "INVALID_REQUEST" });
    await assert.rejects(gateway.client.call(cron.runs, { id: "../x" }), { code: "INVALID_REQUEST" });
  });

  it("may be long: two hundred jobs need one timer", async (t) => {
    const gateway = await (await openScene(t)).start();
    const add = (index: number) =>
      gateway.add({ name: `job ${index}`, schedule: { everyMs: HOUR + index }, text: "x" });
    await add(0);
    const timers = gateway.clock.pending;
    await Promise.all(Array.from({ length: 199 }, (_, index) => add(index + 1)));
    const more = gateway.clock.pending - timers;
    assert.ok(more < 10, `${more} more timers for 199 more jobs`); // other parts of the gateway may have set a few
    const { jobs, nextWakeAtMs } = await gateway.client.call(cron.status, {});
    assert.deepEqual([jobs, nextWakeAtMs], [200, NOON + HOUR]);
  });
});
