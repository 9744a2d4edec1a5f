// long: starts whole programs
/** `hooks.gmail` in a configuration file: in a running gateway, and with `svc config`. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { config } from "@svc/sdk/config";
import { testGateway } from "@svc/sdk/testing";
import { home } from "../../host/cli/svc.ts";
import { directoryOf } from "../../host/kernel/reload-scene.ts";

const limited = { timeout: 120_000 };

describe("a gateway with hooks.gmail", limited, () => {
  it("reloads the preset when its settings change, and is blocked, it alone, by those of a watcher", async (t) => {
    const stateDir = await directoryOf(t, "svc-gmail-");
    const file = { gateway: { auth: { token: "t" } }, hooks: { gmail: { model: "a/b" } } };
    await writeFile(join(stateDir, "svc.json"), JSON.stringify(file));
    const plugins = ["@svc/plugin-preset-gmail", "@svc/plugin-config"];
    const { gateway, client } = await testGateway(t, { stateDir, plugins, gateway: { config: undefined } });
    const report = () => gateway.plugins().find(({ id }) => id === "preset-gmail");
    const patch = async (gmail: object) => {
      const { hash } = await client.call(config.get, {});
      return client.call(config.patch, {
        raw: JSON.stringify({ hooks: { gmail } }),
        ...(hash ? { baseHash: hash } : {}),
      });
    };
    assert.deepEqual([report()?.state, report()?.generation], ["active", 1]);
    await patch({ thinking: "low" });
    assert.deepEqual([report()?.state, report()?.generation], ["active", 2]);
    await assert.rejects(patch({ account: "a@example.org" }), { code: "INVALID_REQUEST" });
    assert.deepEqual([report()?.state, report()?.generation], ["active", 2]);
  });

  it("does not start if the configuration has a key of a watcher", async (t) => {
    const stateDir = await directoryOf(t, "svc-gmail-");
    const file = { gateway: { auth: { token: "t" } }, hooks: { gmail: { account: "a@example.org" } } };
    await writeFile(join(stateDir, "svc.json"), JSON.stringify(file));
    const plugins = ["@svc/plugin-preset-gmail", "@svc/plugin-config"];
    await assert.rejects(
      testGateway(t, { stateDir, plugins, gateway: { config: undefined } }),
      /^ {2}hooks\.gmail\.account: this gateway starts no mail watcher/m,
    );
  });
});

describe("svc config with hooks.gmail", limited, () => {
  const use = { plugins: { use: ["preset-gmail", "config"] } };

  it("sets, shows, checks and takes away a key of it", async (t) => {
    const { svc, configPath } = home(t, use);
    const set = await svc(["config", "set", "hooks.gmail.model", "a/b"]);
    assert.deepEqual([set.code, set.stderr], [0, ""]);
    assert.match(set.stdout, /changed hooks\.gmail\.model\nNo gateway runs here; the next start uses it\./);
    assert.equal((await svc(["config", "get", "hooks.gmail.model"])).stdout, "a/b\n");
    assert.equal((await svc(["config", "validate"])).code, 0);
    assert.equal((await svc(["config", "unset", "hooks.gmail.model"])).code, 0);
    assert.equal(JSON.parse(readFileSync(configPath, "utf8")).hooks?.gmail?.model, undefined);
  });

  it("refuses a key of a watcher, and says so", async (t) => {
    const { svc } = home(t, use);
    const { code, stderr } = await svc(["config", "set", "hooks.gmail.pushToken", "CANARY"]);
    assert.equal(code, 1);
    assert.match(stderr, /hooks\.gmail\.pushToken: this gateway starts no mail watcher/);
    assert.match(stderr, /Nothing was changed\.\nNext: svc config schema hooks\.gmail\.pushToken/);
    assert.doesNotMatch(stderr, /CANARY/);
  });

  it("shows its schema, and hides a secret in it", async (t) => {
    const { svc } = home(t, { ...use, hooks: { gmail: { pushToken: "CANARY" } } });
    const schema = JSON.parse((await svc(["config", "schema", "hooks.gmail"])).stdout);
    assert.ok(schema.properties.model && schema.additionalProperties === false);
    const shown = await svc(["config", "get", "hooks.gmail"]);
    assert.equal(shown.code, 0);
    assert.doesNotMatch(shown.stdout, /CANARY/);
  });

  it("keeps it without the plugin, and warns", async (t) => {
    const { svc } = home(t, { plugins: { use: ["config"] }, hooks: { gmail: { model: "a/b" } } });
    const { code, stdout } = await svc(["config", "validate"]);
    assert.equal(code, 0);
    assert.match(stdout, /warning {2}hooks\.gmail: not used: no plugin in use has this section/);
    const set = await svc(["config", "set", "hooks.gmail.label", "x"]);
    assert.match(set.stderr, /warning: hooks\.gmail: not used/);
  });
});
