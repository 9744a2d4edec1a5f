/** `cron.list`, `cron.runs`, and large numbers of jobs. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ParamsOf } from "@svc/sdk";
import { type CompactCronJob, cron } from "@svc/sdk/cron";
import { publishedViolations } from "../../../published.ts";
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
      const { jobs, snapshotRevision: _, ...page } = await gateway.client.call(cron.list, params);
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

  it("of jobs are filtered by agent, schedule, last run and id, and have a compact form", async (t) => {
    const scene = await openScene(t, { replies: [{ text: "done" }] });
    const gateway = await scene.start();
    const hourly = await gateway.add({ ...report, name: "hourly", schedule: { everyMs: HOUR }, enabled: false });
    const nightly = await gateway.add({
      ...report,
      name: "nightly",
      displayName: "Night shift",
      agentId: "ops",
      schedule: { kind: "cron", expr: "0 3 * * *" },
      delivery: { mode: "none", channel: "last" },
    });
    await gateway.client.call(cron.run, { id: hourly.id });
    const names = async (params: ParamsOf<typeof cron.list>) =>
      (await gateway.client.call(cron.list, { includeDisabled: true, sortBy: "name", ...params })).jobs.map(
        ({ name }) => name,
      );
    assert.deepEqual(await names({ agentId: "ops" }), ["nightly"]);
    assert.deepEqual(await names({ agentId: "MAIN" }), ["hourly"], "it names no agent");
    assert.deepEqual(await names({ scheduleKind: "cron" }), ["nightly"]);
    assert.deepEqual(await names({ scheduleKind: "stream" }), []);
    assert.deepEqual(await names({ scheduleKind: "all", lastRunStatus: "all" }), ["hourly", "nightly"]);
    assert.deepEqual(await names({ lastRunStatus: "ok" }), ["hourly"]);
    assert.deepEqual(await names({ lastRunStatus: "unknown" }), ["nightly"]);
    assert.deepEqual(await names({ trigger: "conditional" }), []);
    assert.deepEqual(await names({ trigger: "unconditional" }), ["hourly", "nightly"]);
    assert.deepEqual(await names({ query: nightly.id.toUpperCase() }), ["nightly"]);
    assert.deepEqual(await names({ query: "night SHIFT" }), ["nightly"]);

    const { jobs } = await gateway.client.call(cron.list, { compact: true, includeDisabled: true, sortBy: "name" });
    const [ran, due] = jobs as unknown as CompactCronJob[]; // of a caller that asks for it
    assert.deepEqual([ran?.lastRunStatus, ran?.nextRunAtMs, ran?.scheduleKind], ["ok", null, "every"]);
    assert.deepEqual([due?.lastRunAtMs, due?.displayName, due?.nextRunAtMs], [null, "Night shift", nightly.state.nextRunAtMs]); // prettier-ignore
    assert.ok(!("payload" in (due ?? {})));

    const previews = await gateway.client.call(cron.list, { includeDeliveryPreviews: true });
    assert.deepEqual(Object.keys(previews.deliveryPreviews ?? {}), [nightly.id]);
    assert.deepEqual(publishedViolations("CronDeliveryPreview", previews.deliveryPreviews?.[nightly.id]), []);
    const shown = await gateway.client.call(cron.get, { jobId: nightly.id });
    assert.deepEqual(shown, previews.jobs[0]);
    assert.deepEqual(publishedViolations("CronJob", shown), []);

    const runsOf = async (agentId: string) => (await gateway.client.call(cron.runs, { agentId })).entries;
    const [run, ...others] = await runsOf("main");
    assert.deepEqual([run?.jobId, others, await runsOf("ops")], [hourly.id, [], []]);
    assert.deepEqual(publishedViolations("CronRunLogEntry", run), []);
  });

  it("of jobs have the same revision on all pages, and another one after each change", async (t) => {
    const gateway = await (await openScene(t)).start();
    const add = (name: string) => gateway.add({ name, schedule: { everyMs: HOUR }, text: name });
    const [one] = [await add("one"), await add("two")];
    const revision = async (params: ParamsOf<typeof cron.list> = {}) =>
      (await gateway.client.call(cron.list, params)).snapshotRevision;
    const seen = [await revision()];
    assert.equal(await revision({ limit: 1, offset: 1, query: "two" }), seen[0]);
    await gateway.client.call(cron.update, { id: one.id, patch: { name: "first" } });
    seen.push(await revision());
    await add("three");
    seen.push(await revision());
    await gateway.client.call(cron.remove, { id: one.id });
    seen.push(await revision());
    assert.equal(new Set(seen).size, 4);
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
