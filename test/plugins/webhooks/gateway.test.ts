/** The plugin in a real gateway, over a real connection and with a real configuration file; the engine is a sample. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, defineService } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { Storage } from "@svc/sdk/storage";
import { testGateway } from "@svc/sdk/testing";
import { type WebhookMappingInfo, webhooks, type Webhooks } from "@svc/sdk/webhooks";
import webhooksPlugin from "../../../plugins/webhooks/plugin.ts";
import { STEPS } from "../../../plugins/webhooks/queue/run-records.ts";
import { BUILD, FAILED, MAIL, ROWS, sampleEngine, SECOND, TRIAL, WAKE } from "./sample.ts";

const CONFIG = `{
  hooks: {
    // handles builds
    mappings: [{ id: "build", match: { path: "build" } }, { enabled: false }],
    disabled: ["mail"],
  },
}`;

/** Replaces the service of the host, under another name. */
const SampleEngine = defineService<Webhooks>()("sample-engine", "1.0.0");

/** The plugin, with the sample in place of the host's engine. */
const pluginUnderTest = definePlugin({
  ...webhooksPlugin,
  requires: { ...webhooksPlugin.requires, engine: SampleEngine },
});

const { details, reason, ...facts } = FAILED;
const ROW = {
  run_id: facts.runId,
  mapping: facts.mapping,
  action: facts.action,
  status: facts.status,
  job: JSON.stringify({ params: { message: "hi" }, wrapped: true, contentSource: "webhook" }),
  reply: "{}",
  session_key: facts.sessionKey ?? null,
  accepted_at: facts.acceptedAt,
  started_at: facts.startedAt ?? null,
  ended_at: facts.endedAt ?? null,
  attempts: facts.attempts,
  failures: 1,
  reason: reason ?? null,
  details: JSON.stringify(details),
};

/** Rows as the host lists them, with `enabled` read from the file. */
function rowsOf(parsed: unknown): readonly WebhookMappingInfo[] {
  const { mappings = [], disabled = [] } = (
    parsed as { hooks: { mappings?: { enabled?: boolean }[]; disabled?: string[] } }
  ).hooks; // the file above
  const [build, second] = mappings;
  return [
    { ...WAKE, enabled: !disabled.includes("wake") },
    { ...BUILD, enabled: build?.enabled !== false },
    { ...SECOND, enabled: second?.enabled !== false },
    { ...MAIL, enabled: !disabled.includes("mail") },
  ];
}

async function scene(t: TestContext, text = CONFIG) {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-test-"));
  const path = join(stateDir, "svc.json");
  await writeFile(path, text);
  let rows = ROWS;
  const root = join(stateDir, "hooks/transforms");
  const transforms = { root, directory: join(root, "away"), refs: [{ module: "build.ts" }] };
  const { engine, asked } = sampleEngine({ list: () => rows, transforms });
  const provider = definePlugin({
    id: "sample-engine",
    api: "^1.0.0",
    requires: { config: ConfigStore, storage: Storage },
    provides: [SampleEngine],
    setup(gateway) {
      gateway.provide(SampleEngine, engine);
      gateway.start(async () => {
        rows = rowsOf((await gateway.services.config.snapshot()).parsed);
        await gateway.services.storage.migrate("webhooks", STEPS);
        const columns = Object.keys(ROW);
        const sql = `INSERT INTO webhook_runs (${columns.join()}) VALUES (${columns.map(() => "?").join()})`;
        await gateway.services.storage.transaction([{ sql, params: Object.values(ROW) }]);
      });
    },
  });
  const running = await testGateway(t, {
    plugins: ["storage-sqlite", provider, pluginUnderTest],
    stateDir,
    gateway: { config: undefined },
  });
  t.after(() => rm(stateDir, { recursive: true, force: true }));
  return { ...running, asked, transformsDir: transforms.directory, read: () => readFile(path, "utf8") };
}

describe("webhooks.*", () => {
  it("returns the host's data, and each result matches its contract", async (t) => {
    const { client, transformsDir } = await scene(t); // the gateway checks every result against its schema
    const listed = await client.call(webhooks.list, {});
    assert.deepEqual([listed.enabled, listed.path, listed.transformsDir], [true, "/hooks", transformsDir]);
    assert.deepEqual(
      listed.mappings.map(({ id, enabled }) => [id, enabled]),
      [
        ["wake", true],
        ["build", true],
        ["mapping-2", false],
        ["mail", false],
      ],
    );
    const problem = `the directory ${transformsDir} does not exist`;
    const ofFile = { path: "build.ts", message: problem, severity: "error" };
    assert.deepEqual(await client.call(webhooks.check, {}), { ok: false, problems: [...BUILD.problems, ofFile] });
    const { mappings } = await client.call(webhooks.list, {});
    const transform = { module: "build.ts", placement: "host", timeoutMs: 5_000, state: "missing", problem };
    assert.deepEqual(mappings[1], JSON.parse(JSON.stringify({ ...BUILD, transform })));
    assert.deepEqual(await client.call(webhooks.runs, { status: "failed", mapping: "build", limit: 5 }), {
      runs: [FAILED],
    });
    assert.deepEqual(await client.call(webhooks.runs, { status: "done" }), { runs: [] });
    assert.deepEqual(await client.call(webhooks.run, { runId: "run-1" }), {
      run: FAILED,
      params: { message: "hi" },
    });
    assert.deepEqual(await client.call(webhooks.init, {}), {
      directory: transformsDir,
      written: [join(transformsDir, "tsconfig.json")],
    });
  });

  it("tries a request with all that was given, and replays a run", async (t) => {
    const { client, asked } = await scene(t);
    const trial = { mapping: "build", payload: [1], headers: { "x-event": "push" }, path: "build?x=1" };
    assert.deepEqual(await client.call(webhooks.try, trial), TRIAL);
    const { run } = await client.call(webhooks.replay, { runId: "run-1" });
    assert.deepEqual([run.status, run.replayOf], ["queued", "run-1"]);
    const { run: failed } = await client.call(webhooks.run, { runId: "run-1" });
    assert.equal(failed.replayedAs, run.runId);
    assert.deepEqual(asked, [["try", trial]]);
    const unknown = client.call(webhooks.run, { runId: "nope" });
    await assert.rejects(unknown, { code: "NOT_FOUND", message: /run id "nope"/ });
  });

  it("says ok when there are warnings only, and what is wrong without storage", async (t) => {
    const { engine } = sampleEngine({
      check: () => BUILD.problems.filter(({ severity }) => severity === "warning"),
      list: () => [WAKE],
    });
    const provider = definePlugin({
      id: "sample-engine",
      api: "^1.0.0",
      provides: [SampleEngine],
      setup: (gateway) => gateway.provide(SampleEngine, engine),
    });
    const { client } = await testGateway(t, { plugins: ["storage-sqlite", provider, pluginUnderTest] });
    const { ok, problems } = await client.call(webhooks.check, {});
    assert.deepEqual([ok, problems.length], [true, 1]);

    const bare = await testGateway(t, { plugins: [provider, pluginUnderTest] });
    const without = await bare.client.call(webhooks.check, {});
    assert.deepEqual([without.ok, without.problems.length], [false, 2]);
    assert.match(without.problems[1]?.message ?? "", /no running plugin provides storage; requests get 503/);
    await assert.rejects(bare.client.call(webhooks.runs, {}), {
      code: "UNAVAILABLE",
      message: /add a storage plugin to plugins.use/,
    });
  });
});

type Client = Awaited<ReturnType<typeof scene>>["client"];

/** Switches a mapping. @returns whether the file was changed */
async function switched(client: Client, method: typeof webhooks.enable | typeof webhooks.disable, id: string) {
  const { changed, ...rest } = await client.call(method, { id });
  assert.deepEqual(rest, { id, enabled: method === webhooks.enable });
  return changed;
}

describe("webhooks.enable and webhooks.disable", () => {
  it("write a mapping's enabled, with comments kept, and say when it was so already", async (t) => {
    const { client, read } = await scene(t);
    assert.equal(await switched(client, webhooks.disable, "build"), true);
    const written = await read();
    assert.match(written, /\/\/ handles builds/);
    assert.match(written, /id: "build".*"?enabled"?: false/s);
    assert.equal(await switched(client, webhooks.disable, "build"), false);
    assert.equal(await read(), written);
    assert.equal(await switched(client, webhooks.enable, "mapping-2"), true);
    assert.match(await read(), /"?enabled"?: true/);
  });

  it("put ids of presets and direct paths on the list and take them off", async (t) => {
    const { client, read } = await scene(t);
    assert.equal(await switched(client, webhooks.disable, "wake"), true);
    assert.match(await read(), /disabled: \["mail",\s*"wake"\]/);
    assert.equal(await switched(client, webhooks.enable, "mail"), true);
    assert.match(await read(), /disabled: \[\s*"wake"\]/);
    assert.equal(await switched(client, webhooks.enable, "wake"), true);
    assert.doesNotMatch(await read(), /disabled/);
  });

  it("lose nothing when many are switched at once", async (t) => {
    const { client, read } = await scene(t);
    const ids = ["build", "wake", "mail"];
    await Promise.all([
      ...ids.slice(0, 2).map((id) => client.call(webhooks.disable, { id })),
      client.call(webhooks.enable, { id: "mail" }),
    ]);
    const text = await read();
    assert.match(text, /disabled: \[\s*"wake"\]/);
    assert.match(text, /id: "build".*"?enabled"?: false/s);
  });
});
