/** Resident memory of an idle server. */
import { setTimeout as sleep } from "node:timers/promises";
import { atMost, type Row } from "../figures.ts";
import { makeStateDir, MINIMAL, runGateway, type StateDir } from "../gateways.ts";
import { residentMiB } from "../machine.ts";
import { serverScript, startServer } from "../server-process.ts";
import type { Subject } from "../suite.ts";

/** Until the garbage collector has given back what a start needed, which it does after 8 s without work. ms */
const IDLE_MS = 25_000;

/** One round: all three servers idle concurrently, without affecting each other. */
async function idle(full: StateDir, minimal: StateDir, ms: number): Promise<[number, number, number]> {
  await using fullGateway = await runGateway(full);
  await using minimalGateway = await runGateway(minimal);
  await using bare = await startServer([serverScript("bare-ws")]);
  await sleep(ms);
  return [residentMiB(fullGateway.pid), residentMiB(minimalGateway.pid), residentMiB(bare.pid)];
}

export const idleMemory: Subject = {
  name: "idle-memory",
  async measure({ rounds }) {
    await using full = await makeStateDir();
    await using minimal = await makeStateDir({ plugins: { use: [...MINIMAL] } });
    const taken: [number, number, number][] = [];
    for (let round = 0; round < rounds; round++) taken.push(await idle(full, minimal, IDLE_MS));
    const bare = { name: "bare ws", rounds: taken.map(([, , mib]) => mib) };
    const row = (figure: string, ours: readonly number[], limit: number): Row => ({
      subject: "idle memory",
      figure,
      unit: "MiB",
      ours,
      bare,
      target: atMost(limit, "MiB"),
    });
    return [
      row(
        "full bundle",
        taken.map(([mib]) => mib),
        90,
      ),
      row(
        `minimal: only ${MINIMAL.join(", ")}`,
        taken.map(([, mib]) => mib),
        75,
      ),
    ];
  },
};
