/** The kind `secret` of imports. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { imports } from "@svc/sdk/import";
import { Secrets } from "@svc/sdk/secrets";
import { definePlugin } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { createImporter } from "../../../plugins/secrets/importer.ts";
import { directory, put } from "../../directory.ts";

const CANARY = "canary-import-3b1f";

function scene(t: TestContext) {
  const stateDir = directory(t);
  const file = join(stateDir, "credentials", "imported.json");
  return {
    stateDir,
    file,
    importer: createImporter({ stateDir }),
    stored: () => JSON.parse(readFileSync(file, "utf8")) as unknown,
  };
}

it("stores secrets in a private file, and never changes one that is there", async (t) => {
  const { importer, file, stored } = scene(t);
  assert.equal(await importer.count(), 0);
  assert.ok(!existsSync(file), "counting makes no file");
  const first = await importer.take([
    { id: "A_KEY", value: CANARY },
    { id: "anthropic:me@example.com", value: "two" },
    { id: "A_KEY", value: "again" },
  ]);
  assert.deepEqual(
    first.map(({ action }) => action),
    ["take", "take", "skip"],
  );
  assert.deepEqual(stored(), { A_KEY: CANARY, "anthropic:me@example.com": "two" });
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const second = await importer.take([
    { id: "A_KEY", value: "other" },
    { id: "__proto__", value: "odd" },
  ]);
  assert.deepEqual(
    second.map(({ action }) => action),
    ["skip", "take"],
  );
  assert.equal(await importer.count(), 3);
  assert.ok(readFileSync(file, "utf8").includes('"__proto__": "odd"'));
  assert.ok(!JSON.stringify([first, second]).includes(CANARY));
});

it("refuses a file that is not private or not JSON, and leaves it", async (t) => {
  const { importer, file } = scene(t);
  put(file, '{"A":"b"}', 0o644);
  await assert.rejects(importer.take([{ id: "B", value: "c" }]), {
    code: "UNAVAILABLE",
    message: /imported\.json cannot be used/,
  });
  chmodSync(file, 0o600);
  assert.equal(await importer.count(), 1);
  put(file, "broken", 0o600);
  await assert.rejects(importer.count(), { code: "UNAVAILABLE" });
  assert.equal(readFileSync(file, "utf8"), "broken");
});

it("stores no more than the source file reads", async (t) => {
  const { importer, file } = scene(t);
  await assert.rejects(importer.take([{ id: "BIG", value: "x".repeat(1_048_576) }]), { code: "UNAVAILABLE" });
  assert.ok(!existsSync(file));
});

it("is offered by the plugin, and the configuration finds what was taken", async (t) => {
  const stateDir = directory(t);
  const path = join(stateDir, "credentials", "imported.json");
  put(join(stateDir, "svc.json"), JSON.stringify({ secrets: { providers: { imported: { source: "file", path } } } }));
  let reveal: Secrets["reveal"] | undefined;
  const reader = definePlugin({
    id: "reader",
    api: "^1.0.0",
    requires: { secrets: Secrets },
    setup: (gateway) => void (reveal = (setting) => gateway.services.secrets.reveal(setting)),
  });
  const { client } = await testGateway(t, {
    plugins: ["secrets", "import", reader],
    stateDir,
    gateway: { config: undefined, env: { SVC_STATE_DIR: stateDir } },
  });
  const { kinds } = await client.call(imports.kinds, {});
  assert.deepEqual(
    kinds.filter(({ kind }) => kind === "secret"),
    [{ kind: "secret", title: "secrets", plugin: "secrets", count: 0, gives: false }],
  );
  const records = [
    { id: "A_KEY", value: CANARY },
    { id: "a/b", value: CANARY },
  ];
  const { outcomes } = await client.call(imports.take, { kind: "secret", records });
  assert.deepEqual(
    outcomes.map(({ id, action }) => [id, action]),
    [
      ["A_KEY", "take"],
      ["a/b", "refuse"],
    ],
  );
  assert.ok(!JSON.stringify(outcomes).includes(CANARY));
  assert.equal(await reveal?.({ source: "file", provider: "imported", id: "/A_KEY" }), CANARY);
});
