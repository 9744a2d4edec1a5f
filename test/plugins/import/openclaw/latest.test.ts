/** Records of a state directory with SQLite databases, and of one that is only partly moved into them. */
// own process: its directory for temporary files is its own
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import type { ConvertedSettings, ImportItem } from "@svc/kit/import";
import { violations } from "@svc/sdk";
import {
  ArchiveRecord,
  CommandPolicyRecord,
  CronJobRecord,
  CronRunRecord,
  DeviceRecord,
  type ImportRecord,
  SessionRecord,
  TranscriptRecord,
  WakeWordsRecord,
} from "@svc/sdk/import";
import { marchRecords } from "../../../../plugins/import/openclaw/march.ts";
import { openClawSource } from "../../../../plugins/import/openclaw/source.ts";
import { stateFiles } from "../../../../plugins/import/openclaw/state-files.ts";
import { AGENT, events, GLOBAL, idsOf, main, read, row, said, small, told } from "../../../openclaw-databases.ts";
import { openClawHome, pathsIn, SECRETS } from "../../../openclaw-state.ts";

const SCHEMAS = {
  session: SessionRecord,
  transcript: TranscriptRecord,
  archive: ArchiveRecord,
  "cron-job": CronJobRecord,
  "cron-run": CronRunRecord,
  device: DeviceRecord,
  "command-policy": CommandPolicyRecord,
  "wake-words": WakeWordsRecord,
};
const short = (id: string) => id.slice(0, 8);
const counted = ({ id, messages }: TranscriptRecord) => `${short(id)} ${messages.length}`;

describe("latestRecords", () => {
  it("reads the state of a real gateway", async (t) => {
    const { state } = openClawHome(t, "latest/state");
    const { sessions, archives, transcripts, items, of } = await read(state);
    assert.deepEqual(
      sessions.map(({ id, sessionId }) => `${id} ${short(sessionId)}`),
      [
        "agent:main:main cee6a115",
        "agent:main:cron:8cfea91b-636c-40b8-8787-69e8b7c4b213 2032c35f",
        "agent:main:cron:990b5f32-c9c8-44a6-a1d1-040eecdf8047 eb691798",
        "agent:main:oldone c456b2a9",
        "agent:main:project-x 3c7208ab",
        "agent:work:main 385ec160",
      ],
    );
    assert.deepEqual(transcripts.map(counted), [
      "cee6a115 5",
      "2032c35f 2",
      "eb691798 2",
      "c456b2a9 2",
      "3c7208ab 4",
      "385ec160 2",
    ]);
    assert.deepEqual(
      archives.map(({ key, reason, archivedAt }) => [key, reason, new Date(archivedAt).toISOString()]),
      [["agent:main:oldone", "reset", "2026-11-22T20:40:41.420Z"]],
    );
    assert.deepEqual(
      of<ImportRecord & { name: string; enabled: boolean }>("cron-job").map((job) => `${job.name} ${job.enabled}`),
      ["backup true", "tea true"],
    );
    const kinds = ["cron-run", "device", "node", "command-policy", "wake-words"];
    assert.deepEqual(
      kinds.map((kind) => of(kind).length),
      [1, 0, 0, 1, 0],
    );
    assert.deepEqual(items.map(told), [
      "archive 7e6a4f43-4122-44b4-9333- refuse",
      "cron-job 0ab707a2-f895-4e23-94d5- convert",
      "cron-job 8ee4da1f-9f58-4d40-8c87- convert",
      "cron-job 8162fcd0-1bd8-4402-a1d0- drop",
      "cron-job 8d749688-fe8d-48cb-83b9- drop",
      "cron-job 23c0aa43-84ce-450a-814b- drop",
      "command-policy exec-approvals convert",
      "table other tables drop",
    ]);
    const reasons = items.map(({ reason }) => reason).join("\n");
    assert.match(reasons, /its content is missing: not in the database, nor in agents\/main\/sessions\/7e6a4f43/);
    assert.match(reasons, /the heartbeat of agent main, every 60 min, is a setting here: agents\.defaults\.heartbeat/);
    assert.match(reasons, /"Memory Dreaming Promotion" is a job of OpenClaw for itself/);
    assert.match(reasons, /nothing here uses them: audit_events 16, .*session_participants 4$/m);
  });

  it("gives records that their importers accept", async (t) => {
    for (const fixture of ["latest/state", "half-moved/state"]) {
      const { of } = await read(openClawHome(t, fixture).state);
      for (const [kind, schema] of Object.entries(SCHEMAS))
        for (const one of of(kind)) assert.deepEqual(violations(schema, one), [], `${kind} ${one.id}`);
    }
  });

  it("reads a compaction, its first kept message, and words from outside", async (t) => {
    const { state } = openClawHome(t, "latest/state");
    const { transcripts } = await read(state);
    const compacted = transcripts.find(({ id }) => id.startsWith("3c7208ab"));
    const [compaction] = compacted?.compactions ?? [];
    assert.equal(compaction?.firstKeptId, "86e773f5-3b18-4f3f-8998-5e343d7450d4");
    assert.match(compaction?.summary ?? "", /^## Latest user request context/);
    const hooked = transcripts.find(({ id }) => id.startsWith("2032c35f"))?.messages[0]?.message;
    assert.equal(Object(hooked)["origin"].kind, "webhook");
    const fields = transcripts.flatMap(({ messages }) => messages.flatMap(({ message }) => Object.keys(message)));
    assert.deepEqual(
      fields.filter((name) => name.startsWith("__")),
      [],
    );
  });

  it("gives the sessions, messages and stores of a half-moved state as its files had them", async (t) => {
    const moved = await read(openClawHome(t, "half-moved/state").state);
    const before = openClawHome(t);
    const march: ImportItem[] = [];
    const byKind: Record<string, ImportRecord[]> = {};
    const files = stateFiles(before.state);
    const options = { files, channels: new Set(["webchat"]), tell: (item: ImportItem) => void march.push(item) };
    for await (const { kind, records } of marchRecords(options)) (byKind[kind] ??= []).push(...records);
    const sorted = <R extends ImportRecord>(records: readonly R[] = [], facts: (one: R) => unknown = ({ id }) => id) =>
      records.map((one) => JSON.stringify(facts(one))).toSorted();
    const identity = ({ id, sessionId, updatedAt }: SessionRecord) => [id, sessionId, updatedAt];
    assert.deepEqual(sorted(moved.sessions, identity), sorted(byKind["session"] as SessionRecord[], identity));
    const roles = ({ id, messages }: TranscriptRecord) => [id, messages.map(({ at, message }) => [at, message.role])];
    assert.deepEqual(sorted(moved.transcripts, roles), sorted(byKind["transcript"] as TranscriptRecord[], roles));
    const all = (one: ImportRecord) => one;
    for (const kind of ["archive", "wake-words"])
      assert.deepEqual(sorted(moved.of(kind), all), sorted(byKind[kind], all), kind);
    for (const kind of ["device", "cron-run"]) assert.deepEqual(new Set(moved.of(kind)), new Set(byKind[kind]), kind);
    const job = (one: ImportRecord & { schedule?: object; state?: object }) => [one.id, one.schedule, one.state];
    assert.deepEqual(sorted(moved.of("cron-job"), job), sorted(byKind["cron-job"], job));
    const rules = (one: ImportRecord & { file?: object }) => Object(one.file)["agents"];
    assert.deepEqual(sorted(moved.of("command-policy"), rules), sorted(byKind["command-policy"], rules));
    assert.deepEqual(moved.items.map(told), [
      "cron-job 41e7433f-2682-45a8-930a- convert",
      "cron-job bb44a815-e7a3-4beb-878f- convert",
      "cron-job 104c45eb-794c-4702-9691- convert",
      "file HEARTBEAT-main.md convert",
      "file HEARTBEAT-work.md convert",
      "table other tables drop",
    ]);
  });

  describe("with jobs", () => {
    const job = (more: object, columns: Readonly<Record<string, string | number | null>> = {}) =>
      row("cron_jobs", {
        job_id: "j",
        job_json: JSON.stringify({
          id: "j",
          name: "n",
          enabled: true,
          createdAtMs: 1,
          schedule: { kind: "every", everyMs: 60_000 },
          payload: { kind: "agentTurn", message: "m", toolsAllow: ["*"] },
          ...more,
        }),
        state_json: JSON.stringify({ nextRunAtMs: 9, runningAtMs: 8 }),
        enabled: 1,
        payload_kind: "agentTurn",
        updated_at: 2,
        ...columns,
      });
    type Job = ImportRecord & { enabled: boolean; updatedAtMs: number; state: object; payload: object };

    it("takes the state and the time of the row, and no field that only the source reads", async (t) => {
      const { of, items } = await read(small(t, { global: job({ scheduledToolPolicy: { mode: "trusted" } }) }));
      const [taken] = of<Job>("cron-job");
      assert.deepEqual(
        [taken?.enabled, taken?.updatedAtMs, taken?.state, taken?.payload, items],
        [true, 2, { nextRunAtMs: 9 }, { kind: "agentTurn", message: "m" }, []],
      );
    });

    const restricted: [what: string, more: object][] = [
      ["some tools only", { payload: { kind: "agentTurn", message: "m", toolsAllow: ["read"] } }],
      ["a policy for its tools", { scheduledToolPolicy: { mode: "restricted" } }],
      ["a condition", { trigger: { script: "x" } }],
      ["a thread to deliver to", { delivery: { mode: "announce", channel: "last", threadId: 3 } }],
    ];
    for (const [what, more] of restricted)
      it(`disables one with ${what}, and says why`, async (t) => {
        const { of, items } = await read(small(t, { global: job(more) }));
        assert.deepEqual([of<Job>("cron-job")[0]?.enabled, items.map(told)], [false, ["cron-job j convert"]]);
        assert.match(String(items[0]?.reason), /^"n" has \w+, which nothing here reads; it comes in disabled$/);
      });

    it("leaves one disabled that the row says is", async (t) => {
      const { of } = await read(small(t, { global: job({}, { enabled: 0 }) }));
      assert.equal(of<Job>("cron-job")[0]?.enabled, false);
    });

    it("takes runs with their outcome, others from their receipts, and none of jobs that stay", async (t) => {
      const detail = { kind: "cron-run", status: "ok", error: null, summary: "done", runAtMs: 10, durationMs: 5 };
      const task = (source: string) =>
        row("task_runs", {
          runtime: "cron",
          source_id: source,
          status: "succeeded",
          ended_at: 15,
          child_session_key: "agent:main:cron:j:run:r",
          detail_json: JSON.stringify(detail),
        });
      const receipt = (id: string, start: number, end: number | null, status: string) =>
        row("cron_run_receipts", { job_id: id, status, started_at_ms: start, finished_at_ms: end, error_text: null });
      const global =
        job({}) +
        job({ id: "beat" }, { job_id: "beat", payload_kind: "heartbeat" }) +
        task("j") +
        task("beat") +
        receipt("j", 10, 15, "ok") +
        receipt("j", 20, 24, "timed-out") +
        receipt("j", 30, null, "running") +
        receipt("beat", 20, 24, "ok");
      const { of } = await read(small(t, { global }));
      const sessionKey = "agent:main:cron:j:run:r";
      assert.deepEqual(
        of<ImportRecord & { entry: object }>("cron-run").map(({ entry }) => entry),
        [
          {
            ts: 15,
            jobId: "j",
            status: "ok",
            summary: "done",
            sessionKey,
            runAtMs: 10,
            durationMs: 5,
            action: "finished",
          },
          { ts: 24, jobId: "j", status: "error", runAtMs: 20, durationMs: 4, action: "finished" },
        ],
      );
    });
  });

  it("reads what a node may be asked, and no token that was revoked", async (t) => {
    const token = (role: string, more: object = {}) => ({
      token: `${role}-token`,
      role,
      scopes: [],
      createdAtMs: 1,
      ...more,
    });
    const device = (id: string, surface: string | null) =>
      row("device_pairing_paired", {
        device_id: id,
        public_key: "k",
        display_name: "Box",
        role: "node",
        roles_json: '["node"]',
        approved_scopes_json: null,
        tokens_json: JSON.stringify({ node: token("node"), operator: token("operator", { revokedAtMs: 5 }) }),
        node_surface_json: surface,
        created_at_ms: 1,
        approved_at_ms: 2,
      });
    const surface = JSON.stringify({ commands: ["system.run"], caps: ["canvas"], approvedAtMs: 2 });
    const { of } = await read(small(t, { global: device("a", surface) + device("b", "{}") + device("c", null) }));
    const devices = of<DeviceRecord>("device");
    assert.deepEqual(
      devices.map(({ node }) => node),
      [{ commands: ["system.run"], caps: ["canvas"] }, { commands: [], caps: [] }, undefined],
    );
    assert.deepEqual(devices[0]?.tokens, [{ role: "node", scopes: [], value: "node-token", createdAt: 1 }]);
    assert.deepEqual([devices[0]?.displayName, devices[0]?.approvedAt], ["Box", 2]);
  });

  it("names logins, secrets and rows that stay, without their values", async (t) => {
    const global =
      row("plugin_state_entries", { plugin_id: "whatsapp" }) +
      row("plugin_blob_entries", { plugin_id: "whatsapp" }) +
      row("secret_store_entries", { name: "KEY", value: "hidden-1", deleted_at_ms: null }) +
      row("secret_store_entries", { name: "OLD", value: "hidden-2", deleted_at_ms: 5 }) +
      row("mcp_oauth_stores", { store_key: "notes", store_json: '{"access":"hidden-3"}' }) +
      "CREATE TABLE boards (title TEXT); INSERT INTO boards VALUES ('hidden-4'); CREATE TABLE empty (x TEXT);" +
      "CREATE VIRTUAL TABLE words_fts USING fts5(body); INSERT INTO words_fts VALUES ('hidden-5');";
    const { items } = await read(small(t, { global }));
    assert.deepEqual(items.map(told), [
      "login whatsapp drop",
      "secret KEY drop",
      "login notes drop",
      "table other tables drop",
    ]);
    assert.equal(items.at(-1)?.reason, "nothing here uses them: boards 1");
    assert.doesNotMatch(JSON.stringify(items), /hidden/);
  });

  it("takes wake words from their table", async (t) => {
    const global = `CREATE TABLE voicewake_triggers (trigger TEXT, position INTEGER);
      INSERT INTO voicewake_triggers VALUES ('b', 1), ('a', 0);`;
    const { of } = await read(small(t, { global }));
    assert.deepEqual(of("wake-words"), [{ id: "voicewake", triggers: ["a", "b"] }]);
  });

  it("names a table and a column that are not there, and reads the others", async (t) => {
    const agent = `${main + events("s1", [said("a", null)])} DROP TABLE session_windows;
      ALTER TABLE session_transcript_archives DROP COLUMN reason;`;
    const { transcripts, items } = await read(small(t, { agent, global: "DROP TABLE cron_jobs;" }));
    assert.deepEqual(transcripts.map(idsOf), [["a"]]);
    assert.deepEqual(
      items.map(({ kind, id, action }) => `${kind} ${id} ${action}`),
      [
        `table ${GLOBAL} cron_jobs refuse`,
        `table ${AGENT} session_windows refuse`,
        `table ${AGENT} session_transcript_archives.reason refuse`,
      ],
    );
  });

  it("reads versions without compressed events and without archives of old ones", async (t) => {
    const agent = `${main + events("s1", [said("a", null)])}
      ALTER TABLE transcript_events DROP COLUMN event_zstd; DROP TABLE session_transcript_cold_archives;`;
    const { transcripts, items } = await read(small(t, { agent }));
    assert.deepEqual([transcripts.map(idsOf), items], [[["a"]], []]);
  });
});

describe("openClawSource with databases", () => {
  const temporary = mkdtempSync(join(tmpdir(), "svc-latest-"));
  before(() => (process.env["TMPDIR"] = temporary));
  after(() => rmSync(temporary, { recursive: true }));
  const settings = { config: { gateway: {} } } as unknown as ConvertedSettings; // the reader looks at the channels only
  const options = {
    without: new Set<string>(),
    withoutConfig: true,
    copyWorkspace: false,
    people: false,
    anyway: false,
  };

  for (const [fixture, halfMoved] of [
    ["latest/state", false],
    ["half-moved/state", true],
  ] as const)
    it(`reads ${fixture}, changes nothing, shows no secret, and removes its copies`, async (t) => {
      const { state } = openClawHome(t, fixture);
      const facts = () =>
        pathsIn(state).map((path) => {
          const { mode, mtimeMs, size } = statSync(path);
          return [
            path,
            mode,
            mtimeMs,
            size,
            statSync(path).isFile() && createHash("sha256").update(readFileSync(path)).digest("hex"),
          ];
        });
      const before = [facts(), readdirSync(tmpdir()).filter((name) => name.startsWith("svc-import-"))];
      const source = await openClawSource({ ...options, from: state });
      const items: ImportItem[] = [];
      let records = 0;
      for await (const batch of source.records(settings, (item) => items.push(item))) records += batch.records.length;
      const original = await source.original();
      await source.close();
      await source.close();
      assert.deepEqual([source.format, source.halfMoved], ["database", halfMoved]);
      assert.ok(records > 10);
      assert.deepEqual(Object.keys(original), halfMoved ? ["HEARTBEAT-main.md", "HEARTBEAT-work.md"] : []);
      for (const text of Object.values(original)) assert.match(text, /^# HEARTBEAT\.md/);
      for (const secret of SECRETS) assert.ok(!JSON.stringify(items).includes(secret), secret);
      assert.deepEqual([facts(), readdirSync(tmpdir()).filter((name) => name.startsWith("svc-import-"))], before);
    });

  it("refuses a newer schema when it is read, not before", async (t) => {
    const { state } = openClawHome(t, "latest/state");
    const database = new DatabaseSync(join(state, GLOBAL));
    database.exec("PRAGMA user_version = 99");
    database.close();
    const source = await openClawSource({ ...options, from: state });
    const iterator = source.records(settings, () => undefined)[Symbol.asyncIterator]();
    await assert.rejects(iterator.next(), /has the schema 99/);
    await source.close();
  });
});
