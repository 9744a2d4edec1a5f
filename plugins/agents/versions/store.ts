/** Versions of identity files, numbered from 1 for each file of each agent. Table `agent_file_versions`. */
import { invalidRequest, isGatewayError, notFound } from "@svc/sdk";
import type { IdentityFile } from "@svc/sdk/agents";
import type { Retention, Row, Storage } from "@svc/sdk/storage";
import { superfluous } from "./limits.ts";

/** `sha256`, `size` and `content` are NULL: there was no file. Only `content` is NULL: the file was too large to keep. */
const STEPS = [
  `CREATE TABLE agent_file_versions (
    agent_id TEXT NOT NULL,
    file TEXT NOT NULL,
    version BIGINT NOT NULL,
    at BIGINT NOT NULL,
    how TEXT NOT NULL,
    principal TEXT,
    provenance TEXT,
    session_key TEXT,
    run_id TEXT,
    size BIGINT,
    sha256 TEXT,
    content BYTEA,
    PRIMARY KEY (agent_id, file, version)
  )`,
];

export const VERSION_RETENTION: Retention = {
  tables: ["agent_file_versions"],
  holds: "versions of the agents' identity files",
  rule: "newest 50 per file, up to 8 MiB per file; deleted with the agent",
};

/** Attempts to insert a version: gateways that share the storage may record the same change at once. */
const ATTEMPTS = 3;

/** The content of a file. */
export interface FileContent {
  /** Hash of the bytes read: the whole file, or the first 1 MiB of a larger one. */
  readonly sha256: string;
  /** Bytes of the whole file. */
  readonly size: number;
  /** Absent: the file is too large to keep. */
  readonly bytes?: Uint8Array;
}

/** The author of a version, and the kind of write. */
export interface VersionAuthor {
  readonly how: string;
  readonly principal?: { readonly id: string; readonly provenance: string };
  readonly sessionKey?: string;
  readonly runId?: string;
}

/** A version without its text. */
export interface FileVersion extends VersionAuthor {
  readonly name: string;
  readonly version: number;
  /** epoch ms */
  readonly at: number;
  /** Absent: there was no file. */
  readonly size?: number;
  readonly sha256?: string;
  /** Whether its text is stored; also true if there was no file. */
  readonly isKept: boolean;
}

const FACTS = `file, version, at, how, principal, provenance, session_key, run_id, size, sha256,
  CASE WHEN sha256 IS NULL OR content IS NOT NULL THEN 1 ELSE 0 END AS is_kept`;

export class VersionStore {
  readonly #services: { readonly storage: Storage };

  /** @param services read at each use, so that the store can be constructed before storage has started */
  constructor(services: { readonly storage: Storage }) {
    this.#services = services;
  }

  open(): Promise<void> {
    return this.#services.storage.migrate("agent-files", STEPS);
  }

  /**
   * Adds a version unless the newest one is the same; a file that never existed gets no version.
   * @returns number of the newest version; 0: there is none
   */
  async add(
    agentId: string,
    file: IdentityFile,
    content: FileContent | undefined,
    author: VersionAuthor,
    at: number,
  ): Promise<number> {
    for (let attempt = 1; ; attempt += 1) {
      const versions = await this.#all(agentId, file);
      const newest = versions.at(-1);
      const isSame = newest?.sha256 === content?.sha256 && newest?.size === content?.size;
      if (isSame) return newest?.version ?? 0;
      const version = (newest?.version ?? 0) + 1;
      const bytes = content?.bytes?.length ?? 0;
      const gone = superfluous([...versions, { version, bytes, runId: author.runId }]);
      try {
        await this.#services.storage.transaction([
          {
            sql: `INSERT INTO agent_file_versions
                  (agent_id, file, version, at, how, principal, provenance, session_key, run_id, size, sha256, content)
                  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
            params: [
              agentId,
              file,
              version,
              at,
              author.how,
              author.principal?.id ?? null,
              author.principal?.provenance ?? null,
              author.sessionKey ?? null,
              author.runId ?? null,
              content?.size ?? null,
              content?.sha256 ?? null,
              content?.bytes ?? null,
            ],
          },
          ...gone.map((old) => ({
            sql: "DELETE FROM agent_file_versions WHERE agent_id = ? AND file = ? AND version = ?",
            params: [agentId, file, old],
          })),
        ]);
        return version;
      } catch (error) {
        const isTaken = isGatewayError(error) && error.code === "CONFLICT";
        if (!isTaken || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** Numbers of its versions, ascending. */
  async numbers(agentId: string, file: IdentityFile): Promise<readonly number[]> {
    return (await this.#all(agentId, file)).map(({ version }) => version);
  }

  /** Oldest first. */
  async #all(agentId: string, file: IdentityFile) {
    const rows = await this.#services.storage.all(
      `SELECT version, size, sha256, run_id, COALESCE(LENGTH(content), 0) AS bytes
       FROM agent_file_versions WHERE agent_id = ? AND file = ? ORDER BY version`,
      [agentId, file],
    );
    return rows.map((row) => ({
      version: Number(row["version"]),
      bytes: Number(row["bytes"]),
      size: row["size"] === null ? undefined : Number(row["size"]),
      sha256: row["sha256"] === null ? undefined : String(row["sha256"]),
      runId: row["run_id"] === null ? undefined : String(row["run_id"]),
    }));
  }

  /** Newest first. @param file default: every file */
  async list(agentId: string, file: IdentityFile | undefined, limit: number): Promise<readonly FileVersion[]> {
    const [condition, params] = file === undefined ? ["", []] : [" AND file = ?", [file]];
    const order = file === undefined ? "at DESC, version DESC" : "version DESC"; // not by time: a clock may go back
    const rows = await this.#services.storage.all(
      `SELECT ${FACTS} FROM agent_file_versions WHERE agent_id = ?${condition} ORDER BY ${order} LIMIT ?`,
      [agentId, ...params, limit],
    );
    return rows.map(versionOf);
  }

  /**
   * Content of a version; `undefined`: there was no file.
   * @throws GatewayError `NOT_FOUND`; `INVALID_REQUEST` for a text that was too large to keep
   */
  async content(agentId: string, file: IdentityFile, version: number): Promise<Uint8Array | undefined> {
    const row = await this.#services.storage.get(
      "SELECT size, content FROM agent_file_versions WHERE agent_id = ? AND file = ? AND version = ?",
      [agentId, file, version],
    );
    if (!row) notFound(`no version ${version} of ${file}; agents.files.log lists the stored versions`);
    if (row["content"] instanceof Uint8Array) return row["content"];
    if (row["size"] === null) return undefined;
    return invalidRequest(
      `version ${version} of ${file} has ${String(row["size"])} bytes and was too large to keep; choose another version`,
    );
  }

  /** Deletes the versions of an agent, so that a later agent with the same id does not inherit them. */
  async forget(agentId: string): Promise<void> {
    await this.#services.storage.transaction([
      { sql: "DELETE FROM agent_file_versions WHERE agent_id = ?", params: [agentId] },
    ]);
  }
}

function versionOf(row: Row): FileVersion {
  const text = (column: string) => (row[column] === null ? undefined : String(row[column]));
  const [principal, sessionKey, runId, sha256] = ["principal", "session_key", "run_id", "sha256"].map(text);
  return {
    name: String(row["file"]),
    version: Number(row["version"]),
    at: Number(row["at"]),
    how: String(row["how"]),
    ...(principal === undefined ? {} : { principal: { id: principal, provenance: String(row["provenance"]) } }),
    ...(sessionKey === undefined ? {} : { sessionKey }),
    ...(runId === undefined ? {} : { runId }),
    ...(sha256 === undefined ? {} : { sha256, size: Number(row["size"]) }),
    isKept: row["is_kept"] === 1,
  };
}
