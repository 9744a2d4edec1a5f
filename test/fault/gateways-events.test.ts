/**
 * Events of three gateways on one database: every client gets those of its audience once, in one order, also across a change of the gateway and
 * crashes of the database. Spec: design/scaleout.md, S-04 and S-08.
 *
 * SVC_FAULT_CLIENTS sets how many clients listen (default 24), SVC_FAULT_ROUNDS how often the database is killed (default 3).
 */
import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import type { ClientOptions, GatewayClient } from "@svc/sdk/client";
import { WebSocket } from "ws";
import { directory } from "../directory.ts";
import { startPostgres, withoutPostgres } from "../postgres.ts";
import { until } from "../until.ts";
import { burst, bursts } from "./burst-plugin.ts";
import { type Gateways, startGateways } from "./gateways.ts";

const CLIENTS = Number(process.env["SVC_FAULT_CLIENTS"] ?? 24);
const ROUNDS = Number(process.env["SVC_FAULT_ROUNDS"] ?? 3);
const limited = { timeout: 600_000, skip: withoutPostgres() };

/** Scopes of clients, and the events that they may receive. */
const AUDIENCES = [
  { scopes: ["operator.admin"], events: ["burst.all", "burst.read", "burst.approvals"] },
  { scopes: ["operator.read"], events: ["burst.all", "burst.read"] },
  { scopes: ["operator.approvals"], events: ["burst.all", "burst.approvals"] },
  { scopes: [], events: ["burst.all"] },
] as const;

async function scene(t: TestContext, url?: string): Promise<Gateways> {
  const config = directory(t);
  const plugin = fileURLToPath(new URL("./burst-plugin.js", import.meta.url));
  const settings = { plugins: { load: { paths: [plugin] } }, agents: { defaults: { skipBootstrap: true } } };
  await writeFile(join(config, "svc.json"), JSON.stringify(settings));
  return startGateways(t, 3, config, { ...(url && { url }) });
}

interface Listener {
  readonly client: GatewayClient;
  readonly audience: number;
  /** Received bursts. */
  readonly got: { readonly event: string; readonly id: string; readonly seq: number | undefined }[];
  gaps: number;
}

async function listen(
  t: TestContext,
  gateways: Gateways,
  number: number,
  audience = 0,
  options: Partial<ClientOptions> = {},
): Promise<Listener> {
  const scopes = AUDIENCES[audience]?.scopes ?? [];
  const client = await gateways.running[number]?.connect({ scopes, ...options });
  assert.ok(client);
  t.after(() => client.close());
  const listener: Listener = { client, audience, got: [], gaps: 0 };
  client.onGap(() => (listener.gaps += 1));
  client.onEvent(({ event, payload, seq }) => {
    if (event.startsWith("burst.")) listener.got.push({ event, id: (payload as { id: string }).id, seq });
  });
  return listener;
}

async function sendFrom(gateways: Gateways, number: number, from: string, count: number, everyMs: number) {
  const client = await gateways.running[number]?.connect();
  const { ids } = (await client?.call(burst.send, { from, count, everyMs }, { timeoutMs: 120_000 })) ?? { ids: [] };
  await client?.close();
  return ids;
}

const isRising = (numbers: readonly number[]) =>
  numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? number));

/** Event of the nth id of a burst. */
const eventOf = (id: string) => Object.values(bursts)[Number(id.split("/")[1]) % 3]?.name ?? "";

it("every client of three gateways gets the events of its audience once, in one order", limited, async (t) => {
  const gateways = await scene(t);
  const listeners: Listener[] = [];
  for (let index = 0; index < CLIENTS; index += 1)
    listeners.push(await listen(t, gateways, index % 3, Math.floor(index / 3) % AUDIENCES.length));
  const each = 300;
  const sent = (await Promise.all([0, 1, 2].map((number) => sendFrom(gateways, number, `g${number}`, each, 5)))).flat();
  assert.equal(sent.length, 3 * each);
  for (const [audience, { events }] of AUDIENCES.entries()) {
    const same = listeners.filter((one) => one.audience === audience);
    const expected = sent.filter((id) => (events as readonly string[]).includes(eventOf(id)));
    await until(() => same.every(({ got }) => got.length >= expected.length), `events of audience ${audience}`);
    const [first] = same;
    assert.ok(first);
    for (const { got, gaps } of same) {
      assert.deepEqual(got, first.got, "the same order and numbers");
      assert.deepEqual(got.map(({ id }) => id).toSorted(), expected.toSorted());
      assert.equal(gaps, 0);
    }
    for (const number of [0, 1, 2]) {
      const rounds = first.got.flatMap(({ id }) => (id.startsWith(`g${number}/`) ? [Number(id.split("/")[1])] : []));
      assert.ok(isRising(rounds), "the order of the calls");
    }
  }
  const numbers = listeners[0]?.got.flatMap(({ seq }) => seq ?? []) ?? [];
  assert.equal(numbers.length, each);
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => (numbers[0] ?? 0) + index),
    "no number is left out",
  );
});

it("a client whose gateway is killed goes on at another one, and misses nothing", limited, async (t) => {
  const gateways = await scene(t);
  let target = gateways.running[0];
  const sockets: WebSocket[] = [];
  class Moving extends WebSocket {
    constructor() {
      super(target?.url ?? "");
      sockets.push(this);
    }
  }
  const token = () => target?.token; // each gateway has its own
  const options = { WebSocket: Moving, reconnect: true, token } as unknown as Partial<ClientOptions>; // `ws` has more events
  const moving = await listen(t, gateways, 0, 0, options);
  const staying = await listen(t, gateways, 2);
  const sending = [1, 2].map((number) => sendFrom(gateways, number, `g${number}`, 900, 3));
  for (const [round, next] of [1, 2, 1].entries()) {
    await until(() => moving.got.length > 300 * (round + 1), "events before the move");
    target = gateways.running[next];
    if (round === 0) await gateways.kill(0);
    else sockets.at(-1)?.terminate();
  }
  const sent = (await Promise.all(sending)).flat();
  await until(() => [moving, staying].every(({ got }) => got.length >= sent.length), "all events");
  assert.deepEqual(moving.got, staying.got);
  assert.deepEqual([sockets.length, moving.gaps], [4, 0]);
});

it(
  `a database that is killed ${ROUNDS} times: numbers rise, clients are told, nothing acknowledged is lost`,
  limited,
  async (t) => {
    const server = await startPostgres(t);
    const gateways = await scene(t, server.url);
    const listeners = await Promise.all([0, 1, 2].map((number) => listen(t, gateways, number)));
    const [{ client: first }] = listeners as [Listener];
    await first.call(chat.send, { sessionKey: "main", message: "hello", idempotencyKey: "first" });
    assert.equal((await first.call(agents.wait, { runId: "first" })).status, "ok");
    const acknowledged: string[] = [];
    const over = new AbortController();
    t.after(() => over.abort());
    const writing = listeners.map(async ({ client }, number) => {
      for (let round = 0; !over.signal.aborted; round += 1) {
        const message = `said ${number}/${round}`;
        await client.call(chat.inject, { sessionKey: "main", message }).then(
          () => acknowledged.push(message),
          () => new Promise((resolve) => setTimeout(resolve, 50)),
        );
        await client.call(burst.send, { from: `g${number}/${round}`, count: 3, everyMs: 10 });
      }
    });
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = acknowledged.length;
      const told = listeners.map(({ gaps }) => gaps);
      await until(() => acknowledged.length > before + 30, "writes before the crash");
      await server.kill();
      await server.start();
      await until(() => listeners.every(({ gaps }, index) => gaps > (told[index] ?? 0)), "clients to be told");
    }
    const before = acknowledged.length;
    await until(() => acknowledged.length > before + 30, "writes after the last crash");
    over.abort();
    await Promise.all(writing);
    for (const { got } of listeners) {
      const numbers = got.flatMap(({ seq }) => seq ?? []);
      assert.ok(isRising(numbers));
      assert.ok((numbers.at(-1) ?? 0) > ROUNDS * 1_000_000);
    }
    const { messages } = await first.call(chat.history, { sessionKey: "main", limit: 1_000 });
    const text = JSON.stringify(messages);
    assert.deepEqual(
      acknowledged.slice(-900).filter((message) => !text.includes(`${message}"`)),
      [],
    );
  },
);
