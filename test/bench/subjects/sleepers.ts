/**
 * The cost of unused plugins: 200 of them, asleep and awake; the first call of a sleeping one; and the bundled chat
 * networks without an account.
 */
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { connect } from "@svc/sdk/client";
import { root } from "../../checkout.ts";
import { atMost, ratioAtMost, type Row, type Rounds } from "../figures.ts";
import { makeStateDir, runGateway, type StateDir, TOKEN } from "../gateways.ts";
import { residentMiB } from "../machine.ts";
import { interleave, type Subject } from "../suite.ts";

const SLEEPERS = 200;
/** Targets for each of them. */
const START_MS = 0.3;
const MEMORY_KIB = 20;

function plugin(id: string): string {
  return `import { defineContract, definePlugin, Type } from "@svc/sdk";
const contract = defineContract("${id}", {
  ping: { summary: "Answers", scope: "none", params: Type.Object({}), result: Type.Object({}) },
  look: { summary: "Finds one", scope: "operator.read", params: Type.Object({ id: Type.String() }), result: Type.Object({ text: Type.String() }) },
});
export default definePlugin({
  id: "${id}",
  api: "^1.0.0",
  config: Type.Object({ most: Type.Integer({ default: 10, description: "Most of them" }) }),
  setup: (gateway) => gateway.serve(contract, { ping: () => ({}), look: ({ params }) => ({ text: params.id }) }),
});
`;
}

/** The full bundle and additional built packages. @param asleep false: without their `declared.json` */
async function withPlugins(count: number, asleep: boolean): Promise<StateDir> {
  const names = Array.from({ length: count }, (_, index) => `sleeper-${index}`);
  const state = await makeStateDir({ plugins: { load: { paths: names.map((name) => `./${name}`) } } });
  await mkdir(join(state.path, "node_modules/@svc"), { recursive: true });
  await symlink(join(root, "sdk"), join(state.path, "node_modules/@svc/sdk"));
  for (const name of names) {
    const directory = join(state.path, name);
    await mkdir(directory);
    const svc = { id: name, api: "^1.0.0", entry: "./plugin.js", namespaces: [name] };
    await writeFile(join(directory, "package.json"), JSON.stringify({ name, version: "1.0.0", type: "module", svc }));
    await writeFile(join(directory, "plugin.js"), plugin(name));
  }
  const directories = names.map((name) => join(state.path, name));
  if (asleep && count > 0)
    await promisify(execFile)(process.execPath, [join(root, "host/dist/declare.js"), ...directories]);
  return state;
}

/** Ids of the bundled plugins, without those that contribute a chat network. */
async function withoutNetworks(): Promise<string[]> {
  const ids: string[] = [];
  for (const name of await readdir(join(root, "plugins"))) {
    const { svc } = JSON.parse(await readFile(join(root, "plugins", name, "package.json"), "utf8")) as {
      svc?: { id: string; contributes?: { channel?: string[] } };
    };
    if (svc && !svc.contributes?.channel) ids.push(svc.id);
  }
  return ids;
}

interface Taken {
  readonly startMs: number;
  readonly mib: number;
  /** Milliseconds of the first call of one plugin, and of the second. */
  readonly calls: readonly [number, number];
}

async function take(state: StateDir, idleMs: number, called: string): Promise<Taken> {
  const begun = performance.now();
  await using server = await runGateway(state);
  const client = await connect({ url: server.url, token: TOKEN });
  const startMs = performance.now() - begun;
  await sleep(idleMs);
  const mib = residentMiB(server.pid);
  const call = async () => {
    const asked = performance.now();
    await client.request(called, {});
    return performance.now() - asked;
  };
  const calls = [await call(), await call()] as const;
  await client.close();
  return { startMs, mib, calls };
}

export const sleepers: Subject = {
  name: "sleepers",
  async measure({ starts, idleMs }) {
    await using none = await withPlugins(0, true);
    await using asleep = await withPlugins(SLEEPERS, true);
    await using awake = await withPlugins(SLEEPERS, false);
    await using fewer = await makeStateDir({ plugins: { use: await withoutNetworks() } });
    const contenders = {
      fewer: () => take(fewer, idleMs, "plugins.list"),
      none: () => take(none, idleMs, "plugins.list"),
      asleep: () => take(asleep, idleMs, "sleeper-77.ping"),
      awake: () => take(awake, idleMs, "sleeper-77.ping"),
    };
    await interleave(1, contenders); // fills the disk cache and creates the databases
    const taken = await interleave(starts, contenders);
    const each = (of: (one: Taken) => number, who: readonly Taken[], scale: number): Rounds =>
      who.map((one, round) => ((of(one) - of(taken.none[round] ?? one)) / SLEEPERS) * scale);
    const row = (figure: string, unit: string, of: (one: Taken) => number, scale: number, target: number): Row => ({
      subject: "sleepers",
      figure,
      unit,
      ours: each(of, taken.asleep, scale),
      bare: { name: "the same awake", rounds: each(of, taken.awake, scale) },
      target: atMost(target, unit),
    });
    const networks = (figure: string, unit: string, of: (one: Taken) => number): Row => ({
      subject: "sleepers",
      figure,
      unit,
      ours: taken.none.map(of),
      bare: { name: "without them", rounds: taken.fewer.map(of) },
      target: ratioAtMost(1.05),
    });
    return [
      networks("start, bundled chat networks without an account", "ms", ({ startMs }) => startMs),
      networks("memory, bundled chat networks without an account", "MiB", ({ mib }) => mib),
      row(`start, each of ${SLEEPERS} plugins asleep`, "ms", ({ startMs }) => startMs, 1, START_MS),
      row(`memory, each of ${SLEEPERS} plugins asleep`, "KiB", ({ mib }) => mib, 1_024, MEMORY_KIB),
      {
        subject: "sleepers",
        figure: "first call of a plugin that is asleep",
        unit: "ms",
        ours: taken.asleep.map(({ calls }) => calls[0]),
        bare: { name: "its second call", rounds: taken.asleep.map(({ calls }) => calls[1]) },
        target: atMost(60, "ms"),
      },
    ];
  },
};
