/** Finds sessions and archives for maintenance, and deletes retired transcripts. */
import type { Statement, Storage } from "@svc/sdk/storage";

/** A session that maintenance may delete. */
export interface Candidate {
  readonly key: string;
  /** epoch ms */
  readonly updatedAt: number;
}

/** A retired transcript. */
export interface Retired {
  readonly sessionId: string;
  readonly key: string;
  readonly reason: string;
  /** epoch ms */
  readonly archivedAt: number;
}

/** Which sessions: 1 for those that lists show, 0 for runs of scheduled jobs. */
export type Listed = 0 | 1;

/** Messages deleted per transaction, so that other writers do not wait long. */
const ROWS = 500;
/** Transcripts measured per read. */
const MEASURED = 100;

export const LONGEST_UNUSED = `select key, updated_at as "updatedAt" from sessions
  where listed = ? and updated_at < ? and (updated_at, key) > (?, ?) order by updated_at, key limit ?`;

export const OLDEST_RETIRED = `select session_id as "sessionId", key, reason, archived_at as "archivedAt" from archives
  where archived_at < ? order by archived_at, session_id limit ?`;

export class Retention {
  readonly #storage: () => Storage;

  constructor(storage: () => Storage) {
    this.#storage = storage;
  }

  /** Sessions last used before `before` (epoch ms), longest unused first, starting after `after`. */
  unused(listed: Listed, before: number, after: Candidate, limit: number): Promise<Candidate[]> {
    return this.#storage().all<Candidate>(LONGEST_UNUSED, [listed, before, after.updatedAt, after.key, limit]);
  }

  countListed(): Promise<number> {
    return this.#count("select count(*) as n from sessions where listed = 1", []);
  }

  /** Oldest first. */
  retired(before: number, limit: number): Promise<Retired[]> {
    return this.#storage().all<Retired>(OLDEST_RETIRED, [before, limit]);
  }

  countRetired(before: number): Promise<number> {
    return this.#count("select count(*) as n from archives where archived_at < ?", [before]);
  }

  /** Bytes of the messages of all transcripts. Reads in batches; on abort, returns the sum so far. */
  async bytes(signal: AbortSignal): Promise<number> {
    let total = 0;
    let after = "";
    while (!signal.aborted) {
      const rows = await this.#storage().all<{ session_id: string; bytes: number }>(
        `select session_id, sum(bytes) as bytes from message_facts where session_id > ?
          group by session_id order by session_id limit ?`,
        [after, MEASURED],
      );
      total += rows.reduce((sum, { bytes }) => sum + bytes, 0);
      const last = rows.at(-1);
      if (!last || rows.length < MEASURED) break;
      after = last.session_id;
    }
    return total;
  }

  async bytesOf(sessionId: string): Promise<number> {
    const sql = "select coalesce(sum(bytes), 0) as n from message_facts where session_id = ?";
    return this.#count(sql, [sessionId]);
  }

  /** Deletes a retired transcript. If a session shows it again, deletes only its record. @returns messages deleted */
  async purge(sessionId: string): Promise<number> {
    let deleted = 0;
    for (;;) {
      const [messages] = await this.#storage().transaction(
        ["transcript", "message_facts"].map((table) => some(table, sessionId)),
      );
      deleted += messages?.changes ?? 0;
      if ((messages?.changes ?? 0) < ROWS) break;
    }
    await this.#storage().transaction([
      // The rest: facts without messages, and compactions of deleted messages.
      ...["message_facts", "compactions"].map((table) => ({
        sql: `delete from ${table} where session_id = ? and not exists (select 1 from transcript t where t.session_id = ?)`,
        params: [sessionId, sessionId],
      })),
      { sql: "delete from archives where session_id = ?", params: [sessionId] },
    ]);
    return deleted;
  }

  async #count(sql: string, params: readonly (string | number)[]): Promise<number> {
    return (await this.#storage().get<{ n: number }>(sql, params))?.n ?? 0;
  }
}

/** Deletes the next messages of a transcript that no session shows. */
function some(table: string, sessionId: string): Statement {
  return {
    sql: `delete from ${table} where session_id = ? and seq in (
        select seq from ${table} where session_id = ? order by seq limit ${ROWS})
      and not exists (select 1 from sessions s where s.session_id = ?)`,
    params: [sessionId, sessionId, sessionId],
  };
}
