/** Gateway and node are killed while programs run: every acknowledged program ran, none ran twice, and both reconnect by themselves. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { nodes } from "@svc/sdk/nodes";
import { approvedNode, scene, setPolicy } from "./nodes-scene.ts";

const KILLS = 6;

it(
  "runs each command at most once, and all that were answered, however often somebody is killed",
  { timeout: 200_000 },
  async (t) => {
    const at = await scene(t);
    at.program("counts", 'echo "$1" >> runs; sleep 0.02');
    const first = await approvedNode(at);
    const { nodeId } = first;
    let { node } = first;
    await setPolicy(at, nodeId, { security: "full", ask: "off" });

    const answered: string[] = [];
    let asked = 0;
    const over = new AbortController();
    const asking = (async () => {
      while (!over.signal.aborted) {
        const id = `run-${asked++}`;
        try {
          const client = await at.gateway().connect();
          try {
            const params = { command: ["counts", id] };
            const { payload } = await client.call(nodes.invoke, { nodeId, command: "system.run", params });
            if ((payload as { exitCode: unknown }).exitCode === 0) answered.push(id);
          } finally {
            await client.close();
          }
        } catch {
          await sleep(20); // no node is connected; whether the program ran is unknown
        }
      }
    })();

    for (let kill = 0; kill < KILLS; kill++) {
      const before = answered.length;
      while (answered.length < before + 3) await sleep(10);
      await sleep((kill * 7) % 25);
      if (kill % 2 === 0) await at.crash();
      else {
        node.child.kill("SIGKILL");
        await node.ended;
        node = at.startNode();
      }
    }
    const before = answered.length;
    while (answered.length < before + 3) await sleep(10);
    over.abort();
    await asking;

    const ran = readFileSync(join(at.nodeDir, "runs"), "utf8").trimEnd().split("\n");
    assert.equal(new Set(ran).size, ran.length, "one ran twice");
    assert.deepEqual(
      answered.filter((id) => !ran.includes(id)),
      [],
    );
  },
);
