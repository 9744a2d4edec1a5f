/** A command from nothing to its answer: `svc gateway call health` beside node doing nothing. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { atMost } from "../figures.ts";
import { makeStateDir, runGateway, SVC } from "../gateways.ts";
import { onServerCore } from "../machine.ts";
import { interleave, type Subject } from "../suite.ts";

/** Milliseconds until the command has ended; it runs where the gateway runs. @throws Error when it fails */
async function timed(argv: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const [command = "", ...args] = onServerCore([process.execPath, ...argv]);
  const begun = performance.now();
  const child = spawn(command, args, { env: { ...env }, stdio: ["ignore", "ignore", "pipe"], timeout: 10_000 });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`${argv.at(-1)} ended with ${code}: ${errors}`);
  return performance.now() - begun;
}

export const cli: Subject = {
  name: "cli",
  async measure({ starts }) {
    await using state = await makeStateDir();
    await using gateway = await runGateway(state);
    const contenders = {
      call: () => timed([SVC, "gateway", "call", "health", "--url", gateway.url], state.env),
      node: () => timed(["-e", "0"], state.env),
    };
    await interleave(1, contenders);
    const times = await interleave(starts, contenders);
    return [
      {
        subject: "cli",
        figure: "svc gateway call health, cold",
        unit: "ms",
        ours: times.call,
        bare: { name: "node -e 0", rounds: times.node },
        target: atMost(200, "ms"),
      },
    ];
  },
};
