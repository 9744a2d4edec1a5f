/** How plugins are found, refused and imported: by package name, by directory, by file; the range of the plugin API is checked before. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { chmod, chown, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { API_VERSION } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { refuseForeignCode } from "../../../host/kernel/ownership.ts";
import { sdkModules } from "../../../host/kernel/sdk-modules.ts";
import { root } from "../../checkout.ts";
import { directory, put } from "../../directory.ts";

const CODE = `
import { defineContract, definePlugin, GatewayError, Type } from "@svc/sdk";
const Any = Type.Object({});
const contract = defineContract("things", { get: { summary: "-", scope: "operator.read", params: Any, result: Any } });
export default definePlugin({
  id: "things", api: "^1.0.0", config: Type.Object({ n: Type.Integer({ default: 1 }) }),
  setup: (gateway) => gateway.serve(contract, { get: () => { throw new GatewayError("NOT_FOUND", "n is " + gateway.config.n); } }),
});
`;
const SVC = { id: "things", api: "^1.0.0", entry: "./plugin.ts", namespaces: ["things"] };

/** @param paths of the package that is installed, and of the state */
type ConfigFor = (paths: { readonly path: string; readonly stateDir: string }) => Readonly<Record<string, unknown>>;
const used: ConfigFor = () => ({ plugins: { use: ["@acme/things"] } });

/** Installs a package and starts a gateway; `imported` returns whether the code of the package has run. */
async function installed(t: TestContext, config: ConfigFor = used, svc: object = SVC) {
  const stateDir = directory(t);
  const path = join(stateDir, "node_modules/@acme/things");
  const mark = join(path, "imported");
  put(join(path, "package.json"), JSON.stringify({ name: "@acme/things", version: "2.3.4", type: "module", svc }));
  put(
    join(path, "plugin.ts"),
    `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(mark)}, "");\n${CODE}`,
  );
  const { client, gateway } = await testGateway(t, { stateDir, config: config({ path, stateDir }) });
  const states = () => Object.fromEntries(gateway.plugins().map(({ id, state }) => [id, state]));
  return { client, gateway, states, path, stateDir, report: gateway.plugins()[0], imported: () => existsSync(mark) };
}

describe("a plugin package", () => {
  it("is found by name next to the configuration, as TypeScript, with the host's own SDK", async (t) => {
    const { client, report, stateDir } = await installed(t, (at) => ({ ...used(at), things: { n: 7 } }));
    assert.deepEqual([report?.id, report?.version, report?.state], ["things", "2.3.4", "active"]);
    await assert.rejects(client.request("things.get"), { code: "NOT_FOUND", message: "n is 7" });
    assert.equal(statSync(join(stateDir, "cache/jiti")).mode & 0o777, 0o700);
  });

  it("is found by its directory", async (t) => {
    const { states } = await installed(t, ({ path }) => ({
      plugins: { use: [], load: { paths: [path, "./node_modules/@acme/things"] } },
    }));
    assert.equal(states()["things"], "active");
  });

  it("with an id already in use is listed and blocked", async (t) => {
    const { gateway, states, path } = await installed(t, (at) => ({
      plugins: { use: ["@acme/things", "models"], load: { paths: [at.path] } },
    }));
    const second = `things (${path})`;
    assert.deepEqual([states()["things"], states()[second]], ["active", "blocked"]);
    const { reason } = gateway.plugins().find(({ id }) => id === second) ?? {};
    assert.match(reason ?? "", /its id "things" is already used/);
  });

  const refusals: [why: string, svc: object, reason: RegExp, isImported?: true][] = [
    ["whose svc key is wrong, naming the path", { ...SVC, id: "Things!" }, /key "svc": at \/id: /],
    ["whose svc key has unknown entries", { ...SVC, permision: {} }, /unexpected property 'permision'/],
    [
      "that serves methods its package does not list",
      { ...SVC, namespaces: ["other"] },
      /method things\.get is not listed under "svc\.namespaces"; add "things" to svc\.namespaces in package\.json/,
      true,
    ],
    [
      "whose code has another id",
      { ...SVC, id: "others" },
      /its code has the id "things", its package\.json the id "others"/,
      true,
    ],
  ];
  for (const [why, svc, reason, isImported = false] of refusals)
    it(`${why} is refused ${isImported ? "by name" : "before its code runs"}`, async (t) => {
      const { report, imported } = await installed(t, used, svc);
      assert.notEqual(report?.state, "active");
      assert.match(report?.reason ?? "", reason);
      assert.equal(imported(), isImported);
    });

  it("that is disabled does not run, and its settings are kept and reported", async (t) => {
    const { gateway, client, imported, report } = await installed(t, () => ({
      plugins: { use: ["@acme/things"], entries: { things: { enabled: false } } },
      things: { n: "wrong" },
      nobodys: 1,
    }));
    assert.deepEqual([report?.state, imported()], ["disabled", false]);
    assert.deepEqual(gateway.warnings, [
      "things: not used: plugin things is not running; kept unchanged",
      "nobodys: not used: no plugin in use has this section; kept unchanged",
    ]);
    await assert.rejects(
      client.request("things.get"),
      /unknown method: things\.get: provided by plugin things, which is not enabled \(disabled: disabled by plugins\.entries\.things\.enabled\)/,
    );
  });

  const unusable: [json: object, says: RegExp][] = [
    [{}, /has no "svc\.entry", so it is not a plugin/],
    [{ svc: { id: "plain", api: "^1.0.0", cli: "./cli.js" } }, /has no "svc\.entry", so it is not a plugin/],
    [{ svc: { id: "plain", api: "^1.0.0" } }, /it needs "entry" \(a plugin\) or "cli" \(commands of svc\)/],
  ];
  for (const [json, says] of unusable)
    it(`with ${JSON.stringify(json)} is no plugin`, async (t) => {
      const stateDir = directory(t);
      put(join(stateDir, "node_modules/plain/package.json"), JSON.stringify({ name: "plain", ...json }));
      const { gateway } = await testGateway(t, { stateDir, config: { plugins: { use: ["plain"] } } });
      assert.match(gateway.plugins()[0]?.reason ?? "", says);
    });
});

it("the startup report has the outcome for every plugin", async (t) => {
  const { stateDir } = await installed(t, (at) => {
    put(join(at.stateDir, "broken.ts"), "export default 1 +;");
    return { plugins: { use: ["@acme/things", "./broken.ts", "./absent.ts"] } };
  });
  const report = JSON.parse(readFileSync(join(stateDir, "startup-report.json"), "utf8")) as {
    plugins: { id: string; state: string; reason?: string }[];
  };
  const found = Object.fromEntries(report.plugins.map(({ id, state, reason }) => [id, [state, reason?.split(":")[0]]]));
  assert.deepEqual(found["things"], ["active", undefined]);
  assert.deepEqual(found["./broken.ts"], ["failed", "import"]);
  assert.equal(found["./absent.ts"]?.[0], "blocked");
});

it("TypeScript outside of a checkout gets every entry of the SDK except the testing kit", async () => {
  const { exports } = JSON.parse(readFileSync(join(root, "sdk/package.json"), "utf8")) as { exports: object };
  const entries = Object.keys(exports).filter((entry) => entry !== "./testing" && entry !== "./package.json");
  assert.deepEqual(
    Object.keys(await sdkModules()).sort(),
    entries.map((entry) => entry.replace(/^\./, "@svc/sdk")).sort(),
  );
});

const [major = 0, minor = 0] = API_VERSION.split(".").map(Number);
const next = `${major}.${minor + 1}.0`;

const NEEDS = (range: string) => `it needs plugin API ${range}, this gateway has ${API_VERSION}`;
const TOO_NEW = (range: string) => `${NEEDS(range)}; upgrade the gateway, or install an older version of the plugin`;
const TOO_OLD = (range: string) => `${NEEDS(range)}; install a version of the plugin made for ${API_VERSION}`;

const MISSING = /package\.json, key "svc": "api" is missing; write a version range, e\.g\. "\^\d+\.\d+\.\d+"$/;

/** Values of `svc.api`, each with the reason of the refusal; `undefined`: it runs. */
const forms: [api: unknown, reason: string | RegExp | undefined][] = [
  [`^${major}.0.0`, undefined],
  [API_VERSION, undefined],
  [`${major}.x`, undefined],
  ["*", undefined],
  [`>=${major - 1}.0.0 <${major + 1}`, undefined],
  [`^${major}.0.0-beta.1`, undefined],
  [`^${major - 1}.9.0 || ^${major}.0.0`, undefined],
  [undefined, MISSING],
  ["", MISSING],
  [1, MISSING],
  ["latest", `its api "latest" is not a version range; write e.g. "^${API_VERSION}"`],
  ["^1.0.0 and up", `its api "^1.0.0 and up" is not a version range; write e.g. "^${API_VERSION}"`],
  [`^${next}`, TOO_NEW(`^${next}`)],
  [`^${major + 1}.0.0`, TOO_NEW(`^${major + 1}.0.0`)],
  [`${next}-rc.1`, TOO_NEW(`${next}-rc.1`)],
  [`^${major - 1}.9.0`, TOO_OLD(`^${major - 1}.9.0`)],
  [`<${major}.0.0`, TOO_OLD(`<${major}.0.0`)],
  [`${major}.0.0-rc.1`, TOO_OLD(`${major}.0.0-rc.1`)],
];

describe("the plugin API range of a plugin", () => {
  it("decides whether it runs; the code of a refused plugin is not imported", async (t) => {
    const stateDir = directory(t);
    const names = forms.map((_, index) => `form-${index}`);
    for (const [index, [api]] of forms.entries()) {
      const id = `form-${index}`;
      const place = join(stateDir, id);
      const json = { name: id, version: "1.0.0", type: "module", svc: { id, api, entry: "./plugin.ts" } };
      put(join(place, "package.json"), JSON.stringify(json));
      const mark = JSON.stringify(join(place, "imported"));
      put(
        join(place, "plugin.ts"),
        `import { writeFileSync } from "node:fs";
import { definePlugin } from "@svc/sdk";
writeFileSync(${mark}, "");
export default definePlugin({ id: "${id}", api: ${JSON.stringify(api)}, setup() {} });`,
      );
    }
    const use = names.map((name) => `./${name}`);
    const { gateway } = await testGateway(t, { stateDir, config: { plugins: { use } } });
    const reports = gateway.plugins();
    for (const [index, [api, reason]] of forms.entries()) {
      const report = reports.find(({ id }) => id === `form-${index}` || id === `./form-${index}`);
      const told = `${JSON.stringify(api)}: ${report?.state} ${report?.reason}`;
      assert.equal(report?.state, reason === undefined ? "active" : "blocked", told);
      if (typeof reason === "string") assert.equal(report?.reason, reason);
      else if (reason) assert.match(report?.reason ?? "", reason);
      assert.equal(existsSync(join(stateDir, `form-${index}`, "imported")), reason === undefined, told);
    }
  });

  it("is checked again in the code, if it differs from the package", async (t) => {
    const stateDir = directory(t);
    const code = `import { definePlugin } from "@svc/sdk";\nexport default definePlugin({ id: "late", api: "^${next}", setup() {} });`;
    put(join(stateDir, "late.ts"), code);
    const { gateway } = await testGateway(t, { stateDir, config: { plugins: { use: ["./late.ts"] } } });
    assert.deepEqual(
      gateway.plugins().map(({ id, state, reason }) => [id, state, reason]),
      [["late", "blocked", TOO_NEW(`^${next}`)]],
    );
  });
});

const user = process.getuid?.() ?? assert.fail("no users here");
const THINGS = `import { definePlugin } from "@svc/sdk";\nexport default definePlugin({ id: "things", api: "^1.0.0", setup() {} });\n`;

/** `<root>/outer/things` with `plugin.ts`, `lib/part.ts` and a dependency. */
async function owned(t: TestContext) {
  const root = directory(t);
  const plugin = join(root, "outer/things");
  for (const path of ["lib/part.ts", "node_modules/dep/index.js", "plugin.ts"]) {
    await mkdir(dirname(join(plugin, path)), { recursive: true, mode: 0o755 });
    await writeFile(join(plugin, path), THINGS, { mode: 0o644 });
  }
  const svc = { id: "things", api: "^1.0.0", entry: "./plugin.ts" };
  await writeFile(join(plugin, "package.json"), JSON.stringify({ name: "things", type: "module", svc }));
  const options = { configDir: join(root, "elsewhere"), user };
  return { root, plugin, refuse: (path = plugin) => refuseForeignCode(path, options) };
}

describe("the files of a plugin", () => {
  for (const path of ["", "plugin.ts", "package.json", "lib", "lib/part.ts"])
    for (const mode of [0o666, 0o757, 0o777]) {
      it(`are refused when ${path || "the directory"} has mode ${mode.toString(8)}`, async (t) => {
        const { plugin, refuse } = await owned(t);
        await refuse();
        await chmod(join(plugin, path), mode);
        const says = new RegExp(`mode ${mode.toString(8)}\\) is writable by everyone\nNext: chmod .*go-w '${plugin}'`);
        await assert.rejects(refuse(), says);
      });
    }

  it("are refused when writable by a group other than the owner's private group", async (t) => {
    const { plugin, refuse } = await owned(t);
    await chmod(join(plugin, "plugin.ts"), 0o664);
    if (user !== 0) return; // only root gives files to groups
    await refuse();
    await chown(join(plugin, "plugin.ts"), 0, 54_321);
    await chmod(join(plugin, "plugin.ts"), 0o664);
    await assert.rejects(refuse(), /plugin\.ts \(owner 0, group 54321, mode 664\) is writable by group 54321\n/);
  });

  it("are refused when a directory above them is writable by everyone, unless it has the sticky bit", async (t) => {
    const { root, plugin, refuse } = await owned(t);
    await chmod(join(root, "outer"), 0o777);
    for (const path of [plugin, join(plugin, "plugin.ts")])
      await assert.rejects(refuse(path), new RegExp(`Next: chmod go-w '${root}/outer'`));
    await chmod(join(root, "outer"), 0o1777);
    await refuse();
    await chmod(join(root, "outer"), 0o777);
    await refuseForeignCode(plugin, { configDir: plugin, user }); // anyone who can change this directory can change the configuration
  });

  it("are refused behind links in directories that others may write", async (t) => {
    const { root, plugin, refuse } = await owned(t);
    await mkdir(join(root, "open"));
    await symlink(plugin, join(root, "open/hop"));
    await symlink(join(root, "open/hop"), join(root, "things"));
    await refuse(join(root, "things"));
    await chmod(join(root, "open"), 0o777);
    await assert.rejects(refuse(join(root, "things")), /open \(.* is writable by everyone/);
    await chmod(join(root, "open"), 0o755);
    await chmod(join(plugin, "lib/part.ts"), 0o666);
    await assert.rejects(refuse(join(root, "things")), /part\.ts \(.* is writable by everyone/);
    await symlink("circle", join(root, "circle"));
    await assert.rejects(refuse(join(root, "circle")), /more than 40 symbolic links/);
  });

  it("are refused when they belong to another user than the gateway's and root", async (t) => {
    const { plugin, refuse } = await owned(t);
    if (user === 0) {
      await chown(join(plugin, "lib/part.ts"), 54_321, 54_321);
      await assert.rejects(refuse(), /part\.ts \(owner 54321, .*belongs to another user.*\nNext: chown -R 0 '/);
    } else
      await assert.rejects(refuseForeignCode(plugin, { configDir: "/", user: user + 1 }), /belongs to another user/);
    await refuseForeignCode(plugin, { configDir: "/", user: undefined }); // a system without owners
  });

  for (const shape of ["directory", "file", "package"] as const)
    it(`prevent the import of a ${shape} if others may write them, and the gateway runs without it`, async (t) => {
      const { root, plugin } = await owned(t);
      await chmod(join(plugin, "plugin.ts"), 0o666);
      await mkdir(join(root, "node_modules"));
      await symlink(plugin, join(root, "node_modules/things"));
      const spec = { directory: plugin, file: join(plugin, "plugin.ts"), package: "things" }[shape];
      const plugins = shape === "package" ? { use: [spec] } : { use: [], load: { paths: [spec] } };
      const { gateway } = await testGateway(t, { stateDir: root, config: { plugins } });
      const [report] = gateway.plugins();
      assert.match(report?.reason ?? "", /plugin\.ts \(owner \d+, group \d+, mode 666\) is writable by everyone/);
      assert.notEqual(report?.state, "active");
    });
});
