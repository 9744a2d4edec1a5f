/** Data of the plugins of this checkout, and when it is deleted. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import { type SqlValue, storage as contract, type StorageItem, Storage } from "@svc/sdk/storage";
import { type TestGateway, testGateway } from "@svc/sdk/testing";
import { STEPS as CHANNELS } from "../../../plugins/channels/schema.ts";
import { STEPS as RESPONSES } from "../../../plugins/http-responses/store.ts";
import { STEPS as WEBHOOKS } from "../../../plugins/webhooks/queue/run-records.ts";
import { bundledPlugins, root } from "../../checkout.ts";

/** Plugins outside of the bundle that store something. */
const OUTSIDE = readdirSync(join(root, "plugins")).filter((id) => {
  const { name, svc } = JSON.parse(readFileSync(join(root, "plugins", id, "package.json"), "utf8"));
  return svc?.contributes?.["storage.retention"] && !bundledPlugins().includes(name);
});

const DAY = 86_400_000;
const NOW = Date.now();

let scene: TestGateway & { readonly storage: Storage };

before(async (t) => {
  let storage: Storage | undefined;
  const reach = definePlugin({
    id: "reach",
    api: "^1.0.0",
    requires: { storage: Storage },
    setup(gateway) {
      gateway.start(async () => {
        ({ storage } = gateway.services);
        // Created on first use.
        await storage.migrate("channels", CHANNELS);
        await storage.migrate("http-responses", RESPONSES);
        await storage.migrate("webhooks", WEBHOOKS);
      });
    },
  });
  const opened = await testGateway(t as TestContext, { plugins: [...bundledPlugins(), ...OUTSIDE, reach] });
  scene = { ...opened, storage: storage ?? assert.fail("storage did not start") };
});

const usage = () => scene.client.call(contract.usage, {});

describe("every table", { timeout: 120_000 }, () => {
  it("is named by one contribution", async () => {
    const { items } = await usage();
    assert.deepEqual(
      items.filter(({ plugin }) => plugin === undefined).map(({ id }) => id),
      [],
    );
    const named = items.flatMap(({ tables }) => tables);
    assert.deepEqual(named.toSorted(), [...new Set(named)].toSorted());
    // Includes tables that are created on first use.
    const files = readdirSync(join(root, "plugins"), { recursive: true, encoding: "utf8" }).filter(
      (path) => path.endsWith(".ts") && !/^(?:memory|storage-postgres)\/|node_modules|\/dist\//.test(path), // memory: a file of its own
    );
    const made = files.flatMap((path) => {
      const text = readFileSync(join(root, "plugins", path), "utf8");
      return [...text.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/gi)].map(([, table = ""]) => table);
    });
    assert.ok(made.length > 20);
    assert.deepEqual(
      made.filter((table) => !named.includes(table)),
      [],
    );
  });

  it("has a primary key, by which `svc storage copy` continues", async () => {
    const without = `SELECT m.name FROM sqlite_schema m WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite~_%' ESCAPE '~'
      AND NOT EXISTS (SELECT 1 FROM pragma_table_info(m.name) WHERE pk > 0)`;
    assert.deepEqual(await scene.storage.all(without), []);
  });

  it("is in the README with its rule", async () => {
    const page = readFileSync(join(root, "plugins/storage-sqlite/README.md"), "utf8");
    const row = ({ tables, files, holds, rule }: StorageItem) =>
      `| ${[...tables, ...files].map((name) => `\`${name}\``).join(", ")} | ${holds} | ${rule} |`;
    const { items } = await usage();
    assert.deepEqual(
      page
        .split("## What is deleted")[1]
        ?.split("\n")
        .filter((line) => line.startsWith("| `"))
        .toSorted(),
      items.map(row).toSorted(),
    );
  });
});

/** Inserts a row, with values for required columns that are not in `given`. */
async function insert(table: string, given: Readonly<Record<string, SqlValue>>): Promise<void> {
  const columns = await scene.storage.all<{ name: string; type: string; notnull: number; pk: number }>(
    `SELECT name, type, "notnull", pk FROM pragma_table_info('${table}')`,
  );
  const needed = columns.filter(({ name, notnull, pk }) => name in given || notnull > 0 || pk > 0);
  const values = needed.map(
    ({ name, type }) => given[name] ?? (name in given ? null : type === "TEXT" ? `${++serial}` : ++serial),
  );
  const sql = `INSERT INTO ${table} (${needed.map(({ name }) => name).join(", ")}) VALUES (${values.map(() => "?").join(", ")})`;
  await scene.storage.transaction([{ sql, params: values }]);
}

let serial = 1_000;
const ago = (days: number) => NOW - days * DAY;

/** By table: rows that are deleted, and rows that are kept. */
const ROWS: Readonly<Record<string, readonly [goes: readonly object[], stays: readonly object[]]>> = {
  agent_runs: [
    [{ run_id: "old", status: "ok", ended_at: ago(8) }],
    [
      { run_id: "young", status: "ok", ended_at: ago(6) },
      { run_id: "kept", status: "ok", ended_at: ago(8) },
      { status: "running", accepted_at: ago(400), started_at: NOW, request: "{}" },
    ],
  ],
  agent_subruns: [
    [{ run_id: "old", created_at: ago(8), announced_at: ago(8), archived_at: ago(8) }],
    [{ run_id: "kept", created_at: ago(8), announced_at: ago(8), archived_at: null, principal: "{}" }],
  ],
  approval_grants: [[{ expires_at: ago(0.1) }], [{ created_at: ago(89), expires_at: NOW + DAY }]],
  approvals: [
    [{ status: "decided", created_at: ago(31) }],
    [
      { status: "decided", created_at: ago(29) },
      { status: "pending", created_at: ago(400) },
    ],
  ],
  channel_inbound: [[{ status: "answered", settled_at: ago(4) }], [{ status: "answered", settled_at: ago(2) }]],
  channel_outbox: [[{ status: "sent", ended_at: ago(4) }], [{ status: "sent", ended_at: ago(2) }]],
  chat_commands: [[{ answered_at: ago(1.1) }], [{ answered_at: ago(0.9) }]],
  cron_fires: [
    ...([
      [
        { job_id: "gone", status: "ran", settled_at: ago(31) },
        { job_id: "gone", status: "skipped", settled_at: ago(31) },
        { job_id: "gone", status: "missed", settled_at: ago(31) },
        { job_id: "gone", status: "waiting", due_at: ago(31) },
        { job_id: "job", status: "ran", settled_at: ago(366) },
      ],
      [
        { job_id: "gone", status: "ran", settled_at: ago(29) },
        { job_id: "job", status: "ran", settled_at: ago(364) },
      ],
    ] as const),
  ],
  devices_pending: [[{ ts: ago(1), body: "{}" }], [{ ts: NOW, body: "{}" }]],
  heartbeat_beats: [[{ last_at: ago(366) }], [{ last_at: ago(364) }]],
  heartbeat_events: [
    [
      { status: "told", settled_at: ago(1.1) },
      { status: "waiting", at: ago(31), settled_at: null },
    ],
    [
      { status: "told", settled_at: ago(0.9) },
      { status: "waiting", at: ago(29), settled_at: null, wake: "next-heartbeat" },
    ],
  ],
  http_responses: [[{ created_at: ago(31) }], [{ created_at: ago(29) }]],
  nodes_pending: [[{ ts: ago(1), facts: "{}" }], [{ ts: NOW, facts: "{}" }]],
  nodes_push: [
    [
      { node_id: "paired-long-ago", updated_at: ago(91) },
      { node_id: "removed", updated_at: NOW },
    ],
    [{ node_id: "paired", updated_at: ago(89) }],
  ],
  webhook_keys: [[{ expires_at: ago(0.1) }], [{ expires_at: NOW + DAY }]],
  webhook_runs: [
    [
      { status: "done", accepted_at: ago(8) },
      { status: "failed", accepted_at: ago(31) },
    ],
    [
      { status: "done", accepted_at: ago(6) },
      { status: "failed", accepted_at: ago(29) },
      { status: "queued", action: "none", accepted_at: ago(400), next_attempt_at: NOW + DAY },
    ],
  ],
};

it("rows and directories go by the rule, and no others", { timeout: 120_000 }, async () => {
  for (const id of ["paired", "paired-long-ago"]) {
    const [roles, scopes] = [["node"], []];
    const body = { deviceId: id, publicKey: id, role: "node", roles, scopes, approvedScopes: scopes, createdAtMs: NOW };
    await insert("devices_paired", { device_id: id, body: JSON.stringify({ ...body, approvedAtMs: NOW }) });
  }
  await insert("cron_jobs", { id: "job", job: "{}", facts: "{}", enabled: 0 });
  const table = async (name: string) => (await scene.storage.all(`SELECT * FROM ${name}`)).length;
  const expected: Record<string, number> = {};
  for (const [name, [goes, stays]] of Object.entries(ROWS)) {
    const others = await table(name);
    for (const row of [...goes, ...stays]) await insert(name, row as Record<string, SqlValue>);
    expected[name] = others + stays.length;
  }
  const trash = (name: string) => join(scene.stateDir, "trash", name);
  for (const [name, days] of [
    ["old", 31],
    ["young", 29],
  ] as const) {
    mkdirSync(trash(name), { recursive: true });
    writeFileSync(join(trash(name), "AGENTS.md"), "x");
    utimesSync(trash(name), ago(days) / 1_000, ago(days) / 1_000);
  }
  const { items } = await scene.client.call(contract.clean, { dryRun: true });
  assert.equal(items.find(({ id }) => id === "trash")?.deleted, 1);
  assert.ok(existsSync(trash("old")));
  await scene.client.call(contract.clean, {});
  const left: Record<string, number> = {};
  for (const name of Object.keys(ROWS)) left[name] = await table(name);
  assert.deepEqual(left, expected);
  assert.deepEqual([existsSync(trash("old")), existsSync(trash("young"))], [false, true]);
  const { items: after } = await scene.client.call(contract.clean, { dryRun: true });
  assert.deepEqual(
    after.filter(({ deleted }) => deleted > 0),
    [],
  );
});
