/** `/metrics` of a real gateway: its values are correct, and only authorized clients can read them. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { defineContract, definePlugin, GatewayError, Type } from "@svc/sdk";
import { testGateway, type TestGateway } from "@svc/sdk/testing";
import { keyOf, parseExposition } from "./strict-parser.ts";

const Any = Type.Object({});
const method = { summary: "-", scope: "operator.read", params: Any, result: Any } as const;
const busy = defineContract("busy", { ask: method, refuse: method, break: method, idle: method });

const busyPlugin = definePlugin({
  id: "busy",
  api: "^1.0.0",
  version: '1.0.0-"odd"\\',
  setup(gateway) {
    gateway.serve(busy, {
      ask: () => ({}),
      idle: () => ({}),
      refuse: () => {
        throw new GatewayError("NOT_FOUND", "no such thing");
      },
      break: () => {
        throw new Error("out of ink");
      },
    });
    gateway.hooks.hello.tap(() => undefined);
  },
});

const start = (t: TestContext, more: object = {}) => testGateway(t, { plugins: ["metrics", busyPlugin], ...more });

async function scrape({ gateway }: TestGateway) {
  const answer = await fetch(`${gateway.url.replace("ws", "http")}/metrics`, {
    headers: { authorization: `Bearer ${gateway.auth.token ?? ""}` },
  });
  assert.equal(answer.status, 200);
  const families = parseExposition(await answer.text());
  /** Value of the one series with exactly these labels. */
  const value = (name: string, labels: Record<string, string> = {}) => {
    const all = [...families.values()].flatMap(({ series }) => series).filter((one) => one.name === name);
    return all.find((one) => keyOf(one.labels) === keyOf(labels))?.value;
  };
  return { families, value, headers: answer.headers };
}

describe("/metrics", () => {
  it("counts the calls that were made", async (t) => {
    const running = await start(t);
    const { client } = running;
    const plugin = "busy";
    const before = await scrape(running);
    assert.equal(before.value("svc_plugin_calls_total", { plugin }), 0);
    for (const name of ["ask", "ask", "ask", "refuse", "break"])
      await client.request(`busy.${name}`, {}).catch(() => undefined);
    await running.connect();
    const { value, families } = await scrape(running);
    assert.equal(value("svc_plugin_calls_total", { plugin }), 5);
    assert.equal(value("svc_plugin_call_duration_seconds_count", { plugin }), 5);
    assert.equal(value("svc_plugin_call_duration_seconds_bucket", { plugin, le: "+Inf" }), 5);
    assert.ok(Number(value("svc_plugin_call_duration_seconds_sum", { plugin })) > 0);
    assert.equal(value("svc_plugin_errors_total", { plugin }), 1);
    assert.equal(value("svc_plugin_hook_runs_total", { plugin }), 2); // two clients connected
    assert.equal(value("svc_plugin_hook_errors_total", { plugin }), 0);
    assert.equal(value("svc_plugin_calls_under_way", { plugin }), 0);
    assert.equal(value("svc_plugin_calls_under_way", { plugin: "metrics" }), 1); // this request
    assert.equal(value("svc_plugin_blocks_total", { plugin }), 0);
    assert.equal(value("svc_plugin_state", { plugin, state: "active" }), 1);
    assert.equal(value("svc_plugin_state", { plugin, state: "quarantined" }), 0);
    assert.equal(value("svc_plugin_info", { plugin, version: '1.0.0-"odd"\\' }), 1);
    assert.equal(value("svc_rpc_calls_total", { plugin, method: "busy.ask", outcome: "ok" }), 3);
    assert.equal(value("svc_rpc_calls_total", { plugin, method: "busy.refuse", outcome: "refused" }), 1);
    assert.equal(value("svc_rpc_calls_total", { plugin, method: "busy.break", outcome: "failed" }), 1);
    assert.equal(value("svc_rpc_calls_total", { plugin, method: "busy.idle", outcome: "ok" }), undefined);
    assert.equal(value("svc_connections", { role: "operator" }), 2);
    assert.equal(value("svc_connections", { role: "node" }), 0);
    assert.ok(!families.has("svc_plugin_memory_bytes"), "memory of plugins in the host cannot be measured separately");
  });

  it("has series of the process, and of its event loop from the second scrape on", async (t) => {
    const running = await start(t);
    const first = await scrape(running);
    assert.equal(first.value("nodejs_eventloop_lag_max_seconds"), undefined);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { value, headers } = await scrape(running);
    assert.equal(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    const [p50, p99, max] = ["p50", "p99", "max"].map((name) => Number(value(`nodejs_eventloop_lag_${name}_seconds`)));
    assert.ok(Number(p50) <= Number(p99) && Number(p99) <= Number(max) && Number(max) < 60, `${p50} ${p99} ${max}`);
    assert.equal(value("nodejs_version_info", { version: process.version }), 1);
    assert.ok(Number(value("process_resident_memory_bytes")) > Number(value("nodejs_heap_size_used_bytes")));
    const cpu = Number(value("process_cpu_seconds_total"));
    assert.ok(cpu > 0 && cpu <= process.uptime() * 64);
    const started = Number(value("process_start_time_seconds"));
    // Not "now less the uptime": the clock of the machine may be set while the process runs.
    assert.ok(Math.abs(started - performance.timeOrigin / 1_000) < 5);
    const uptime = Number(value("svc_uptime_seconds"));
    assert.ok(uptime > 0 && uptime <= process.uptime());
  });

  it("serves HEAD like GET, and no other method", async (t) => {
    const { gateway } = await start(t);
    const url = `${gateway.url.replace("ws", "http")}/metrics`;
    const headers = { authorization: `Bearer ${gateway.auth.token ?? ""}` };
    const head = await fetch(url, { method: "HEAD", headers });
    assert.deepEqual([head.status, await head.text()], [200, ""]);
    assert.equal((await fetch(url, { method: "POST", headers })).status, 405);
  });

  const without: [what: string, headers: Record<string, string>][] = [
    ["no credential", {}],
    ["a wrong one", { authorization: "Bearer nobody" }],
    ["another scheme", { authorization: "Basic bm9ib2R5Om5vYm9keQ==" }],
  ];
  for (const [what, headers] of without) {
    it(`is closed to ${what}`, async (t) => {
      const { gateway } = await start(t);
      const answer = await fetch(`${gateway.url.replace("ws", "http")}/metrics`, { headers });
      assert.equal(answer.status, 401);
      assert.doesNotMatch(await answer.text(), /svc_/);
    });
  }

  it("is closed to a page of another origin when no credential is required", async (t) => {
    const { gateway } = await start(t, { gateway: { auth: { mode: "none" } } });
    const url = `${gateway.url.replace("ws", "http")}/metrics`;
    assert.equal((await fetch(url)).status, 200);
    const answer = await fetch(url, { headers: { origin: "https://elsewhere.example" } });
    assert.equal(answer.status, 403);
    assert.doesNotMatch(await answer.text(), /svc_/);
  });
});
