/**
 * The session store: entries on the `Storage` service, and appending to their transcripts.
 *
 * It takes canonical keys only and calls no hooks; `lifecycle.ts` and `service.ts` do that. `transcripts.ts` reads transcripts.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { type Clock, GatewayError, invalidRequest, isGatewayError, notFound, unavailable } from "@svc/sdk";
import type { Message } from "@svc/sdk/models";
import type { SessionChange, SessionEntry } from "@svc/sdk/sessions";
import type { Statement, StatementResult, Storage } from "@svc/sdk/storage";
import type { DamageLog } from "./damage.ts";
import { mergeable, type SessionTableRow, type StoredSession, toSession } from "./entries.ts";
import { OWNER, STEPS } from "./schema.ts";
import * as statements from "./statements.ts";

export interface StoreOptions {
  /** Called at each use: the service is available only after the start. */
  readonly storage: () => Storage;
  readonly clock: Pick<Clock, "now">;
  readonly damage: DamageLog;
  /** Called after each change is stored. */
  readonly changed?: (change: SessionChange) => void;
  /** Default: a random UUID. */
  readonly newSessionId?: () => string;
  /** Default: 8 random hex characters. */
  readonly newMessageId?: () => string;
}

/** Result of a write. */
export interface Written {
  readonly entry: SessionEntry;
  /** The session is new. */
  readonly created: boolean;
}

/** Result of `change`. */
export interface Changed {
  readonly old: SessionEntry | undefined;
  readonly entry: SessionEntry;
  /** False: `decide` kept the entry. */
  readonly changed: boolean;
}

export interface ChangeOptions {
  /** Retire the transcript of the old entry. */
  readonly archive?: boolean;
  /** Also retry when the session was used in the meantime. */
  readonly unused?: boolean;
  /** A label that no other session may have. */
  readonly uniqueLabel?: string;
}

/** Options of `remove`. */
export interface RemoveOptions extends statements.RemoveIf {
  /** Record the transcript as `deleted`; otherwise as `kept`. */
  readonly archive: boolean;
}

/** Attempts of a change when the entry changes concurrently. */
const ATTEMPTS = 8;

export class SessionStore {
  readonly #storage: () => Storage;
  readonly #clock: Pick<Clock, "now">;
  readonly #damage: DamageLog;
  readonly #changed: (change: SessionChange) => void;
  readonly newSessionId: () => string;
  readonly #newMessageId: () => string;

  constructor({ storage, clock, damage, changed = () => undefined, newSessionId, newMessageId }: StoreOptions) {
    this.#storage = storage;
    this.#clock = clock;
    this.#damage = damage;
    this.#changed = changed;
    this.newSessionId = newSessionId ?? randomUUID;
    this.#newMessageId = newMessageId ?? (() => randomBytes(4).toString("hex"));
  }

  /** Where sessions are stored, for people. */
  get location(): string {
    return this.#storage().location;
  }

  /**
   * Creates the tables. With a configured main key, sessions under the alias `agent:<id>:main` move to that key.
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
   * Returns the entry with `patch` merged in, and creates a missing one. Without a patch an existing entry is not written.
   * `patch.sessionId` is the id of a new session, and a condition for an existing one.
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
    const written = { entry: this.#firstEntry(merged) ?? refuseSessionId(key), created: rowsOf(inserted).length > 0 };
    this.#changed({ key, reason: written.created ? "create" : "patch" });
    return written;
  }

  /**
   * Creates a session with an id that a client chose, unless the key has one.
   * @throws GatewayError `CONFLICT` when a retired transcript has the id
   */
  async begin(key: string, sessionId: string): Promise<Written> {
    const change = [
      statements.isNotRetired(sessionId),
      statements.insertIfMissing(key, sessionId, this.#clock.now()),
    ] as const;
    const [, inserted] = await this.#storage()
      .transaction(change)
      .catch((thrown: unknown) => (isConflict(thrown) ? refuseRetired(sessionId) : Promise.reject(thrown)));
    const created = rowsOf(inserted).length > 0;
    if (created) this.#changed({ key, reason: "create" });
    return { entry: (await this.get(key)) ?? notFound(`no session "${key}"`), created };
  }

  /**
   * Merges `patch` (`undefined` and `null` remove); `updatedAt` becomes now unless the patch sets it.
   * `patch.sessionId` is a condition.
   * @throws GatewayError `NOT_FOUND`, or `CONFLICT` when the session has another id
   */
  async update(key: string, patch: Partial<SessionEntry>): Promise<SessionEntry> {
    const merge = statements.merge(key, mergeable(patch), this.#clock.now());
    const [merged] = await this.#storage().transaction([merge]);
    const entry = this.#firstEntry(merged);
    if (entry) {
      this.#changed({ key, reason: "patch" });
      return entry;
    }
    return (await this.get(key)) ? refuseSessionId(key) : notFound(`no session "${key}"; see sessions.list`);
  }

  /** Appends, creates a missing session, and runs `alongside`, in one transaction. @returns ids of the messages, in order */
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
    const entry = this.#firstEntry(touched) ?? notFound(`no session "${key}"`);
    const ids = items.map(({ id }) => id);
    this.#changed({ key, reason: "send", messageIds: ids });
    return { ids, entry, created: rowsOf(inserted).length > 0 };
  }

  /** Removes messages from the transcript. @param unusedSince epoch ms; new time of last use; absent: unchanged */
  async withdraw(
    key: string,
    ids: readonly string[],
    unusedSince: number | undefined,
    alongside: readonly Statement[] = [],
  ): Promise<void> {
    const changes = ids.length === 0 ? [] : statements.withdraw(key, ids, unusedSince, this.#clock.now());
    await this.#storage().transaction([...changes, ...alongside]);
    if (changes.length > 0) this.#changed({ key, reason: "compact" });
  }

  /** Newest first, without runs of scheduled jobs. A filter with U+0000 matches nothing: no column can hold it. */
  async page(filter: statements.ListFilter, limit: number, after?: statements.Cursor): Promise<StoredSession[]> {
    if (Object.values(filter).some((value) => typeof value === "string" && value.includes("\0"))) return [];
    const { sql, params } = statements.page(filter, after, atLeast0(limit));
    return (await this.#storage().all<SessionTableRow>(sql, params)).map((row) => toSession(row, this.#damage));
  }

  /** Listed sessions, all or of one agent. */
  async count(agentId?: string): Promise<number> {
    const [where, params] = agentId === undefined ? ["", []] : [" and agent_id = ?", [agentId]];
    const sql = `select count(*) as n from sessions where listed = 1${where}`;
    return (await this.#storage().get<{ n: number }>(sql, params))?.n ?? 0;
  }

  /**
   * Replaces the entry with the result of `decide`, or keeps it when that is `undefined`. `decide` is
   * called again when the entry changes in the meantime, so no concurrent merge is lost.
   * @throws GatewayError `UNAVAILABLE` when it keeps changing, `INVALID_REQUEST` when another session has `uniqueLabel`
   */
  async change(
    key: string,
    decide: (old: SessionEntry | undefined) => SessionEntry | undefined,
    { archive = false, unused = false, uniqueLabel }: ChangeOptions = {},
  ): Promise<Changed> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const old = await this.#find(key);
      const entry = decide(old?.entry);
      if (!entry) {
        if (!old) throw new Error("decide() must create a missing session");
        return { old: old.entry, entry: old.entry, changed: false };
      }
      const change = old
        ? [
            ...(archive ? [statements.archive(key, "reset", entry.updatedAt)] : []),
            statements.replace(old, { key, entry }, unused),
          ]
        : [{ ...statements.insert({ key, entry }), expectChanges: 1 }];
      const guard = uniqueLabel === undefined ? [] : [statements.labelIsFree(uniqueLabel, key)];
      if (await this.#succeeds([...guard, ...change])) {
        this.#changed({ key, reason: !old ? "create" : archive ? "reset" : "patch" });
        return { old: old?.entry, entry, changed: true };
      }
      if (uniqueLabel !== undefined) await this.#refuseTaken(uniqueLabel, key);
    }
    return unavailable(`session "${key}" keeps changing; try again`, { retryAfterMs: 1_000 });
  }

  /** Replaces the entry and retires its transcript. */
  restart(key: string, fresh: (old: SessionEntry | undefined) => SessionEntry): Promise<Changed> {
    return this.change(key, fresh, { archive: true });
  }

  /** Removes the entry; its messages stay stored. @returns `undefined` when it did not exist, or was used in the meantime */
  async remove(
    key: string,
    { archive, ...conditions }: RemoveOptions,
  ): Promise<{ readonly old: SessionEntry; readonly archivedAt: number | undefined } | undefined> {
    const now = this.#clock.now();
    const change = [
      statements.archive(key, archive ? "deleted" : "kept", now),
      statements.remove(key, conditions),
    ] as const;
    const results = await this.#storage()
      .transaction(change)
      .catch((thrown: unknown) => (isConflict(thrown) ? [] : Promise.reject(thrown)));
    const old = this.#firstEntry(results.at(-1));
    const archived = archive && rowsOf(results[0]).length > 0;
    if (old) this.#changed({ key, reason: "delete" });
    return old && { old, archivedAt: archived ? now : undefined };
  }

  async #find(key: string): Promise<(StoredSession & { readonly json: string }) | undefined> {
    const row = await this.#storage().get<SessionTableRow>("select * from sessions where key = ?", [key]);
    return row && { ...toSession(row, this.#damage), json: row.entry };
  }

  #firstEntry(result: StatementResult | undefined): SessionEntry | undefined {
    const [row] = rowsOf(result);
    return row && toSession(row, this.#damage).entry;
  }

  async #refuseTaken(label: string, key: string): Promise<void> {
    const sql = "select key from sessions where label = ? and key <> ? limit 1";
    const owner = await this.#storage().get<{ key: string }>(sql, [label, key]);
    if (owner) invalidRequest(`the label "${label}" is already used by session "${owner.key}"; choose another one`);
  }

  /** Whether the transaction succeeded; false on a conflict. */
  async #succeeds(change: readonly Statement[]): Promise<boolean> {
    try {
      await this.#storage().transaction(change);
      return true;
    } catch (thrown) {
      if (isConflict(thrown)) return false;
      throw thrown;
    }
  }
}

function isConflict(thrown: unknown): boolean {
  return isGatewayError(thrown) && thrown.code === "CONFLICT";
}

function rowsOf(result: StatementResult | undefined): readonly SessionTableRow[] {
  return (result?.rows ?? []) as readonly SessionTableRow[]; // every `returning` here names this table
}

function refuseSessionId(key: string): never {
  throw new GatewayError("CONFLICT", `session "${key}" was reset meanwhile and has another session id; read it again`);
}

function refuseRetired(sessionId: string): never {
  throw new GatewayError(
    "CONFLICT",
    `the session id "${sessionId}" belongs to a conversation that was reset or deleted; use another id`,
  );
}

/** SQL reads a negative limit as no limit. */
function atLeast0(limit: number): number {
  return Math.max(0, Math.trunc(limit));
}
