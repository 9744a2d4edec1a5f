/** `svc trim`: its output runs on its own, contains nothing unneeded, and is complete or absent. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { health } from "@svc/sdk/health";
import { sessions } from "@svc/sdk/sessions";
import { root } from "../checkout.ts";
import { home } from "../host/cli/svc.ts";
import { emptyDirectory, filesBelow, run, startElsewhere } from "./elsewhere.ts";

interface Told {
  readonly plugins: readonly string[];
  readonly added: readonly string[];
  readonly size: { readonly packages: number; readonly bytes: number };
  readonly full: { readonly packages: number; readonly bytes: number };
}

/** A plugin package next to the configuration, with its own version of a library. */
function writePlugin(directory: string, { entry = "./plugin.js", library = true } = {}): void {
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  };
  const svc = { id: "gadget", api: "^1.0.0", entry, namespaces: ["gadget"] };
  const dependencies = { jiti: "0.0.1" };
  const json = { name: "gadget", version: "3.2.1", type: "module", files: ["plugin.js"], dependencies, svc };
  write("package.json", JSON.stringify(json));
  write(
    "plugin.js",
    `import { defineContract, definePlugin, Type } from "@svc/sdk";
import { word } from "jiti";
const contract = defineContract("gadget", {
  say: { summary: "A word", scope: "operator.read", params: Type.Object({}), result: Type.Object({ word: Type.String() }) },
});
export default definePlugin({ id: "gadget", api: "^1.0.0", setup: (gateway) => gateway.serve(contract, { say: () => ({ word }) }) });
`,
  );
  mkdirSync(join(directory, "node_modules/@svc"), { recursive: true });
  symlinkSync(join(root, "sdk"), join(directory, "node_modules/@svc/sdk"));
  write("plugin.test.js", "throw new Error('not published')");
  if (!library) return;
  write(
    "node_modules/jiti/package.json",
    JSON.stringify({ name: "jiti", version: "0.0.1", type: "module", main: "index.js" }),
  );
  write("node_modules/jiti/index.js", `export const word = "own";`);
}

describe("svc trim", { timeout: 120_000 }, () => {
  it("writes a gateway that runs elsewhere, without the checkout and with only the chosen parts", async (t) => {
    const { svc, configPath } = home(t, { plugins: { load: { paths: ["./gadget"] } } });
    writePlugin(join(dirname(configPath), "gadget"));
    const from = await emptyDirectory(t);
    const [out, moved] = [join(from, "a/trimmed"), join(from, "moved")];
    const args = ["trim", "--out", out, "--plugins", "sessions, health", "--with-requirements", "--json"];
    const { code, stdout, stderr } = await svc(args);
    assert.deepEqual([code, stderr], [0, ""]);
    const told = JSON.parse(stdout) as Told;
    assert.deepEqual(told.plugins, ["sessions", "health", "gadget", "storage-sqlite"]);
    assert.deepEqual(told.added, ["storage-sqlite"]);
    assert.ok(told.size.packages < told.full.packages && told.size.bytes < told.full.bytes / 2);

    renameSync(out, moved);
    const files = await filesBelow(moved);
    assert.equal(
      files.filter(({ path }) => path.startsWith("node_modules")).reduce((sum, { bytes }) => sum + bytes, 0),
      told.size.bytes,
    );
    const paths = files.map(({ path }) => path);
    const ours = paths.filter((path) => path.startsWith("node_modules/@svc/"));
    assert.deepEqual(
      ours.filter((path) => /\.test\.|\.map$|(?<!\.d)\.ts$/.test(path)),
      [],
    );
    assert.deepEqual(
      paths.filter((path) => /esbuild|node_modules\/typescript|plugin-chat|plugin-dev|gadget\/.*test/.test(path)),
      [],
    );
    const prebuilds = paths.filter((path) => path.includes("/prebuilds/"));
    assert.ok(
      prebuilds.length > 0 && prebuilds.every((path) => path.includes(`/${process.platform}-${process.arch}/`)),
    );
    const texts = paths.filter((path) => /\.(js|json|md)$/.test(path) && !path.includes("typebox"));
    assert.deepEqual(
      texts.filter((path) => readFileSync(join(moved, path), "utf8").includes(root)),
      [],
    );
    const { dependencies } = JSON.parse(readFileSync(join(moved, "package.json"), "utf8"));
    assert.deepEqual(Object.keys(dependencies), [
      "@svc/cli",
      "@svc/host",
      "@svc/plugin-health",
      "@svc/plugin-sessions",
      "@svc/plugin-storage-sqlite",
      "@svc/sdk",
      "gadget",
    ]);
    assert.equal(dependencies.gadget, "3.2.1");

    const place = { cwd: from, stateDir: join(moved, "state") };
    const client = await startElsewhere(t, process.execPath, [join(moved, "svc.js")], place);
    assert.equal((await client.call(health.check, {})).ok, true);
    const { key } = await client.call(sessions.patch, { key: "main", label: "kept" });
    const kept = (await client.call(sessions.list, {})).sessions;
    assert.deepEqual(
      kept.map((session) => [session.key, session.label]),
      [[key, "kept"]],
    );
    assert.deepEqual(await client.request("gadget.say"), { word: "own" });
    assert.ok(!client.hello.features.methods.includes("chat.send"));
    const report = readFileSync(join(place.stateDir, "startup-report.json"), "utf8");
    const { plugins } = JSON.parse(report) as { plugins: { id: string; state: string }[] };
    assert.deepEqual(
      plugins.map(({ id, state }) => `${id} ${state}`).sort(),
      told.plugins.map((id) => `${id} active`).sort(),
    );
    for (const words of [["plugins"], ["plugins", "list"], ["plugins", "--help"], ["dev", "."]]) {
      const refused = await run(process.execPath, [join(moved, "svc.js"), ...words], place);
      assert.deepEqual([refused.code, refused.stdout], [1, ""]);
      const wanted = `@svc/plugin-${words[0]}`;
      assert.match(
        refused.stderr,
        new RegExp(`^svc ${words[0]} needs the package ${wanted}, which is not installed here\nNext: .*${wanted}`),
      );
    }
  });

  it("writes into an empty directory, and refuses any other", async (t) => {
    const { svc } = home(t);
    const out = await emptyDirectory(t);
    const first = await svc(["trim", "--out", out, "--profile", "minimal"]);
    assert.match(first.stdout, /: \d+ packages, [\d.]+ MB \(every plugin of the bundle: \d+ packages, [\d.]+ MB\)\n/);
    assert.match(first.stdout, /\nPlugins: config, health, plugins\nNext: node .*svc\.js gateway run\n$/);
    const listed = await run(process.execPath, [join(out, "svc.js"), "plugins", "list"], { cwd: out });
    assert.match(listed.stdout, /^plugins +\S+ +not started yet/m);
    const before = await filesBelow(out);
    const { code, stderr } = await svc(["trim", "--out", out, "--profile", "minimal"]);
    assert.deepEqual([code, stderr], [1, `${out} is not empty\nNext: name a directory that does not exist yet\n`]);
    assert.deepEqual(await filesBelow(out), before);
  });

  it("leaves nothing behind when its output cannot be imported", async (t) => {
    const { svc, configPath } = home(t, { plugins: { use: ["./gadget"] } });
    const directory = join(dirname(configPath), "gadget");
    writePlugin(directory);
    writeFileSync(
      join(directory, "plugin.js"),
      `import "./helper.js";\n${readFileSync(join(directory, "plugin.js"), "utf8")}`,
    );
    writeFileSync(join(directory, "helper.js"), ""); // exists, but is not published
    const from = await emptyDirectory(t);
    const { code, stderr } = await svc(["trim", "--out", join(from, "a/b")]);
    assert.equal(code, 1);
    assert.match(stderr, /the written files cannot be imported: .*gadget\/plugin\.js: Cannot find module .*helper\.js/);
    assert.deepEqual(readdirSync(from), []);
  });

  it("names a required package that is not installed, and a directory that is not a package", async (t) => {
    const { svc, configPath } = home(t, { plugins: { use: ["./gadget", "./single.ts"] } });
    const directory = join(dirname(configPath), "gadget");
    writePlugin(directory, { entry: "./plugin.ts", library: false });
    const code = `import { definePlugin } from "@svc/sdk";\nexport default definePlugin({ id: "ID", api: "^1.0.0", setup() {} });`;
    writeFileSync(join(directory, "plugin.ts"), code.replace("ID", "gadget"));
    writeFileSync(join(directory, "../single.ts"), code.replace("ID", "single"));
    const out = join(await emptyDirectory(t), "out");
    const lacking = await svc(["trim", "--out", out]);
    assert.match(
      lacking.stderr,
      /^gadget 3\.2\.1 needs the package jiti, which is not installed\nNext: npm install, in /,
    );
    writeFileSync(configPath, JSON.stringify({ plugins: { use: ["./single.ts"] } }));
    const { stderr } = await svc(["trim", "--out", out]);
    assert.match(stderr, /^plugin single is the file \.\/single\.ts, which does not declare its dependencies\nNext: /);
    assert.equal(existsSync(out), false);
  });

  const refusals: [args: string[], message: RegExp][] = [
    [["--plugins", "nosuch"], /^nosuch: no plugin or package "nosuch" is installed/],
    [["--profile", "huge"], /^there is no profile "huge"/],
    [
      ["--plugins", "sessions"],
      /^sessions needs the service storage .*\nNext: svc trim --out \S+ --plugins sessions --with-requirements\n$/,
    ],
  ];
  it("refuses unknown names, and plugins without what they need", async (t) => {
    const { svc } = home(t);
    const out = join(await emptyDirectory(t), "out");
    for (const [args, message] of refusals) {
      const { code, stderr } = await svc(["trim", "--out", out, ...args]);
      assert.equal(code, 1);
      assert.match(stderr, message);
      assert.equal(existsSync(out), false);
    }
  });
});
