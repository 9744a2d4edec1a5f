/** Delays of the gateway's event loop under mixed load. */
import { connect, type GatewayClient } from "@svc/sdk/client";
import { setTimeout as sleep } from "node:timers/promises";
import { atMost } from "../figures.ts";
import { startGateway, TOKEN } from "../gateways.ts";
import { runLoad } from "../load/closed-loop.ts";
import { modelConfig, startModel } from "../load/model.ts";
import { makeRequests } from "../load/requests.ts";
import { closeAll, type LoadSocket, openSocket, openSockets, type Peer } from "../load/socket.ts";
import { askBySocket } from "../load/streams.ts";
import { NAMES } from "../servers/answers.ts";
import { bench } from "../servers/contract.ts";
import type { Subject } from "../suite.ts";

const SEED = { sessions: 1_000, messages: 1_000, sessionKey: "agent:main:long" };
const STREAMS = 4;
const RECEIVERS = 100;
/** Interval of the broadcast events. ms */
const PUBLISH_MS = 20;
/** Milliseconds between two handshakes. */
const HANDSHAKE_MS = 20;

async function until(end: number, work: () => Promise<unknown>): Promise<void> {
  while (performance.now() < end) await work();
}

/** Calls that saturate the core, reads of the store, broadcasts, new connections and streams, all for `ms` milliseconds. */
async function mixedLoad(peer: Peer, client: GatewayClient, ms: number): Promise<void> {
  const end = performance.now() + ms;
  const open: LoadSocket[] = [];
  const some = async (count: number) => {
    const sockets = await openSockets(peer, count);
    open.push(...sockets);
    return sockets;
  };
  try {
    const receivers = await some(RECEIVERS);
    for (const socket of receivers) socket.listen(() => undefined);
    const list = makeRequests("sessions.list", { limit: 60 });
    const history = makeRequests("chat.history", { sessionKey: SEED.sessionKey, limit: 200 });
    const asks = (await some(STREAMS)).map(askBySocket);
    await Promise.all([
      runLoad(await some(4), makeRequests(NAMES.healthSized), { inFlight: 4, ms }),
      runLoad(await some(1), list, { inFlight: 1, ms }),
      runLoad(await some(1), history, { inFlight: 1, ms }),
      until(end, () => client.call(bench.publish, {}).then(() => sleep(PUBLISH_MS))),
      until(end, () => openSocket(peer).then((socket) => (socket.close(), sleep(HANDSHAKE_MS)))),
      ...asks.map((ask) => until(end, () => ask("paced"))),
    ]);
  } finally {
    closeAll(open);
  }
}

export const eventLoop: Subject = {
  name: "event-loop",
  async measure({ rounds, windowMs }) {
    await using model = await startModel();
    await using gateway = await startGateway(modelConfig(model.url, STREAMS));
    const client = await connect({ url: gateway.url, token: TOKEN });
    try {
      await client.call(bench.seed, SEED);
      const peer = { url: gateway.url, token: TOKEN };
      await mixedLoad(peer, client, windowMs);
      const taken: { p99: number; max: number }[] = [];
      for (let round = 0; round < rounds; round++) {
        await client.call(bench.watchLoop, {});
        await mixedLoad(peer, client, 2 * windowMs);
        taken.push(await client.call(bench.loopDelay, {}));
      }
      const row = { subject: "event loop", unit: "ms" };
      return [
        { ...row, figure: "delay under mixed load, p99", ours: taken.map(({ p99 }) => p99), target: atMost(20, "ms") },
        { ...row, figure: "delay under mixed load, worst", ours: taken.map(({ max }) => max) },
      ];
    } finally {
      await client.close();
    }
  },
};
