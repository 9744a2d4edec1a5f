/** How plugins are found, refused and imported: by package name, by directory, by file. */
import assert from "node:assert/strict";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { testGateway } from "@svc/sdk/testing";
import { sdkModules } from "../../../host/kernel/sdk-modules.ts";
import { root } from "../../checkout.ts";
import { directory } from "../../directory.ts";

/** Installs a package; `imported` returns whether its code has run. */
async function install(
  stateDir: string,
  name: string,
  svc: object,
  code: string,
): Promise<{ path: string; imported: () => Promise<boolean> }> {
  const path = join(stateDir, "node_modules", name);
  await mkdir(path, { recursive: true });
  await writeFile(join(path, "package.json"), JSON.stringify({ name, version: "2.3.4", type: "module", svc }));
  const mark = join(path, "imported");
  await writeFile(
    join(path, "plugin.ts"),
    `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(mark)}, "");\n${code}`,
  );
  return {
    path,
    imported: () =>
      stat(mark).then(
        () => true,
        () => false,
      ),
  };
}

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

const start = (t: TestContext, stateDir: string, config: object) =>
  testGateway(t, { stateDir, config: config as Record<string, unknown> });

describe("a plugin package", () => {
  it("is found by name next to the configuration, as TypeScript, with the host's own SDK", async (t) => {
    const stateDir = directory(t);
    await install(stateDir, "@acme/things", SVC, CODE);
    const { client, gateway } = await start(t, stateDir, { plugins: { use: ["@acme/things"] }, things: { n: 7 } });
    assert.deepEqual(
      gateway.plugins().map(({ id, version, state }) => [id, version, state]),
      [["things", "2.3.4", "active"]],
    );
    await assert.rejects(client.request("things.get"), { code: "NOT_FOUND", message: "n is 7" });
    assert.equal((await stat(join(stateDir, "cache/jiti"))).mode & 0o777, 0o700);
  });

  it("is found by its directory", async (t) => {
    const stateDir = directory(t);
    const { path } = await install(stateDir, "@acme/things", SVC, CODE);
    const { gateway } = await start(t, stateDir, {
      plugins: { use: [], load: { paths: [path, "./node_modules/@acme/things"] } },
    });
    assert.equal(gateway.plugins()[0]?.state, "active");
  });

  it("with an id already in use is listed and blocked", async (t) => {
    const stateDir = directory(t);
    const { path } = await install(stateDir, "@acme/things", SVC, CODE);
    const { gateway } = await start(t, stateDir, {
      plugins: { use: ["@acme/things", "models"], load: { paths: [path] } },
    });
    const things = gateway.plugins().filter(({ id }) => id.startsWith("things"));
    assert.deepEqual(
      things.map(({ id, state }) => [id, state]),
      [
        ["things", "active"],
        [`things (${path})`, "blocked"],
      ],
    );
    assert.match(things[1]?.reason ?? "", /its id "things" is already used/);
  });

  const refusals: [why: string, svc: object, code: string, state: string, reason: RegExp][] = [
    [
      "for another plugin API",
      { ...SVC, api: "^2.0.0" },
      CODE,
      "blocked",
      /needs plugin API \^2\.0\.0, this gateway has 1\.0\.0/,
    ],
    ["whose range is none", { ...SVC, api: "newest" }, CODE, "blocked", /its api "newest" is not a version range/],
    ["whose svc key is wrong, naming the path", { ...SVC, id: "Things!" }, CODE, "blocked", /key "svc": at \/id: /],
    [
      "whose svc key has unknown entries",
      { ...SVC, permision: {} },
      CODE,
      "blocked",
      /unexpected property 'permision'/,
    ],
  ];
  for (const [why, svc, code, state, reason] of refusals) {
    it(`${why} is refused before its code runs`, async (t) => {
      const stateDir = directory(t);
      const { imported } = await install(stateDir, "@acme/things", svc, code);
      const { gateway } = await start(t, stateDir, { plugins: { use: ["@acme/things"] } });
      const [report] = gateway.plugins();
      assert.equal(report?.state, state);
      assert.match(report?.reason ?? "", reason);
      assert.equal(await imported(), false);
    });
  }

  it("that is disabled does not run, and its settings are kept and reported", async (t) => {
    const stateDir = directory(t);
    const { imported } = await install(stateDir, "@acme/things", SVC, CODE);
    const config = {
      plugins: { use: ["@acme/things"], entries: { things: { enabled: false } } },
      things: { n: "wrong" },
      nobodys: 1,
    };
    const { gateway, client } = await start(t, stateDir, config);
    assert.deepEqual(
      gateway.plugins().map(({ state }) => state),
      ["disabled"],
    );
    assert.equal(await imported(), false);
    assert.deepEqual(gateway.warnings, [
      "things: not used: plugin things is not running; kept unchanged",
      "nobodys: not used: no plugin in use has this section; kept unchanged",
    ]);
    await assert.rejects(
      client.request("things.get"),
      /unknown method: things\.get: provided by plugin things, which is not enabled \(disabled: disabled by plugins\.entries\.things\.enabled\)/,
    );
  });

  it("that serves methods its package does not list is refused", async (t) => {
    const stateDir = directory(t);
    await install(stateDir, "@acme/things", { ...SVC, namespaces: ["other"] }, CODE);
    const { gateway } = await start(t, stateDir, { plugins: { use: ["@acme/things"] } });
    assert.match(
      gateway.plugins()[0]?.reason ?? "",
      /method things\.get is not listed under "svc\.namespaces"; add "things" to svc\.namespaces in package\.json/,
    );
  });

  it("whose code has another id is refused", async (t) => {
    const stateDir = directory(t);
    await install(stateDir, "@acme/things", { ...SVC, id: "others" }, CODE);
    const { gateway } = await start(t, stateDir, { plugins: { use: ["@acme/things"] } });
    assert.match(gateway.plugins()[0]?.reason ?? "", /its code has the id "things", its package\.json the id "others"/);
  });

  const unusable: [json: object, says: RegExp][] = [
    [{}, /has no "svc\.entry", so it is not a plugin/],
    [{ svc: { id: "plain", api: "^1.0.0", cli: "./cli.js" } }, /has no "svc\.entry", so it is not a plugin/],
    [{ svc: { id: "plain", api: "^1.0.0" } }, /it needs "entry" \(a plugin\) or "cli" \(commands of svc\)/],
  ];
  for (const [json, says] of unusable)
    it(`with ${JSON.stringify(json)} is no plugin`, async (t) => {
      const stateDir = directory(t);
      await mkdir(join(stateDir, "node_modules/plain"), { recursive: true });
      await writeFile(join(stateDir, "node_modules/plain/package.json"), JSON.stringify({ name: "plain", ...json }));
      const { gateway } = await start(t, stateDir, { plugins: { use: ["plain"] } });
      assert.match(gateway.plugins()[0]?.reason ?? "", says);
    });
});

it("the startup report has the outcome for every plugin", async (t) => {
  const stateDir = directory(t);
  await install(stateDir, "@acme/things", SVC, CODE);
  await writeFile(join(stateDir, "broken.ts"), "export default 1 +;");
  await start(t, stateDir, { plugins: { use: ["@acme/things", "./broken.ts", "./absent.ts"] } });
  const report = JSON.parse(await readFile(join(stateDir, "startup-report.json"), "utf8")) as {
    plugins: { id: string; state: string; reason?: string }[];
  };
  const found = Object.fromEntries(report.plugins.map(({ id, state, reason }) => [id, [state, reason?.split(":")[0]]]));
  assert.deepEqual(found["things"], ["active", undefined]);
  assert.deepEqual(found["./broken.ts"], ["failed", "import"]);
  assert.equal(found["./absent.ts"]?.[0], "blocked");
});

it("TypeScript outside of a checkout gets every entry of the SDK except the testing kit", async () => {
  const { exports } = JSON.parse(await readFile(join(root, "sdk/package.json"), "utf8")) as { exports: object };
  const entries = Object.keys(exports).filter((entry) => entry !== "./testing" && entry !== "./package.json");
  assert.deepEqual(
    Object.keys(await sdkModules()).sort(),
    entries.map((entry) => entry.replace(/^\./, "@svc/sdk")).sort(),
  );
});
