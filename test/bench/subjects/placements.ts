/** The cost of isolating a plugin: the same package in the gateway, in a thread and in a process. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "../../checkout.ts";
import type { Row, Rounds } from "../figures.ts";
import { makeStateDir, MINIMAL, runGateway, type StateDir, TOKEN } from "../gateways.ts";
import { type LoadResult, runLoad } from "../load/closed-loop.ts";
import { makeRequests } from "../load/requests.ts";
import { closeAll, openSockets, type Peer } from "../load/socket.ts";
import { residentMiB } from "../machine.ts";
import { interleave, type Results, type Subject } from "../suite.ts";

type Place = "host" | "worker" | "process";

const PLUGIN = `import { defineContract, definePlugin, Type } from "@svc/sdk";
const contract = defineContract("guest", {
  ping: { summary: "Answers", scope: "none", params: Type.Object({}), result: Type.Object({}) },
});
export default definePlugin({
  id: "guest",
  api: "^1.0.0",
  setup: (gateway) => gateway.serve(contract, { ping: () => ({ ok: true, at: 1 }) }),
});
`;

async function withGuest(run: Place): Promise<StateDir> {
  const state = await makeStateDir({
    plugins: { use: [...MINIMAL], load: { paths: ["./guest"] }, entries: { guest: { run } } },
  });
  await mkdir(join(state.path, "node_modules/@svc"), { recursive: true });
  await symlink(join(root, "sdk"), join(state.path, "node_modules/@svc/sdk"));
  await mkdir(join(state.path, "guest"));
  const svc = { id: "guest", api: "^1.0.0", entry: "./plugin.js", namespaces: ["guest"] };
  const text = JSON.stringify({ name: "guest", version: "1.0.0", type: "module", svc });
  await writeFile(join(state.path, "guest/package.json"), text);
  await writeFile(join(state.path, "guest/plugin.js"), PLUGIN);
  return state;
}

async function load(peer: Peer, connections: number, ms: number): Promise<LoadResult> {
  const sockets = await openSockets(peer, connections);
  try {
    return await runLoad(sockets, makeRequests("guest.ping"), { inFlight: 1, ms });
  } finally {
    closeAll(sockets);
  }
}

function rows(figure: string, unit: string, of: (place: Place) => Rounds): Row[] {
  return (["worker", "process"] as const).map((place) => ({
    subject: "placements",
    figure: `${figure}, ${place}`,
    unit,
    ours: of(place),
    bare: { name: "in the gateway", rounds: of("host") },
  }));
}

export const placements: Subject = {
  name: "placements",
  async measure({ rounds, windowMs, warmUpMs, idleMs }) {
    await using hostState = await withGuest("host");
    await using workerState = await withGuest("worker");
    await using processState = await withGuest("process");
    await using host = await runGateway(hostState);
    await using worker = await runGateway(workerState);
    await using process = await runGateway(processState);
    await sleep(idleMs);
    const memory = { host: residentMiB(host.pid), worker: residentMiB(worker.pid), process: residentMiB(process.pid) };
    const contenders = (connections: number, ms: number) => ({
      host: () => load({ url: host.url, token: TOKEN }, connections, ms),
      worker: () => load({ url: worker.url, token: TOKEN }, connections, ms),
      process: () => load({ url: process.url, token: TOKEN }, connections, ms),
    });
    await interleave(1, contenders(16, warmUpMs));
    const one = await interleave(rounds, contenders(1, windowMs));
    const many = await interleave(rounds, contenders(16, windowMs));
    const of = (taken: Results<Place, LoadResult>, key: keyof LoadResult) => (place: Place) =>
      taken[place].map((result) => result[key]);
    return [
      ...rows("call of a method, p50", "ms", of(one, "p50")),
      ...rows("call of a method, p99", "ms", of(one, "p99")),
      ...rows("16 x 1 in flight", "/s", of(many, "perSecond")),
      ...rows("memory of the gateway with one such plugin, idle", "MiB", (place) => [memory[place]]),
    ];
  },
};
