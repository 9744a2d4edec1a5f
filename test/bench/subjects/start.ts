/** Spawn to first `hello-ok`: what a user waits for after `svc gateway run`. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Asking, itemsOf } from "../../../host/installed/agreed.ts";
import {
  extensionsOf,
  generationName,
  type InstalledPlugin,
  recordPath,
  recordText,
} from "../../../host/installed/record.ts";
import { linkSdk } from "../../../host/installed/sdk-link.ts";
import { generationTree, treeHash } from "../../../host/installed/tree.ts";
import { atMost, both, type Row, ratioAtMost } from "../figures.ts";
import { makeStateDir, MINIMAL, runGateway, type StateDir, TOKEN } from "../gateways.ts";
import { openSocket } from "../load/socket.ts";
import { type ServerProcess, serverScript, startServer } from "../server-process.ts";
import { interleave, type Subject } from "../suite.ts";

const EXTRA_PLUGINS = 100;
/** Number of files in the dependencies of each plugin. */
const LIBRARY_FILES = 30;

/** Milliseconds until a client is connected. */
async function timed(start: () => Promise<ServerProcess>, token?: string): Promise<number> {
  const begun = performance.now();
  await using server = await start();
  const socket = await openSocket({ url: server.url, ...(token === undefined ? {} : { token }) });
  const ms = performance.now() - begun;
  socket.close();
  return ms;
}

/** Plugins as if installed: each has its own generation with its own dependencies, is in the record, and is verified at each start. */
async function withInstalledPlugins(): Promise<StateDir> {
  const state = await makeStateDir();
  const extensions = extensionsOf(state.path);
  const names = Array.from({ length: EXTRA_PLUGINS }, (_, index) => `extra-${index}`);
  const installed = await Promise.all(names.map(async (name) => [name, await installedAt(extensions, name)] as const));
  await writeFile(recordPath(extensions), recordText(new Map(installed)), { mode: 0o600 });
  return state;
}

async function installedAt(extensions: string, name: string): Promise<InstalledPlugin> {
  const directory = generationName(name, 1);
  const root = join(extensions, directory);
  const home = join(root, "node_modules", name);
  const library = join(root, "node_modules/some-library");
  const svc = { id: name, api: "^1.0.0", entry: "./plugin.js", namespaces: [name], isolation: { supports: ["host"] } };
  const files: Readonly<Record<string, string>> = {
    [join(root, "package.json")]: JSON.stringify({ private: true }),
    [join(home, "package.json")]: JSON.stringify({ name, version: "1.0.0", type: "module", svc }),
    [join(home, "plugin.js")]: extraPlugin(name),
    [join(library, "package.json")]: JSON.stringify({ name: "some-library", version: "1.0.0" }),
    ...Object.fromEntries(
      Array.from({ length: LIBRARY_FILES }, (_, nth) => [join(library, `part-${nth}.js`), "module.exports = {};\n"]),
    ),
  };
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, text, { mode: 0o600 });
  }
  linkSdk(root);
  return {
    source: "npm",
    spec: name,
    name,
    version: "1.0.0",
    directory,
    integrity: "sha512-made-for-the-benchmark",
    tree: await treeHash(root, await generationTree(root)),
    agreed: [...itemsOf(svc as Asking, [])],
    generation: 1,
    installedAt: Date.now(),
  };
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
    gateway.hooks.connectionReady.tap(() => undefined);
  },
});
`;
}

const TRANSFORM = `import type { TransformCall } from "@svc/sdk/webhooks";
export default ({ payload }: TransformCall) => ({ kind: "wake", text: String(payload["text"]) });
`;

/** A directory of a user who writes TypeScript: one plugin, and one transform. */
async function withTypeScript(): Promise<StateDir> {
  const mapping = { id: "alarm", match: { path: "alarm" }, action: "wake", transform: { module: "alarm.ts" } };
  const state = await makeStateDir((path) => ({
    plugins: { load: { paths: [join(path, "own.ts")] } },
    hooks: { enabled: true, token: "hook-token-0123456789abcdef", mappings: [mapping] },
  }));
  await mkdir(join(state.path, "hooks/transforms"), { recursive: true, mode: 0o700 });
  await writeFile(join(state.path, "own.ts"), extraPlugin("own"), { mode: 0o600 });
  await writeFile(join(state.path, "hooks/transforms/alarm.ts"), TRANSFORM, { mode: 0o600 });
  return state;
}

export const start: Subject = {
  name: "start",
  async measure({ starts }) {
    await using full = await makeStateDir();
    await using minimal = await makeStateDir({ plugins: { use: [...MINIMAL] } });
    await using extra = await withInstalledPlugins();
    await using typed = await withTypeScript();
    const contenders = {
      full: () => timed(() => runGateway(full), TOKEN),
      minimal: () => timed(() => runGateway(minimal), TOKEN),
      extra: () => timed(() => runGateway(extra), TOKEN),
      typed: () => timed(() => runGateway(typed), TOKEN),
      typedFirst: async () => {
        await using first = await withTypeScript();
        return await timed(() => runGateway(first), TOKEN);
      },
      fresh: async () => {
        await using fresh = await makeStateDir();
        return await timed(() => runGateway(fresh), TOKEN);
      },
      bare: () => timed(() => startServer([serverScript("bare-ws")])),
    };
    await interleave(1, contenders); // fills the disk cache and creates the databases
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
      row("full bundle, second start", times.full, both(atMost(350, "ms"), ratioAtMost(3))),
      row("with a TypeScript plugin and a transform, second start", times.typed, atMost(400, "ms")),
      row("with a TypeScript plugin and a transform, first start", times.typedFirst),
      row("full bundle, empty state directory", times.fresh),
      row(`full bundle and ${EXTRA_PLUGINS} installed plugins`, times.extra, atMost(500, "ms")),
      row(`minimal: only ${MINIMAL.join(", ")}`, times.minimal, atMost(250, "ms")),
    ];
  },
};
