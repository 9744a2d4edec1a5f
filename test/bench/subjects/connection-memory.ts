/** What one idle connection costs in resident memory, garbage collected before each look. */
import { setTimeout as sleep } from "node:timers/promises";
import { ratioAtMost } from "../figures.ts";
import { startGateway, TOKEN } from "../gateways.ts";
import { closeAll, openSockets } from "../load/socket.ts";
import { type ServerProcess, serverScript, startServer } from "../server-process.ts";
import { interleave, type Subject } from "../suite.ts";

const CONNECTIONS = 1_000;
/** Opened and closed before the first look, so that pools and compiled code are there. */
const WARM_UP = 300;
/** Milliseconds for the server to see what happened. */
const SETTLE_MS = 200;

/** KiB of resident memory for each of the connections, in a fresh process. */
async function perConnection(server: ServerProcess, token?: string): Promise<number> {
  const peer = { url: server.url, ...(token === undefined ? {} : { token }) };
  closeAll(await openSockets(peer, WARM_UP));
  await sleep(SETTLE_MS);
  const before = await collected(server);
  const sockets = await openSockets(peer, CONNECTIONS);
  try {
    await sleep(SETTLE_MS);
    return ((await collected(server)) - before) / CONNECTIONS / 1_024;
  } finally {
    closeAll(sockets);
  }
}

/** Resident bytes after two collections: the first only makes room. */
async function collected(server: ServerProcess): Promise<number> {
  await server.ask("collect");
  return (await server.ask("collect")).residentBytes;
}

const nodeFlags = ["--expose-gc"];

export const connectionMemory: Subject = {
  name: "connection-memory",
  async measure({ rounds }) {
    const taken = await interleave(rounds, {
      async ours() {
        await using gateway = await startGateway({}, { nodeFlags });
        return await perConnection(gateway, TOKEN);
      },
      async bare() {
        await using bare = await startServer([serverScript("bare-ws")], { nodeFlags });
        return await perConnection(bare);
      },
    });
    return [
      {
        subject: "connection memory",
        figure: `one of ${CONNECTIONS.toLocaleString("en-US")} idle connections`,
        unit: "KiB",
        ours: taken.ours,
        bare: { name: "bare ws", rounds: taken.bare },
        target: ratioAtMost(1.3),
      },
    ];
  },
};
