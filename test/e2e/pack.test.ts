/**
 * The packages as users get them: packed by npm, installed into an empty directory, run, used, extended with a plugin
 * compiled against their types, and trimmed.
 */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { health } from "@svc/sdk/health";
import { sessions } from "@svc/sdk/sessions";
import { root } from "../checkout.ts";
import { emptyDirectory, filesBelow, type Finished, run, startElsewhere } from "./elsewhere.ts";

/** Persistent conversations: the smallest useful installation. */
const PLUGINS = ["storage-sqlite", "sessions", "health"];
const PACKAGES = [
  "sdk",
  "sdk/kit",
  "host",
  "host/cli",
  "plugins/dev",
  ...PLUGINS.map((id) => `plugins/${id}`),
  "plugins/nodes",
  "plugins/nodes/node-host",
];

/** Maximum bytes of the installed packages: about twice the current size. */
const OURS_AT_MOST = 8_000_000;
const ALL_AT_MOST = 80_000_000;

const PLUGIN = `import { defineContract, definePlugin, live, Type } from "@svc/sdk";
import { Sessions } from "@svc/sdk/sessions";
const contract = defineContract("greet", {
  hello: { summary: "Greets", scope: "operator.read", params: Type.Object({ name: Type.String() }), result: Type.Object({ text: Type.String() }) },
});
export default definePlugin({
  id: "greet",
  api: "^1.0.0",
  requires: { sessions: live(Sessions) },
  config: Type.Object({ word: Type.String({ default: "hello" }) }),
  setup(gateway) {
    // @ts-expect-error the configuration schema defines the keys
    const wrong: unknown = gateway.config.words;
    const known = () => gateway.services.sessions.get() !== undefined;
    gateway.serve(contract, { hello: ({ params }) => ({ text: \`\${gateway.config.word} \${params.name} \${known()} \${wrong}\` }) });
  },
});
`;

/** The compiler options of this repository, without those that apply only inside it. */
function strangersConfig(): object {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8"));
  const { paths: _, rewriteRelativeImportExtensions: __, noUnusedLocals: ___, ...strict } = compilerOptions;
  const own = { typeRoots: [join(root, "node_modules/@types")], rootDir: ".", outDir: "dist", sourceMap: false };
  return { compilerOptions: { ...strict, ...own }, include: ["plugin.ts"] };
}

function ok({ code, stdout, stderr }: Finished): string {
  assert.equal(code, 0, stdout + stderr);
  return stdout;
}

/** Keeps npm's own settings: the registry, and the cache of earlier installs. */
const npmEnvironment = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) =>
    (name === "HOME" || /^npm_config_(registry|cache|userconfig|globalconfig)$/i.test(name)) && value
      ? [[name, value]]
      : [],
  ),
);

describe("the packages as npm packs them", { timeout: 180_000 }, () => {
  let installed = "";
  let tarballs: { name: string; filename: string; files: { path: string }[] }[] = [];

  const removals: (() => Promise<void>)[] = [];
  after(() => Promise.all(removals.map((remove) => remove())));

  before(async () => {
    const place = await emptyDirectory({ after: (remove) => void removals.push(remove) });
    const packed = join(place, "packed");
    mkdirSync(packed);
    const directories = PACKAGES.map((name) => join(root, name));
    const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", packed, ...directories];
    tarballs = JSON.parse(ok(await run("npm", pack, { cwd: place, env: npmEnvironment })));
    installed = join(place, "installed");
    mkdirSync(installed);
    const files = tarballs.map(({ filename }) => join(packed, filename));
    const options = ["--ignore-scripts", "--omit=dev", "--prefer-offline", "--no-audit", "--no-fund"];
    ok(await run("npm", ["install", ...options, ...files], { cwd: installed, env: npmEnvironment }));
  });

  it("contain the files their package.json refers to, and neither sources nor tests", () => {
    assert.equal(tarballs.length, PACKAGES.length);
    for (const { name, files } of tarballs) {
      const paths = files.map(({ path }) => path);
      assert.deepEqual(
        // The templates of `svc plugins new` are TypeScript.
        paths.filter((path) => /\.map$|(^|\/)test\/|\.test\.|(?<!\.d)\.ts$/.test(path) && !isTemplate(path)),
        [],
        name,
      );
      const json = JSON.parse(readFileSync(join(installed, "node_modules", name, "package.json"), "utf8"));
      const { bin = {}, svc = {}, exports } = json;
      const targets = [
        ...Object.values(bin),
        svc.entry,
        svc.cli,
        svc.security,
        ...(name.startsWith("@svc/plugin-") ? [] : leaves(exports)),
      ];
      const missing = targets.filter(
        (target) => target !== undefined && !paths.includes(String(target).replace("./", "")),
      );
      assert.deepEqual(missing, [], name);
    }
  });

  it("are not much larger than expected", async (t) => {
    const files = await filesBelow(join(installed, "node_modules"));
    const bytes = (of: typeof files) => of.reduce((sum, file) => sum + file.bytes, 0);
    const [ours, all] = [bytes(files.filter(({ path }) => path.startsWith("@svc/"))), bytes(files)];
    t.diagnostic(`host, SDK and ${PLUGINS.join(", ")}: ${mb(ours)}; with what they need: ${mb(all)}`);
    assert.ok(ours < OURS_AT_MOST, mb(ours));
    assert.ok(all < ALL_AT_MOST, mb(all));
  });

  it("contain the node program, for the verb of the plugin installed with it", async () => {
    const config = join(installed, "nodes.json");
    writeFileSync(config, JSON.stringify({ plugins: { use: ["nodes"] } }));
    const env = { SVC_STATE_DIR: join(installed, "node"), SVC_CONFIG_PATH: config };
    const args = ["node", "run", "--url", "ws://gateway.example"];
    const { code, stderr } = await run(join(installed, "node_modules/.bin/svc"), args, { cwd: installed, env });
    assert.equal(code, 1, stderr);
    assert.match(stderr, /would send the credential.*unencrypted\nNext: use wss:/);
  });

  it("run, respond, and accept a plugin compiled against their types", async (t) => {
    const directory = join(installed, "greet");
    mkdirSync(directory);
    writeFileSync(join(directory, "plugin.ts"), PLUGIN);
    writeFileSync(join(directory, "tsconfig.json"), JSON.stringify(strangersConfig()));
    const svc = { id: "greet", api: "^1.0.0", entry: "./dist/plugin.js", namespaces: ["greet"] };
    writeFileSync(
      join(directory, "package.json"),
      JSON.stringify({ name: "greet", version: "1.0.0", type: "module", svc }),
    );
    ok(
      await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", directory], { cwd: installed }),
    );

    const stateDir = join(installed, "state");
    const use = [...PLUGINS, "./greet"];
    writeFileSync(join(installed, "svc.json"), JSON.stringify({ plugins: { use } }));
    const env = { SVC_STATE_DIR: stateDir, SVC_CONFIG_PATH: join(installed, "svc.json") };
    const command = join(installed, "node_modules/.bin/svc");
    const client = await startElsewhere(t, command, [], { cwd: installed, env, stateDir });
    assert.equal((await client.call(health.check, {})).ok, true);
    const { key } = await client.call(sessions.patch, { key: "main", label: "kept" });
    assert.deepEqual(
      (await client.call(sessions.list, {})).sessions.map((one) => one.key),
      [key],
    );
    assert.deepEqual(await client.request("greet.hello", { name: "you" }), { text: "hello you true undefined" });

    const out = join(installed, "trimmed");
    const trimmed = ok(
      await run(command, ["trim", "--out", out, "--plugins", "health", "--json"], { cwd: installed, env }),
    );
    assert.deepEqual(JSON.parse(trimmed).plugins, ["health"]);
    const place = { cwd: out, stateDir: join(out, "state") };
    const second = await startElsewhere(t, process.execPath, ["svc.js"], place);
    assert.equal((await second.call(health.check, {})).ok, true);
  });
});

function leaves(exports: unknown): string[] {
  if (typeof exports === "string") return [exports];
  return typeof exports === "object" && exports !== null ? Object.values(exports).flatMap(leaves) : [];
}

function mb(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function isTemplate(path: string): boolean {
  return path.startsWith("dist/templates/");
}
