/** Which version of each shared file is the newest, in tables that all gateways on the state share. */
import { withTables } from "@svc/kit/channels";
import type { Clock } from "@svc/sdk";
import type { Row, Statement, Storage } from "@svc/sdk/storage";

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];
/** Choice: deleted files are remembered as long, so that a gateway that was away deletes them, too. */
const DELETED_MS = 90 * DAY_MS;

/**
 * Append only. `version` of a workspace counts its changes; that of an entry is the change that made it. `object`: NULL for a deleted file.
 * `files_garbage`: objects that no entry names, and when they may be removed.
 */
const STEPS = [
  `CREATE TABLE files_workspaces (
    agent_id TEXT PRIMARY KEY,
    version BIGINT NOT NULL,
    floor BIGINT NOT NULL
  )`,
  `CREATE TABLE files_entries (
    agent_id TEXT NOT NULL,
    path TEXT NOT NULL,
    version BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    size BIGINT NOT NULL,
    executable BIGINT NOT NULL,
    object TEXT,
    deleted_at BIGINT,
    PRIMARY KEY (agent_id, path)
  )`,
  "CREATE INDEX files_entries_version ON files_entries (agent_id, version)",
  "CREATE INDEX files_entries_deleted ON files_entries (deleted_at) WHERE deleted_at IS NOT NULL",
  `CREATE TABLE files_garbage (
    object TEXT PRIMARY KEY,
    due_at BIGINT NOT NULL
  )`,
  "CREATE INDEX files_garbage_due ON files_garbage (due_at)",
];

/** What a file is. */
export interface FileFacts {
  readonly sha256: string;
  readonly size: number;
  readonly isExecutable: boolean;
}

/** `object`: absent for a deleted file; the facts are then those of its last content. */
export interface Entry extends FileFacts {
  readonly path: string;
  readonly version: number;
  readonly object?: string;
}

/** A change of a workspace. `was`: version that it replaces; 0: the file is new. `now`: absent to delete it. */
export interface Change {
  readonly path: string;
  readonly was: number;
  readonly now?: FileFacts & { readonly object: string };
}

export interface Changes {
  /** Newest version of the workspace. */
  readonly version: number;
  readonly entries: readonly Entry[];
  /** These are all entries: the versions since then are no longer known. */
  readonly isWhole: boolean;
}

export type Manifest = ReturnType<typeof createManifest>;

/** @param storage used on the first call, which creates the tables. Each function throws GatewayError `UNAVAILABLE` */
export function createManifest(storage: Storage, clock: Pick<Clock, "now">) {
  const open = withTables(storage, "files", STEPS);
  const discard = (where: string, params: Statement["params"] = []): Statement => ({
    sql: `INSERT INTO files_garbage (object, due_at) SELECT object, CAST(? AS BIGINT) FROM files_entries
      WHERE object IS NOT NULL AND ${where} ON CONFLICT (object) DO NOTHING`,
    params: [clock.now() + HOUR_MS, ...params], // another gateway may be reading it
  });
  const counted = (agentId: string): Statement => ({
    sql: `INSERT INTO files_workspaces (agent_id, version, floor) VALUES (?, 1, 0)
      ON CONFLICT (agent_id) DO UPDATE SET version = files_workspaces.version + 1`,
    params: [agentId],
  });
  const VERSION = "(SELECT version FROM files_workspaces WHERE agent_id = ?)";

  function statements(agentId: string, { path, was, now }: Change): Statement[] {
    const key = [agentId, path];
    const old = discard("agent_id = ? AND path = ?", key);
    if (!now)
      return [
        old,
        {
          sql: `UPDATE files_entries SET version = ${VERSION}, object = NULL, deleted_at = ?
            WHERE agent_id = ? AND path = ? AND version = ?`,
          params: [agentId, clock.now(), ...key, was],
          expectChanges: 1,
        },
      ];
    const { sha256, size, isExecutable, object } = now;
    return [
      old,
      {
        sql: `INSERT INTO files_entries (agent_id, path, version, sha256, size, executable, object)
          VALUES (?, ?, ${VERSION}, ?, ?, ?, ?)
          ON CONFLICT (agent_id, path) DO UPDATE SET version = excluded.version, sha256 = excluded.sha256,
            size = excluded.size, executable = excluded.executable, object = excluded.object, deleted_at = NULL
          WHERE files_entries.version = ? OR files_entries.object IS NULL`,
        params: [...key, agentId, sha256, size, isExecutable ? 1 : 0, object, was],
        expectChanges: 1,
      },
      { sql: "DELETE FROM files_garbage WHERE object = ?", params: [object], expectChanges: 1 },
    ];
  }

  return {
    /** Entries that changed after a version of the workspace. */
    async changes(agentId: string, since: number): Promise<Changes> {
      const tables = await open();
      const sql = "SELECT version, floor FROM files_workspaces WHERE agent_id = ?";
      const { version = 0, floor = 0 } = (await tables.get<{ version: number; floor: number }>(sql, [agentId])) ?? {};
      const isWhole = since < floor || since > version;
      const rows = await tables.all<Row>(
        "SELECT * FROM files_entries WHERE agent_id = ? AND version > ? ORDER BY version, path",
        [agentId, isWhole ? 0 : since],
      );
      const entries = rows.map(toEntry);
      return { version: Math.max(version, entries.at(-1)?.version ?? 0), entries, isWhole };
    },

    /** To be called before an object is written: it is removed later, unless a change names it. */
    async reserve(object: string): Promise<void> {
      const sql = "INSERT INTO files_garbage (object, due_at) VALUES (?, ?)";
      await (await open()).transaction([{ sql, params: [object, clock.now() + HOUR_MS] }]);
    },

    /** All changes or none. @returns their version. @throws GatewayError `CONFLICT`: another gateway was first */
    async commit(agentId: string, changes: readonly Change[]): Promise<number> {
      const last = { sql: `UPDATE files_workspaces SET version = version WHERE agent_id = ? RETURNING version` };
      const results = await (
        await open()
      ).transaction([
        counted(agentId),
        ...changes.flatMap((change) => statements(agentId, change)),
        { ...last, params: [agentId] },
      ]);
      return Number(results.at(-1)?.rows[0]?.["version"]);
    },

    /** Deletes all entries of a workspace. */
    async forget(agentId: string): Promise<void> {
      await (
        await open()
      ).transaction([
        counted(agentId),
        discard("agent_id = ?", [agentId]),
        {
          sql: `UPDATE files_entries SET version = ${VERSION}, object = NULL, deleted_at = ?
            WHERE agent_id = ? AND object IS NOT NULL`,
          params: [agentId, clock.now(), agentId],
        },
      ]);
    },

    /** Objects that may be removed now. */
    async garbage(most: number): Promise<readonly string[]> {
      const sql = "SELECT object FROM files_garbage WHERE due_at < ? ORDER BY due_at LIMIT ?";
      return (await (await open()).all<{ object: string }>(sql, [clock.now(), most])).map(({ object }) => object);
    },

    async removed(objects: readonly string[]): Promise<void> {
      const sql = "DELETE FROM files_garbage WHERE object = ?";
      await (await open()).transaction(objects.map((object) => ({ sql, params: [object] })));
    },

    /** Forgets files that were deleted long ago. @returns how many */
    async forgetDeleted(dryRun: boolean): Promise<number> {
      const tables = await open();
      const before = clock.now() - DELETED_MS;
      if (dryRun) {
        const sql = "SELECT count(*) AS n FROM files_entries WHERE deleted_at < ?";
        return (await tables.get<{ n: number }>(sql, [before]))?.n ?? 0;
      }
      const [, results] = await tables.transaction([
        {
          sql: `UPDATE files_workspaces SET floor = coalesce((SELECT max(version) FROM files_entries
            WHERE files_entries.agent_id = files_workspaces.agent_id AND deleted_at < ?), floor)`,
          params: [before],
        },
        { sql: "DELETE FROM files_entries WHERE deleted_at < ?", params: [before] },
      ]);
      return results?.changes ?? 0;
    },
  };
}

function toEntry(row: Row): Entry {
  return {
    path: String(row["path"]),
    version: Number(row["version"]),
    sha256: String(row["sha256"]),
    size: Number(row["size"]),
    isExecutable: Number(row["executable"]) === 1,
    ...(row["object"] === null ? {} : { object: String(row["object"]) }),
  };
}
