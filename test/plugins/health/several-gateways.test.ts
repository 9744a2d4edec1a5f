/** The list of clients has those of all gateways on the database. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { gateways, health, presenceEvent } from "@svc/sdk/health";
import healthPlugin from "../../../plugins/health/plugin.ts";
import { testGateway } from "@svc/sdk/testing";
import { withoutPostgres } from "../../postgres.ts";
import { soon, twoGateways } from "../two-gateways.ts";

it("clients of another gateway are in the list, and clients here are told", { skip: withoutPostgres() }, async (t) => {
  const [one, other] = await twoGateways(t, { plugins: ["storage-sqlite", "sessions", healthPlugin] });
  const watcher = await one.connect({ client: { id: "watcher", mode: "ui", displayName: "Watcher" } });
  const events: (readonly (string | undefined)[])[] = [];
  watcher.on(presenceEvent, ({ presence }) => void events.push(presence.map(({ host }) => host)));
  const there = await other.connect({ client: { id: "panel", mode: "ui", displayName: "There" } });
  const hosts = async () => (await watcher.call(health.presence, {})).map(({ host }) => host);
  await soon(async () => (await hosts()).includes("There"), "the client");
  await soon(() => events.some((list) => list.includes("There")), "the event");
  const selves = (await watcher.call(health.presence, {})).filter(({ mode }) => mode === "gateway");
  assert.equal(selves.length, 2);
  await there.close();
  const reason = async () => (await watcher.call(health.presence, {})).find(({ host }) => host === "There")?.reason;
  await soon(async () => (await reason()) === "disconnect", "its end");
  await other.gateway.stop();
  await soon(async () => !(await hosts()).includes("There"), "the end of its gateway");
});

it("each gateway lists all, with what each answers", { skip: withoutPostgres() }, async (t) => {
  const [one, other] = await twoGateways(t, { plugins: ["storage-sqlite", "sessions", healthPlugin] });
  const client = await one.connect();
  const list = async () => (await client.call(gateways.list, {})).gateways;
  await soon(async () => (await list()).filter(({ load }) => load).length === 2, "both");
  const rows = await list();
  assert.deepEqual(
    new Map(rows.map(({ load, isThis }) => [isThis, load?.url])),
    new Map([
      [true, one.gateway.url],
      [false, other.gateway.url],
    ]),
  );
  const mine = rows.find(({ isThis }) => isThis);
  assert.ok((mine?.load?.clients ?? 0) > 0 && (mine?.leaseMs ?? 0) > 0);
  await other.gateway.stop();
  await soon(async () => (await list()).length === 1, "one only");
});

it("a gateway alone on its file lists itself", async (t) => {
  const alone = await testGateway(t, { plugins: ["storage-sqlite", "sessions", healthPlugin] });
  const [row, ...others] = (await alone.client.call(gateways.list, {})).gateways;
  assert.deepEqual([row?.isThis, row?.leaseMs, row?.load?.url, others], [true, undefined, alone.gateway.url, []]);
});
