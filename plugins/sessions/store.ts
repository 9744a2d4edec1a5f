/**
 * The session store: entries, transcripts and archives on the `Storage` service. The only file that runs SQL.
 *
 * It knows canonical keys only and calls no hooks; `lifecycle.ts` and `service.ts` do that.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { type Clock, GatewayError, isGatewayError, notFound, unavailable } from "@svc/sdk";
import type { Message, SessionEntry, Statement, StatementResult, Storage, TranscriptItem } from "@svc/sdk/services";
import { mergeable, type SessionTableRow, type StoredSession, toSession } from "./entries.ts";
import { OWNER, STEPS } from "./schema.ts";
import * as statements from "./statements.ts";

export interface StoreOptions {
  /** Asked at each use: the service may only be used once this plugin starts. */
  readonly storage: () => Storage;
  readonly clock: Pick<Clock, "now">;
  /** Default: a random UUID. */
  readonly newSessionId?: () => string;
  /** Default: 8 random hex characters. */
  readonly newMessageId?: () => string;
}

/** What a write made of a session. */
export interface Written {
  readonly entry: SessionEntry;
  /** It was not there before. */
  readonly created: boolean;
}

/** A message without image data, its texts cut. */
export interface Excerpt {
  readonly role: string;
  readonly content: readonly {
    readonly type: string | null;
    readonly text: string | null;
    readonly name: string | null;
  }[];
}

/** Times a reset is tried again when the entry changes under its hands. */
const REPLACE_ATTEMPTS = 8;

export class SessionStore {
  readonly #storage: () => Storage;
  readonly #clock: Pick<Clock, "now">;
  readonly newSessionId: () => string;
  readonly #newMessageId: () => string;

  constructor({ storage, clock, newSessionId, newMessageId }: StoreOptions) {
    this.#storage = storage;
    this.#clock = clock;
    this.newSessionId = newSessionId ?? randomUUID;
    this.#newMessageId = newMessageId ?? (() => randomBytes(4).toString("hex"));
  }

  /** Where sessions live, for people. */
  get location(): string {
    return this.#storage().location;
  }

  /**
   * Makes the tables. With a main key of its own, sessions kept under the alias `agent:<id>:main` move to it.
   * Spec: methods-sessions.md §1 (old alias keys are migrated).
   */
  async open(mainKey: string): Promise<void> {
    await this.#storage().migrate(OWNER, STEPS);
    if (mainKey !== "main") await this.#storage().transaction([statements.adoptMainKey(mainKey)]);
  }

  async get(key: string): Promise<SessionEntry | undefined> {
    return (await this.#find(key))?.entry;
  }

  /**
   * The entry, made when missing, with `patch` merged in; without a patch an existing entry stays untouched.
   * `patch.sessionId` is the id of a session this makes, and must be the id of one that is there.
   * @throws GatewayError `CONFLICT` when the session has another id
   */
  async ensure(key: string, patch: Partial<SessionEntry> = {}): Promise<Written> {
    if (Object.keys(patch).length === 0) {
      const entry = await this.get(key);
      if (entry) return { entry, created: false };
    }
    const now = this.#clock.now();
    const [inserted, merged] = await this.#storage().transaction([
      statements.insertIfMissing(key, patch.sessionId ?? this.newSessionId(), now),
      statements.merge(key, mergeable(patch), now),
    ]);
    return { entry: firstEntry(merged) ?? refuseSessionId(key), created: rowsOf(inserted).length > 0 };
  }

  /**
   * Merges `patch` (`undefined` and `null` remove); `updatedAt` becomes now unless the patch says otherwise.
   * With `patch.sessionId` only while the session has that id.
   * @throws GatewayError `NOT_FOUND`, or `CONFLICT` when the session has another id
   */
  async update(key: string, patch: Partial<SessionEntry>): Promise<SessionEntry> {
    const merge = statements.merge(key, mergeable(patch), this.#clock.now());
    const [merged] = await this.#storage().transaction([merge]);
    const entry = firstEntry(merged);
    if (entry) return entry;
    return (await this.get(key)) ? refuseSessionId(key) : notFound(`no session "${key}"; see sessions.list`);
  }

  /** Appends, makes the session if needed, and runs `alongside`, in one transaction. @returns ids of the messages, in order */
  async append(
    key: string,
    messages: readonly Message[],
    alongside: readonly Statement[] = [],
  ): Promise<Written & { readonly ids: readonly string[] }> {
    const now = this.#clock.now();
    const items = messages.map((message) => ({ id: this.#newMessageId(), message }));
    const [inserted, touched] = await this.#storage().transaction([
      statements.insertIfMissing(key, this.newSessionId(), now),
      statements.touch(key, now),
      ...items.map(({ id, message }) => statements.appendMessage(key, id, message, now)),
      ...alongside,
    ]);
    const entry = firstEntry(touched) ?? notFound(`no session "${key}"`);
    return { ids: items.map(({ id }) => id), entry, created: rowsOf(inserted).length > 0 };
  }

  /** The last `limit` messages, oldest first. */
  async transcript(key: string, limit: number): Promise<readonly TranscriptItem[]> {
    const rows = await this.#storage().all<{ id: string; body: string }>(statements.TRANSCRIPT_TAIL, [
      key,
      atLeast0(limit),
    ]);
    // Only `append` writes this column.
    return rows.toReversed().map(({ id, body }) => ({ id, message: JSON.parse(body) as Message }));
  }

  /** As `transcript`, with texts of at most `maxChars` characters; `undefined` when there is no session. */
  async excerpts(key: string, limit: number, maxChars: number): Promise<readonly Excerpt[] | undefined> {
    const params = [maxChars, key, atLeast0(limit)];
    const rows = await this.#storage().all<{ role: string; content: string }>(statements.EXCERPT_TAIL, params);
    if (rows.length === 0 && !(await this.#find(key))) return undefined;
    // The statement builds this JSON.
    return rows.toReversed().map(({ role, content }) => ({ role, content: JSON.parse(content) as Excerpt["content"] }));
  }

  /** Messages in the session's transcript. */
  async messageCount(key: string): Promise<number> {
    const sql =
      "select count(*) as n from transcript where session_id = (select session_id from sessions where key = ?)";
    return (await this.#storage().get<{ n: number }>(sql, [key]))?.n ?? 0;
  }

  /** Newest first. Runs of scheduled jobs are never among them. A filter with U+0000 finds nothing: no column holds it. */
  async page(filter: statements.ListFilter, limit: number, after?: statements.Cursor): Promise<StoredSession[]> {
    if (Object.values(filter).some((value) => typeof value === "string" && value.includes("\0"))) return [];
    const { sql, params } = statements.page(filter, after, atLeast0(limit));
    return (await this.#storage().all<SessionTableRow>(sql, params)).map(toSession);
  }

  /** First text of the user by session id, at most `maxChars` characters. */
  firstUserTexts(sessionIds: readonly string[], maxChars: number): Promise<ReadonlyMap<string, string>> {
    return this.#texts(statements.FIRST_USER_TEXTS, sessionIds, maxChars);
  }

  /** Last text of user or assistant by session id, at most `maxChars` characters. */
  lastTexts(sessionIds: readonly string[], maxChars: number): Promise<ReadonlyMap<string, string>> {
    return this.#texts(statements.LAST_TEXTS, sessionIds, maxChars);
  }

  /** Listed sessions, all or of one agent. */
  async count(agentId?: string): Promise<number> {
    const [where, params] = agentId === undefined ? ["", []] : [" and agent_id = ?", [agentId]];
    const sql = `select count(*) as n from sessions where listed = 1${where}`;
    return (await this.#storage().get<{ n: number }>(sql, params))?.n ?? 0;
  }

  /**
   * Puts what `fresh` makes of the entry in its place and archives the transcript. `fresh` is called again
   * with the newer entry when that changes in between, so nothing merged meanwhile is lost.
   * @throws GatewayError `UNAVAILABLE` when it keeps changing
   */
  async restart(
    key: string,
    fresh: (old: SessionEntry | undefined) => SessionEntry,
  ): Promise<{ readonly old: SessionEntry | undefined; readonly entry: SessionEntry }> {
    for (let attempt = 0; attempt < REPLACE_ATTEMPTS; attempt++) {
      const old = await this.#find(key);
      const entry = fresh(old?.entry);
      const change = old
        ? [statements.archive(key, "reset", entry.updatedAt), statements.replace(old, { key, entry })]
        : [{ ...statements.insert({ key, entry }), expectChanges: 1 }];
      if (await this.#succeeds(change)) return { old: old?.entry, entry };
    }
    return unavailable(`session "${key}" is being changed all the time; try again`, { retryAfterMs: 1_000 });
  }

  /** Removes the entry. @param options.archive also retires the transcript; its messages stay stored either way */
  async remove(
    key: string,
    { archive }: { readonly archive: boolean },
  ): Promise<{ readonly old: SessionEntry; readonly archivedAt: number | undefined } | undefined> {
    const now = this.#clock.now();
    const results = await this.#storage().transaction([
      ...(archive ? [statements.archive(key, "deleted", now)] : []),
      statements.remove(key),
    ]);
    const old = firstEntry(results.at(-1));
    const archived = archive && rowsOf(results[0]).length > 0;
    return old && { old, archivedAt: archived ? now : undefined };
  }

  async #find(key: string): Promise<(StoredSession & { readonly json: string }) | undefined> {
    const row = await this.#storage().get<SessionTableRow>("select * from sessions where key = ?", [key]);
    return row && { ...toSession(row), json: row.entry };
  }

  async #texts(sql: string, sessionIds: readonly string[], maxChars: number): Promise<ReadonlyMap<string, string>> {
    const params = [maxChars, JSON.stringify(sessionIds)];
    const rows = await this.#storage().all<{ session_id: string; text: string | null }>(sql, params);
    return new Map(rows.flatMap(({ session_id, text }) => (text === null ? [] : [[session_id, text]])));
  }

  /** Whether the transaction went through; false when another one came first. */
  async #succeeds(change: readonly Statement[]): Promise<boolean> {
    try {
      await this.#storage().transaction(change);
      return true;
    } catch (thrown) {
      if (isGatewayError(thrown) && thrown.code === "CONFLICT") return false;
      throw thrown;
    }
  }
}

function rowsOf(result: StatementResult | undefined): readonly SessionTableRow[] {
  return (result?.rows ?? []) as readonly SessionTableRow[]; // every `returning` here names this table
}

function firstEntry(result: StatementResult | undefined): SessionEntry | undefined {
  const [row] = rowsOf(result);
  return row && toSession(row).entry;
}

function refuseSessionId(key: string): never {
  throw new GatewayError("CONFLICT", `session "${key}" was reset meanwhile: it has another session id; read it again`);
}

/** SQL takes a negative limit for none. */
function atLeast0(limit: number): number {
  return Math.max(0, Math.trunc(limit));
}
