/** `svc plugins install` and related commands, against a real registry and a running gateway. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { connect, type GatewayClient } from "@svc/sdk/client";
import { plugins } from "@svc/sdk/plugins";
import { type Finished, home, type Home, type Running } from "../host/cli/svc.ts";
import { packPackage, pluginCode, type PluginPackage, writePackage } from "../plugin-package.ts";
import { startRegistry, type TestRegistry } from "../registry.ts";
import { treeLines } from "../tree-hash.ts";

const NOTES = "e2e-notes";

const LIBRARY = { svc: undefined, exports: "./plugin.js" };

/** Scripts that npm would run in the directory of the package. */
const SCRIPTS = Object.fromEntries(
  ["preinstall", "install", "postinstall", "prepare"].map((name) => [name, "echo ran > script-ran"]),
);

/** Uses a library, as plugins do. */
const notes = (version: string, more: Partial<PluginPackage> = {}): PluginPackage => ({
  name: NOTES,
  version,
  code: `import "e2e-library";\n${pluginCode(NOTES, version)}`,
  package: { dependencies: { "e2e-library": "^1.0.0" }, scripts: SCRIPTS },
  ...more,
});

describe("third-party plugins", { timeout: 300_000 }, () => {
  const stops: (() => unknown)[] = [];
  const context = { after: ((stop: () => unknown) => void stops.unshift(stop)) as TestContext["after"] };
  let registry: TestRegistry;
  let at: Home;
  let gateway: Running;
  let directory: string;
  let client: GatewayClient;

  before(async () => {
    at = home(context, { plugins: { use: ["config", "plugins"] } });
    directory = join(dirname(at.configPath), "packages");
    [registry, gateway] = await Promise.all([startRegistry(context), at.run()]);
    client = await connect({ url: gateway.ready.url, token: await tokenOf() });
    // It reports that it ran.
    const code = `import { appendFileSync } from "node:fs";\nappendFileSync(${JSON.stringify(codeRan())}, ".");`;
    await publish({ name: "e2e-library", code, package: { ...LIBRARY, scripts: SCRIPTS } });
    await publish(notes("1.0.0"));
  });
  after(async () => {
    await client.close();
    for (const stop of stops) await stop();
  });

  const tokenOf = async () => (await readFile(join(at.stateDir, "credentials/gateway-token"), "utf8")).trim();
  const codeRan = () => join(dirname(at.configPath), "code-ran");
  let made = 0;
  const place = () => join(directory, String((made += 1)));
  const written = (plugin: PluginPackage) => writePackage(place(), plugin);
  const packed = (plugin: PluginPackage) => packPackage(place(), plugin);
  const publish = async (plugin: PluginPackage) => registry.publish(await written(plugin));

  const svc = (...args: string[]): Promise<Finished> => at.svc(["plugins", ...args], registry.env);
  /** Runs a command that must exit with 0. */
  async function done(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await svc(...args);
    assert.equal(code, 0, `svc plugins ${args.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  }
  const versionOf = async (id: string) => ((await client.request(`${id}.version`, {})) as { version: string }).version;
  const everything = () => [...treeLines(at.configPath), ...treeLines(join(at.stateDir, "extensions"))];

  /** Runs a command that must fail with this output and change no file. */
  async function fails(args: readonly string[], ...says: readonly RegExp[]): Promise<string> {
    const was = everything();
    const { code, stdout, stderr } = await svc(...args);
    assert.equal(code, 1, `svc plugins ${args.join(" ")}: ${stdout}${stderr}`);
    for (const pattern of says) assert.match(stdout + stderr, pattern);
    assert.match(stderr, /^Next: /m);
    assert.deepEqual(everything(), was);
    return stdout + stderr;
  }

  it("installs by name, with dependencies, into the running gateway; --agree fetches nothing again", async () => {
    const refusal = [
      /Failed at agree: e2e-notes 1\.0\.0 was not agreed to/,
      /- it runs with all rights of the gateway/,
      /- it serves methods below e2e-notes\./,
    ];
    const word = wordIn(await fails(["install", NOTES], ...refusal));
    const waiting = join(at.stateDir, "cache/install", word, "generation/package.json");
    await appendFile(waiting, " ");
    await fails(["install", NOTES, "--agree", word], /Failed at fetch: the fetched package was changed meanwhile/);
    assert.equal(wordIn(await fails(["install", NOTES], ...refusal)), word);
    assert.equal(existsSync(codeRan()), false, "nobody has agreed yet");
    const nowhere = { ...registry.env, npm_config_registry: "http://127.0.0.1:1/" };
    const { code, stdout, stderr } = await at.svc(["plugins", "install", NOTES, "--agree", word], nowhere);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Installed e2e-notes 1\.0\.0.*\n.*gateway: active/);
    assert.deepEqual(treeLines(dirname(dirname(dirname(waiting)))), [
      `${dirname(dirname(dirname(waiting)))} is not there`,
    ]);
    assert.equal(await versionOf(NOTES), "1.0.0");
    assert.equal(existsSync(codeRan()), true);
    const ran = (await readdir(at.stateDir, { recursive: true })).filter((name) => name.endsWith("script-ran"));
    assert.deepEqual(ran, [], "scripts of packages");
    assert.match(await done("list"), /^e2e-notes +1\.0\.0 +installed +active/m);
    assert.match(await done("install", NOTES), /already installed/);
  });

  it("updates without a question if the permissions are unchanged, and keeps the previous version", async () => {
    await publish(notes("1.1.0"));
    assert.match(await done("update", NOTES), /Installed e2e-notes 1\.1\.0 .*the previous version 1\.0\.0 is kept/);
    assert.equal(await versionOf(NOTES), "1.1.0");
    const { plugins: record } = JSON.parse(await readFile(join(at.stateDir, "extensions/installed.json"), "utf8"));
    assert.equal(record[NOTES].previous.version, "1.0.0");
    assert.equal(treeLines(join(at.stateDir, "extensions", record[NOTES].previous.directory)).length > 5, true);
  });

  it("asks again for new permissions, and accepts only the --agree word of exactly that package", async () => {
    await publish(notes("2.0.0", { svc: { permissions: { net: ["api.example.org:443"], exec: true } } }));
    const asked = await fails(
      ["update", NOTES],
      /requests more permissions than were agreed to/,
      /connects to api\.example\.org:443/,
      /runs programs/,
    );
    assert.doesNotMatch(asked, /runs with all rights of the gateway/);
    assert.match(await done("update", NOTES, "--agree", wordIn(asked)), /Installed e2e-notes 2\.0\.0/);
    assert.equal(await versionOf(NOTES), "2.0.0");
  });

  it("rolls back a version that does not start, and the old one runs", async () => {
    const code = `import "e2e-library";\n${pluginCode(NOTES, "2.0.1", 'throw new Error("no pen");')}`;
    await publish(notes("2.0.1", { code, svc: { permissions: { net: ["api.example.org:443"], exec: true } } }));
    await fails(
      ["update", NOTES],
      /Failed at load: e2e-notes 2\.0\.1 does not start: .*no pen/,
      /2\.0\.0 is restored and runs again/,
    );
    assert.equal(await versionOf(NOTES), "2.0.0");
  });

  it("installs a named version", async () => {
    await done("install", `${NOTES}@1.1.0`);
    assert.equal(await versionOf(NOTES), "1.1.0");
  });

  const refusals: [what: string, spec: () => Promise<string>, ...says: RegExp[]][] = [
    ["a package nobody published", async () => "e2e-nobody", /Failed at fetch: npm says:/, /E404/],
    ["a range nothing fits", async () => `${NOTES}@^9.0.0`, /Failed at fetch: npm says:/, /ETARGET/],
    ["a package that is not a plugin", async () => "e2e-library", /Failed at manifest: e2e-library is not a plugin/],
    [
      "a wrong API range",
      () => packed({ name: "too-new", svc: { api: "^99.0.0" } }),
      /Failed at manifest: too-new 1\.0\.0 is incompatible: it needs plugin API \^99\.0\.0/,
    ],
    [
      "an id of the bundle",
      () => packed({ name: "my-health", svc: { id: "health" } }),
      /Failed at manifest: the id "health" of my-health is already used by @svc\/plugin-health, which comes with the gateway/,
    ],
    [
      "an id that is installed",
      () => packed({ name: "other-notes", svc: { id: NOTES } }),
      /Failed at manifest: the id "e2e-notes" of other-notes is already used by e2e-notes 1\.1\.0, which is installed/,
    ],
    [
      "a dependency by a path",
      () => packed({ name: "rooted", package: { dependencies: { "e2e-library": "file:../library" } } }),
      /Failed at manifest: rooted depends on e2e-library by a path \(file:\.\.\/library\)/,
    ],
    [
      "a dependency nobody published",
      () => packed({ name: "needy", package: { dependencies: { "e2e-nobody": "1" } } }),
      /Failed at dependencies: npm says:/,
      /E404/,
    ],
    [
      "a bare import that is not listed",
      () =>
        packed({
          name: "forgetful",
          files: { "later.js": 'export const go = () => import("e2e-forgotten");' },
          code: `import "./later.js";\n${pluginCode("forgetful", "1")}`,
        }),
      /Failed at trial: later\.js imports e2e-forgotten, which is not installed: list e2e-forgotten under dependencies/,
    ],
    [
      "a path where nothing is",
      async () => join(directory, "nothing"),
      /Failed at fetch: there is no file or directory at/,
    ],
    [
      "a package of another machine",
      async () => "https://example.org/plugin.tgz",
      /Failed at fetch: .* is on another machine/,
    ],
  ];
  for (const [what, spec, ...says] of refusals)
    it(`refuses ${what}`, async () => void (await fails(["install", await spec(), "--yes"], ...says)));

  it("installs an archive, a directory, a tag of a git repository, and links a directory", async () => {
    await done("install", await packed({ name: "from-archive" }), "--yes");
    const confined = { isolation: { supports: ["process"] } };
    await done("install", await written({ name: "from-directory", svc: confined }), "--yes");
    const repository = await written({ name: "from-git" });
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=e2e", "-c", "user.email=e2e@example.org", ...args], {
        cwd: repository,
        stdio: "pipe",
      });
    for (const args of [
      ["init", "-q"],
      ["add", "."],
      ["commit", "-qm", "first"],
      ["tag", "v1"],
    ])
      git(...args);
    await writePackage(repository, { name: "from-git", version: "2.0.0" });
    git("commit", "-qam", "second");
    await done("install", `git+file://${repository}#v1`, "--yes");
    const typescript = (version: string): PluginPackage => ({
      name: "from-link",
      svc: { entry: "./plugin.ts" },
      files: { "plugin.ts": pluginCode("from-link", version) },
    });
    const linked = await written(typescript("1.0.0"));
    assert.match(
      await done("install", linked, "--link", "--yes"),
      /Linked from-link 1\.0\.0 to .*: used in place.*\nSaving a file does not reload it; run: svc plugins reload from-link\. .*svc dev /,
    );
    for (const name of ["from-archive", "from-directory", "from-git", "from-link"])
      assert.equal(await versionOf(name), "1.0.0");

    await writePackage(linked, typescript("changed"));
    await done("reload", "from-link");
    assert.equal(await versionOf("from-link"), "changed");
    assert.match(await done("list"), /^from-link +1\.0\.0 +linked +active +host/m);
    assert.match(await done("list"), /^from-directory +1\.0\.0 +installed +active +process/m);
    assert.match(await done("doctor"), /No problems found/);
  });

  it("refuses a file changed since the install, reports it everywhere, and repairs it with an update", async () => {
    const { plugins: record } = JSON.parse(await readFile(join(at.stateDir, "extensions/installed.json"), "utf8"));
    const file = join(
      at.stateDir,
      "extensions",
      record["from-archive"].directory,
      "node_modules/from-archive/plugin.js",
    );
    await appendFile(file, "// a line of somebody else\n");
    const { code, stdout } = await svc("reload", "from-archive");
    assert.equal(code, 1);
    assert.match(stdout, /its files changed since it was installed/);
    const doctor = await svc("doctor");
    assert.equal(doctor.code, 1);
    assert.match(
      doctor.stdout,
      /error +from-archive: its files changed since it was installed\n +Next: svc plugins update from-archive/,
    );
    assert.equal(await versionOf("from-archive"), "1.0.0"); // the running version continues
    await done("update", "from-archive");
    await done("reload", "from-archive");
  });

  it("disables, enables and removes a plugin; its data is kept until it is purged", async () => {
    await done("disable", "from-git");
    await settled("from-git", "disabled");
    assert.equal(await done("enable", "from-git").then(() => settled("from-git", "active")), "active");
    const kept = join(at.stateDir, "plugins/from-git");
    await writePackage(kept, { name: "whatever" });
    assert.match(
      await done("remove", "from-git"),
      /Removed from-git 1\.0\.0\. Kept:\n.*plugins\/from-git\n.*plugins\.entries\.from-git in the configuration\n.*--purge/,
    );
    await assert.rejects(versionOf("from-git"), /unknown method/);
    assert.deepEqual(treeLines(join(at.stateDir, "extensions/from-git")), [
      `${join(at.stateDir, "extensions/from-git")} is not there`,
    ]);
    assert.match(await done("remove", "from-git", "--purge"), /Removed the leftovers of from-git\. Nothing is left\./);
    assert.deepEqual(treeLines(kept), [`${kept} is not there`]);
    assert.doesNotMatch(await readFile(at.configPath, "utf8"), /from-git/);
    await fails(
      ["remove", "health"],
      /can be updated or removed; health comes from .*\nNext: svc plugins disable health/,
    );
  });

  it("does the same over RPC, for a panel", async () => {
    const archive = await packed({ name: "by-panel" });
    const refusal = await client.call(plugins.install, { spec: archive }).catch((error: unknown) => error);
    const { code, details } = refusal as { code: string; details: { code: string; summary: string[]; agree: string } };
    assert.deepEqual([code, details.code], ["INVALID_REQUEST", "AGREEMENT_NEEDED"]);
    assert.match(details.summary.join("\n"), /runs with all rights of the gateway/);
    await assert.rejects(
      client.call(plugins.install, { spec: archive, agree: "of-something-else" }),
      /was not agreed to/,
    );
    const installed = await client.call(plugins.install, { spec: archive, agree: details.agree });
    assert.deepEqual([installed.id, installed.changed, installed.state], ["by-panel", true, "active"]);
    assert.equal((await client.call(plugins.disable, { id: "by-panel" })).state, "disabled");
    assert.equal((await client.call(plugins.enable, { id: "by-panel" })).state, "active");
    assert.equal((await client.call(plugins.update, { id: "by-panel" })).changed, false);
    const wrong = await client.call(plugins.install, { spec: "./by-panel" }).catch((error: unknown) => error);
    assert.deepEqual((wrong as { details: unknown }).details, { code: "INSTALL_FAILED", step: "fetch" });
    assert.deepEqual(await client.call(plugins.remove, { id: "by-panel" }), {
      id: "by-panel",
      version: "1.0.0",
      kept: { keys: ["plugins.entries.by-panel"] },
    });
    await assert.rejects(client.call(plugins.remove, { id: "by-panel" }), { code: "NOT_FOUND" });
    const byUrl = await svc("install", archive, "--yes", "--url", gateway.ready.url, "--token", await tokenOf());
    assert.match(byUrl.stdout, /Installed by-panel 1\.0\.0/);
  });

  it("prints npm's own message when the registry is unreachable", async () => {
    await registry.stop();
    await fails(["install", "e2e-never", "--yes"], /Failed at fetch: npm says:/, /ECONNREFUSED/);
  });

  it("starts without installed plugins when the record is truncated, and reports it", async () => {
    await gateway.stop();
    const path = join(at.stateDir, "extensions/installed.json");
    const text = await readFile(path, "utf8");
    await writeFile(path, text.slice(0, 200));
    gateway = await at.run();
    assert.match(
      await done("list"),
      /installed\.json +- +blocked +(?:host +)?no installed plugin is loaded: .*truncated/,
    );
    assert.match((await svc("doctor")).stdout, /error +installed\.json: .*truncated.*\n +Next: mv /);
    await fails(["update", NOTES], /Failed at lock: .*truncated/);
    await writeFile(path, text);
    await rm(join(at.stateDir, "extensions", JSON.parse(text).plugins[NOTES].directory), { recursive: true });
    assert.match((await svc("doctor")).stdout, /error +e2e-notes: .*\n +Next: svc plugins update e2e-notes/);
  });

  /** The state of a plugin once the running gateway has applied a configuration change. */
  async function settled(id: string, state: string): Promise<string> {
    for (;;) {
      const row = (await client.call(plugins.list, {})).plugins.find((one) => one.id === id);
      if (row?.state === state) return state;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
});

/** The value of --agree in the refusal. */
function wordIn(text: string): string {
  return /--agree (\S+)/.exec(text)?.[1] ?? assert.fail(`no word in: ${text}`);
}
