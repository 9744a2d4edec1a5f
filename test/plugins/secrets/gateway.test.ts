/** The plugin in a whole gateway. Spec: protocol/methods-secrets.md, http/config.md §6. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, Type } from "@svc/sdk";
import { config as configMethods } from "@svc/sdk/config";
import { models } from "@svc/sdk/models";
import { secrets, Secrets, SecretSetting, SecretSource } from "@svc/sdk/secrets";
import { startFakeModelServer, testGateway } from "@svc/sdk/testing";
import { directory } from "../../directory.ts";
import { program, simpleSource } from "./scene.ts";
import { until } from "../../until.ts";

const PLUGINS = ["secrets", "models", "provider-openai", "config"];
const CANARY = "canary-gateway-6e02";

/** A gateway with a vault file, and a model server that reports which key it received. */
async function start(
  t: TestContext,
  section: Record<string, unknown> = {},
  plugins: readonly (string | object)[] = PLUGINS,
) {
  const stateDir = directory(t);
  const vault = join(stateDir, "vault.json");
  const store = (values: object) => writeFile(vault, JSON.stringify(values), { mode: 0o600 });
  await store({ key: `${CANARY}-1`, second: `${CANARY}-2` });
  const server = await startFakeModelServer({
    replies: ({ headers }) => ({ text: headers.authorization ?? "no key" }),
  });
  t.after(() => server.close());
  const file = {
    secrets: { providers: { vault: { source: "file", path: vault } }, defaults: { file: "vault" } },
    models: {
      providers: {
        acme: { baseUrl: server.url, apiKey: { source: "file", id: "/key" }, models: [{ id: "m" }] },
        other: {
          baseUrl: server.url,
          accounts: [{ name: "a", apiKey: { source: "file", provider: "vault", id: "/second" } }],
          models: [{ id: "n" }],
        },
        plain: { baseUrl: server.url, apiKey: "plain-key", models: [{ id: "o" }] },
      },
    },
    ...section,
  };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(file));
  const scene = await testGateway(t, {
    plugins: plugins as never,
    stateDir,
    gateway: { config: undefined, env: { SVC_STATE_DIR: stateDir } },
  });
  const ask = async (model: string) => (await scene.client.call(models.test, { model })).text;
  const states = async () =>
    Object.fromEntries((await scene.client.call(secrets.list, {})).secrets.map(({ path, state }) => [path, state]));
  /** Waits until every reference has this state. */
  const settled = (state: string) => until(async () => Object.values(await states()).every((one) => one === state));
  const change = async (patch: object) => {
    const { hash } = await scene.client.call(configMethods.get, {});
    return scene.client.call(configMethods.patch, { raw: JSON.stringify(patch), baseHash: hash });
  };
  return { ...scene, stateDir, vault, store, ask, states, settled, change };
}

describe("secrets in a gateway", { timeout: 120_000 }, () => {
  it("are looked up in advance, used for models, and replaced by a reload; when it fails, they stay in use, and the error names the path and not the secret", async (t) => {
    const { client, ask, states, settled, store } = await start(t);
    await settled("found");
    assert.deepEqual(Object.keys(await states()), [
      "models.providers.acme.apiKey",
      "models.providers.other.accounts.0.apiKey",
    ]);
    const keys = [await ask("m"), await ask("n"), await ask("o")];
    assert.deepEqual(keys, [`Bearer ${CANARY}-1`, `Bearer ${CANARY}-2`, "Bearer plain-key"]);
    await store({ key: `${CANARY}-3`, second: `${CANARY}-4` });
    assert.equal(await ask("m"), `Bearer ${CANARY}-1`);
    assert.deepEqual(await client.call(secrets.reload, {}), { ok: true, warningCount: 0 });
    assert.deepEqual([await ask("m"), await ask("n")], [`Bearer ${CANARY}-3`, `Bearer ${CANARY}-4`]);

    await store({ key: `${CANARY}-9` });
    await assert.rejects(client.call(secrets.reload, {}), (error: Error & { code: string }) => {
      assert.equal(error.code, "UNAVAILABLE");
      assert.match(
        error.message,
        /^nothing was reloaded, .*: models\.providers\.other\.accounts\.0\.apiKey: the provider "vault"/u,
      );
      assert.doesNotMatch(error.message, /canary|acme|second/u);
      return true;
    });
    assert.deepEqual([await ask("m"), await ask("n")], [`Bearer ${CANARY}-3`, `Bearer ${CANARY}-4`]);
  });

  it("that are missing do not keep the gateway from starting; using or resolving them is refused, and a change corrects them", async (t) => {
    const section = {
      secrets: { providers: { vault: { source: "file", path: "/nowhere/vault.json" } }, defaults: { file: "vault" } },
    };
    const { client, ask, settled, gateway, change, vault, stateDir } = await start(t, section);
    await settled("failed");
    const targetIds = ["models.providers.*.accounts.*.apiKey"];
    await assert.rejects(client.call(secrets.resolve, { commandName: "x", targetIds }), {
      code: "UNAVAILABLE",
      message: /other\.accounts\.0\.apiKey .*\/nowhere\/vault\.json does not exist/u,
    });
    assert.ok(gateway.plugins().every(({ state, errors }) => state === "active" && errors === 0));
    await assert.rejects(ask("m"), {
      code: "UNAVAILABLE",
      message:
        /models\.providers\.acme\.apiKey .*\/nowhere\/vault\.json does not exist; create the file, or correct path\nNext: svc secrets list/u,
    });
    assert.equal(await ask("o"), "Bearer plain-key");
    await change({ secrets: { providers: { vault: { path: vault } } } });
    assert.equal(await ask("m"), `Bearer ${CANARY}-1`);
    await settled("found");
    const before = await readFile(join(stateDir, "svc.json"), "utf8");
    const wrong = change({ secrets: { providers: { vault: { path: "vault.json" } } } });
    const message = "path must be an absolute path, starting with /";
    await assert.rejects(wrong, { details: { issues: [{ path: "secrets.providers.vault", message }] } });
    assert.equal(await readFile(join(stateDir, "svc.json"), "utf8"), before);
  });

  it("are hidden in the configuration; settings of the section that are no secrets are not", async (t) => {
    const command = await program(join(directory(t), "find"), "");
    const providers = {
      e: { source: "env", allowlist: ["LISTED"] },
      x: {
        source: "exec",
        command,
        args: [CANARY],
        env: { VAULT: CANARY },
        passEnv: ["PASSED"],
        trustedDirs: ["/trusted"],
        timeoutMs: 9_000,
      },
      y: { source: "other", hidden: CANARY },
    };
    const { client } = await start(t, { secrets: { providers } });
    const shown = await client.call(configMethods.get, {});
    assert.doesNotMatch(JSON.stringify(shown), /canary/u);
    const section = (shown.config as { secrets: Record<string, unknown> }).secrets;
    const hidden = "__SVC_REDACTED__";
    assert.deepEqual(section, {
      providers: {
        e: { source: "env", allowlist: ["LISTED"] },
        x: { ...providers.x, args: [hidden], env: { VAULT: hidden } },
        y: { source: "other", hidden },
      },
      defaults: { env: "default", file: "default", exec: "default" },
      resolution: { maxProviderConcurrency: 4, maxRefsPerProvider: 512, maxBatchBytes: 262_144 },
    });
  });

  it("also come from sources of other plugins", async (t) => {
    const Keeper = definePlugin({
      id: "keeper",
      api: "^1.0.0",
      config: Type.Object({ pin: SecretSetting() }),
      requires: { secrets: Secrets },
      setup(gateway) {
        gateway.extend(
          SecretSource,
          "bank",
          simpleSource({ check: ({ settings }) => (settings["branch"] === 7 ? undefined : "no branch") }),
        );
      },
    });
    const section = {
      keeper: { pin: { source: "bank", provider: "b", id: "pin" } },
      secrets: { providers: { b: { source: "bank", branch: 7 } } },
    };
    const { states, client } = await start(t, section, [...PLUGINS, Keeper]);
    await until(async () => (await states())["keeper.pin"] === "found");
    const { assignments } = await client.call(secrets.resolve, { commandName: "x", targetIds: ["keeper.pin"] });
    assert.deepEqual(assignments, [{ path: "keeper.pin", pathSegments: ["keeper", "pin"], value: "pin-value" }]);
  });
});

describe("secrets.resolve", { timeout: 120_000 }, () => {
  it("returns the values of references and plain texts with their paths; references that no running plugin reads are skipped and counted", async (t) => {
    const { client, states } = await start(t, { talk: { apiKey: { source: "env", id: "TALK_KEY" } } });
    const targetIds = ["models.providers.*.apiKey", "models.providers.*.accounts.*.apiKey"];
    const { assignments, ...rest } = await client.call(secrets.resolve, { commandName: "models test", targetIds });
    assert.deepEqual(rest, { ok: true, diagnostics: [], inactiveRefPaths: [] });
    const found = [
      ["models.providers.acme.apiKey", `${CANARY}-1`],
      ["models.providers.other.accounts.0.apiKey", `${CANARY}-2`],
      ["models.providers.plain.apiKey", "plain-key"],
    ] as const;
    const expected = found.map(([path, value]) => ({ path, pathSegments: path.split("."), value }));
    assert.deepEqual(assignments, expected);
    const none = await client.call(secrets.resolve, { commandName: "x", targetIds: [] });
    assert.deepEqual(none, { ok: true, assignments: [], diagnostics: [], inactiveRefPaths: [] });
    const unset = await client.call(secrets.resolve, { commandName: "x", targetIds: ["gateway.auth.password"] });
    assert.deepEqual(unset.assignments, []);

    assert.equal((await client.call(secrets.reload, {})).warningCount, 1);
    assert.equal((await states())["talk.apiKey"], "inactive");
    const unread = await client.call(secrets.resolve, { commandName: "talk", targetIds: ["talk.apiKey"] });
    assert.deepEqual(unread, {
      ok: true,
      assignments: [],
      diagnostics: ["talk.apiKey: not looked up, no running plugin reads this section"],
      inactiveRefPaths: ["talk.apiKey"],
    });
  });

  const unknown = (id: string) => `unknown target id "${id}"`;
  const withTargets = (...targetIds: unknown[]) => ({ commandName: "x", targetIds });
  const rows: [why: string, params: unknown, message: string][] = [
    ["no params", undefined, "commandName"],
    ["no name", { targetIds: [] }, "commandName"],
    ["a blank name", { commandName: " \t ", targetIds: [] }, "commandName"],
    ["no targets", { commandName: "x" }, "targetIds"],
    ["a further key", { ...withTargets(), extra: 1 }, "targetIds"],
    ["an unknown target", withTargets("models.providers.*.apiKey", "a.b"), unknown("a.b")],
    ["a key that is no secret", withTargets("gateway.port"), unknown("gateway.port")],
    ["a path for a pattern", withTargets("models.providers.acme.apiKey"), unknown("models.providers.acme.apiKey")],
    ["part of a reference", withTargets("models.providers.*.apiKey.id"), unknown("models.providers.*.apiKey.id")],
    ["a target that steers a terminal", withTargets("\u001b[2J"), unknown("\\u001b[2J")],
  ];
  it("refuses invalid params naming only the field; reload accepts any params, including none", async (t) => {
    const { client } = await start(t);
    for (const [why, params, what] of rows) {
      const refusal = { code: "INVALID_REQUEST", message: `invalid secrets.resolve params: ${what}` };
      await assert.rejects(client.request("secrets.resolve", params), refusal, why);
    }

    for (const params of [undefined, {}, { extra: 1 }])
      assert.deepEqual(await client.request("secrets.reload", params), { ok: true, warningCount: 0 });
    const announced = client.hello.features.methods.filter((name) => name.startsWith("secrets."));
    assert.deepEqual(announced, ["secrets.reload", "secrets.resolve"]);
  });
});

describe("a reference where the host reads a secret", { timeout: 120_000 }, () => {
  const ref = { source: "env", id: "TOKEN" };
  const rows: [path: string, config: Record<string, unknown>][] = [
    ["gateway.auth.token", { gateway: { auth: { token: ref } } }],
    ["gateway.auth.password", { gateway: { auth: { password: { ...ref, provider: "default" } } } }],
    ["hooks.token", { hooks: { enabled: true, token: ref } }],
  ];
  it("is refused, and the message names the path and the alternative [H1.4]", async (t) => {
    const alternative = 'put the secret into an environment variable and write "${NAME}"';
    for (const [path, config] of rows) {
      const start = testGateway(t, { plugins: ["secrets"], config });
      const tells = ({ message }: Error) => message.includes(path) && message.includes(alternative);
      await assert.rejects(start, tells, path);
    }
  });
});
