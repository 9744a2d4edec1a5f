/** Spawn to first `hello-ok`: what a user waits for after `svc gateway run`. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../../checkout.ts";
import { atMost, both, type Row, ratioAtMost } from "../figures.ts";
import { makeStateDir, MINIMAL, runGateway, type StateDir, TOKEN } from "../gateways.ts";
import { openSocket } from "../load/socket.ts";
import { type ServerProcess, serverScript, startServer } from "../server-process.ts";
import { interleave, type Subject } from "../suite.ts";

const EXTRA_PLUGINS = 100;

/** Milliseconds until a client is in. */
async function timed(start: () => Promise<ServerProcess>, token?: string): Promise<number> {
  const begun = performance.now();
  await using server = await start();
  const socket = await openSocket({ url: server.url, ...(token === undefined ? {} : { token }) });
  const ms = performance.now() - begun;
  socket.close();
  return ms;
}

/** The configuration directory gets plugins of its own, each with a method and a hook. */
async function withExtraPlugins(): Promise<StateDir> {
  const names = Array.from({ length: EXTRA_PLUGINS }, (_, index) => `extra-${index}`);
  const state = await makeStateDir({ plugins: { load: { paths: names.map((name) => `./${name}`) } } });
  await mkdir(join(state.path, "node_modules/@svc"), { recursive: true });
  await symlink(join(root, "sdk"), join(state.path, "node_modules/@svc/sdk"));
  for (const name of names) {
    const directory = join(state.path, name);
    await mkdir(directory);
    const svc = { id: name, api: "^1.0.0", entry: "./plugin.js", namespaces: [name] };
    await writeFile(join(directory, "package.json"), JSON.stringify({ name, version: "1.0.0", type: "module", svc }));
    await writeFile(join(directory, "plugin.js"), extraPlugin(name));
  }
  return state;
}

function extraPlugin(id: string): string {
  return `import { defineContract, definePlugin, Type } from "@svc/sdk";
const contract = defineContract("${id}", {
  ping: { summary: "Answers", scope: "none", params: Type.Object({}), result: Type.Object({}) },
});
export default definePlugin({
  id: "${id}",
  api: "^1.0.0",
  setup(gateway) {
    gateway.serve(contract, { ping: () => ({}) });
    gateway.hooks.connectionReady.tap("${id}", () => undefined);
  },
});
`;
}

export const start: Subject = {
  name: "start",
  async measure({ starts }) {
    await using full = await makeStateDir();
    await using minimal = await makeStateDir({ plugins: { use: [...MINIMAL] } });
    await using extra = await withExtraPlugins();
    const contenders = {
      full: () => timed(() => runGateway(full), TOKEN),
      minimal: () => timed(() => runGateway(minimal), TOKEN),
      extra: () => timed(() => runGateway(extra), TOKEN),
      fresh: async () => {
        await using fresh = await makeStateDir();
        return await timed(() => runGateway(fresh), TOKEN);
      },
      bare: () => timed(() => startServer([serverScript("bare-ws")])),
    };
    await interleave(1, contenders); // fills the disk cache, and makes the databases
    const times = await interleave(starts, contenders);
    const bare = { name: "bare ws", rounds: times.bare };
    const row = (figure: string, ours: readonly number[], target?: Row["target"]): Row => ({
      subject: "start",
      figure,
      unit: "ms",
      ours,
      bare,
      ...(target ? { target } : {}),
    });
    return [
      row("full bundle, second start", times.full, both(atMost(450, "ms"), ratioAtMost(3))),
      row("full bundle, empty state directory", times.fresh),
      row(`full bundle and ${EXTRA_PLUGINS} plugins`, times.extra, atMost(800, "ms")),
      row(`minimal: only ${MINIMAL.join(", ")}`, times.minimal, atMost(250, "ms")),
    ];
  },
};
