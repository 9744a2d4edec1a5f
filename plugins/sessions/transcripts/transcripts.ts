/** Reads transcripts, records compactions and cuts. Unreadable messages are skipped and reported. */
import { type Clock, isGatewayError, matches, notFound, Origin, outsideOrigin } from "@svc/sdk";
import type { Message } from "@svc/sdk/models";
import type { SessionChange, Sessions, TranscriptItem, TranscriptPage } from "@svc/sdk/sessions";
import type { Sql, Storage } from "@svc/sdk/storage";
import type { DamageLog } from "../store/damage.ts";
import * as statements from "./statements.ts";

export interface TranscriptOptions {
  /** Called at each use: the service is available only after the start. */
  readonly storage: () => Storage;
  readonly clock: Pick<Clock, "now">;
  readonly damage: DamageLog;
  /** Called after each change is stored. */
  readonly changed?: (change: SessionChange) => void;
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

/** An excerpt with time, tokens and cost. */
export interface LoggedMessage extends Excerpt {
  /** Origin of the message; `undefined`: the owner. */
  readonly origin?: Origin | undefined;
  /** epoch ms */
  readonly at: number;
  readonly tokens: number | undefined;
  /** US dollars */
  readonly cost: number | undefined;
}

/** Result of a cut. */
export interface CutOff {
  /** New session id of the messages that were cut off; absent when nothing was cut off. */
  readonly partId?: string;
  /** epoch ms */
  readonly at: number;
  readonly kept: number;
}

interface BodyRow {
  readonly session_id: string;
  readonly seq: number;
  readonly id: string;
  readonly body: string;
}

interface PageRow extends BodyRow {
  readonly kept: number;
  readonly last_seq: number;
}

type PageOptions = Parameters<Sessions["page"]>[1];

interface ExcerptRow {
  readonly session_id: string;
  readonly seq: number;
  readonly role: string;
  readonly content: string | null;
}

export class Transcripts {
  readonly #storage: () => Storage;
  readonly #clock: Pick<Clock, "now">;
  readonly #damage: DamageLog;
  readonly #changed: (change: SessionChange) => void;

  constructor({ storage, clock, damage, changed = () => undefined }: TranscriptOptions) {
    this.#storage = storage;
    this.#clock = clock;
    this.#damage = damage;
    this.#changed = changed;
  }

  /** The last `limit` messages, oldest first. */
  async last(key: string, limit: number): Promise<readonly TranscriptItem[]> {
    const rows = await this.#storage().all<BodyRow>(statements.TRANSCRIPT_TAIL, [key, atLeast0(limit)]);
    return this.#items(rows);
  }

  /** As `Sessions.page`. One more row is read, to know whether there are older ones. */
  async page(key: string, { limit, before, around, ...wanted }: PageOptions): Promise<TranscriptPage> {
    const size = atLeast0(limit);
    const offset =
      around === undefined ? atLeast0(wanted.offset ?? 0) : await this.#offsetAround(key, around, Math.floor(size / 2));
    const [rows, border] = await Promise.all([
      this.#storage().all<PageRow>(statements.PAGE, [key, before ?? null, size + 1, before === undefined ? offset : 0]),
      before === undefined ? undefined : this.#row(key, before),
    ]);
    if (before !== undefined && !border) refuseMessage(key, before);
    const shown = rows.slice(0, size);
    const kept = new Set(shown.filter((row) => row.kept === 1).map(({ id }) => id));
    const oldestId = shown.at(-1)?.id;
    const lastSeq = rows[0]?.last_seq;
    const items = this.#items(shown);
    return {
      items,
      ...(oldestId === undefined ? {} : { oldestId }),
      hasMore: rows.length > size,
      firstKept: items.filter(({ id }) => kept.has(id)).map(({ id }) => id),
      ...(before === undefined ? { offset } : {}),
      ...(lastSeq === undefined ? {} : { lastSeq }),
    };
  }

  /** Offset of a page with the message, and at most `newer` messages after it. */
  async #offsetAround(key: string, id: string, newer: number): Promise<number> {
    const row = (await this.#row(key, id)) ?? refuseMessage(key, id);
    const found = await this.#storage().get<{ n: number }>(statements.NEWER, [key, row.seq]);
    return Math.max(0, (found?.n ?? 0) - newer);
  }

  /** One message; `undefined`: it is not in the transcript, or unreadable. */
  async message(key: string, id: string): Promise<Message | undefined> {
    const row = await this.#row(key, id);
    return row && this.#items([row])[0]?.message;
  }

  /**
   * Moves a message and all later ones to a retired transcript.
   * @throws GatewayError `NOT_FOUND` for a message that is not in the transcript; `CONFLICT` when the session is reset meanwhile
   */
  async rewind(key: string, id: string): Promise<void> {
    const first = await this.#row(key, id);
    if (!first) return refuseMessage(key, id);
    const now = this.#clock.now();
    const { session_id: sessionId, seq: firstSeq } = first;
    const removal = { key, sessionId, partId: partIdOf(sessionId, now), firstSeq };
    await this.#storage().transaction(statements.rewind(removal, now));
    this.#changed({ key, reason: "compact" });
  }

  #row(key: string, id: string): Promise<BodyRow | undefined> {
    return this.#storage().get<BodyRow>(statements.MESSAGE, [key, id]);
  }

  /** The summary of the last compaction and the messages since, in one read. */
  async context(key: string, limit: number): ReturnType<Sessions["context"]> {
    const rows = await this.#storage().all<BodyRow>(statements.CONTEXT, [key, atLeast0(limit)]);
    const compaction = rows.find(({ seq }) => seq === -1);
    const trustedAt = Number(rows.find(({ seq }) => seq === -2)?.body ?? 0);
    return {
      summary: compaction?.body,
      ...(compaction?.id ? { origin: originFrom(compaction.id) } : {}),
      items: this.#items(rows.filter(({ seq }) => seq >= 0)).map((item) => trusted(item, trustedAt)),
    };
  }

  /** @throws GatewayError `NOT_FOUND` for a message that is not in the session's transcript */
  async addCompaction(key: string, compaction: Parameters<Sessions["addCompaction"]>[1]): Promise<void> {
    try {
      await this.#storage().transaction(statements.addCompaction(key, compaction, this.#clock.now()));
    } catch (thrown) {
      if (!isGatewayError(thrown) || thrown.code !== "CONFLICT") throw thrown;
      refuseMessage(key, compaction.firstKeptId);
    }
    this.#changed({ key, reason: "compact" });
  }

  /**
   * As `last`, with texts of at most `maxChars` characters; `undefined` when there is no session.
   * `damaged` counts those among the last `limit` that cannot be read.
   */
  async excerpts(
    key: string,
    limit: number,
    maxChars: number,
  ): Promise<{ readonly excerpts: readonly Excerpt[]; readonly damaged: number } | undefined> {
    const params = [maxChars, maxChars, key, atLeast0(limit)];
    const rows = await this.#storage().all<ExcerptRow>(statements.EXCERPT_TAIL, params);
    if (rows.length === 0 && !(await this.#exists(key))) return undefined;
    const excerpts = this.#excerpts(rows);
    return { excerpts, damaged: rows.length - excerpts.length };
  }

  /** The last messages of one transcript, oldest first. */
  async logs(sessionId: string, limit: number, maxChars: number): Promise<readonly LoggedMessage[]> {
    type LogRow = ExcerptRow & {
      origin: string | null;
      at: number;
      has_usage: number | null;
      total_tokens: number | null;
      cost: number | null;
    };
    const params = [maxChars, maxChars, sessionId, atLeast0(limit)];
    const rows = await this.#storage().all<LogRow>(statements.LOG_TAIL, params);
    return this.#excerpts(rows).map(({ origin, at, has_usage, total_tokens, cost, role, content }) => ({
      role,
      content,
      origin: origin === null ? undefined : originFrom(origin),
      at,
      tokens: has_usage ? total_tokens || undefined : undefined, // the provider did not count
      cost: cost ?? undefined,
    }));
  }

  /** Messages in the session's transcript. */
  async count(key: string): Promise<number> {
    const sql =
      "select count(*) as n from transcript where session_id = (select session_id from sessions where key = ?)";
    return (await this.#storage().get<{ n: number }>(sql, [key]))?.n ?? 0;
  }

  /** First text of the user by session id, at most `maxChars` characters. */
  firstUserTexts(sessionIds: readonly string[], maxChars: number): Promise<ReadonlyMap<string, string>> {
    return this.#texts(statements.FIRST_USER_TEXTS, sessionIds, maxChars);
  }

  /** Last text of user or assistant by session id, at most `maxChars` characters. */
  lastTexts(sessionIds: readonly string[], maxChars: number): Promise<ReadonlyMap<string, string>> {
    return this.#texts(statements.LAST_TEXTS, sessionIds, maxChars);
  }

  /**
   * Keeps the last `keep` messages, and those appended in the meantime; earlier ones move to a retired transcript.
   * @returns `undefined` without a transcript. @throws GatewayError `CONFLICT` when the session is reset meanwhile
   */
  async cut(key: string, keep: number): Promise<CutOff | undefined> {
    const at = this.#clock.now();
    const total = await this.count(key);
    if (total === 0) return undefined;
    const border = await this.#storage().get<{ session_id: string; seq: number }>(
      `select session_id, seq from transcript where session_id = (select session_id from sessions where key = ?)
        order by seq desc limit 1 offset ?`,
      [key, keep],
    );
    if (!border) return { at, kept: total };
    const { session_id: sessionId, seq: lastSeq } = border;
    const partId = partIdOf(sessionId, at);
    const [moved] = await this.#storage().transaction(statements.cut({ key, sessionId, partId, lastSeq }, at));
    this.#changed({ key, reason: "compact" });
    return { partId, at, kept: total - (moved?.changes ?? 0) };
  }

  async #exists(key: string): Promise<boolean> {
    return (await this.#storage().get("select 1 as found from sessions where key = ?", [key])) !== undefined;
  }

  /** @param rows newest first */
  #items(rows: readonly BodyRow[]): TranscriptItem[] {
    return rows.toReversed().flatMap(({ session_id, seq, id, body }) => {
      const message = messageOf(body);
      if (!message) this.#damage.message(session_id, seq);
      return message ? [{ id, seq, message }] : [];
    });
  }

  /** @param rows newest first */
  #excerpts<R extends ExcerptRow>(rows: readonly R[]): (Omit<R, "content"> & Excerpt)[] {
    return rows.toReversed().flatMap((row) => {
      const content = row.content;
      if (content === null) {
        this.#damage.message(row.session_id, row.seq);
        return [];
      }
      return [{ ...row, content: JSON.parse(content) as Excerpt["content"] }]; // the statement builds this JSON
    });
  }

  async #texts(sql: Sql, sessionIds: readonly string[], maxChars: number): Promise<ReadonlyMap<string, string>> {
    const params = [maxChars, JSON.stringify(sessionIds)];
    const rows = await this.#storage().all<{ session_id: string; text: string | null }>(sql, params);
    return new Map(rows.flatMap(({ session_id, text }) => (text === null ? [] : [[session_id, text]])));
  }
}

/** Session id of a part that is removed from a transcript. */
function partIdOf(sessionId: string, at: number): string {
  return `${sessionId}.bak.${new Date(at).toISOString().replaceAll(":", "-")}`;
}

function refuseMessage(key: string, id: string): never {
  notFound(`session "${key}" has no message "${id}"; read its transcript again`);
}

/** `undefined` for a text that is not a message: readers must not see a torn row. */
function messageOf(body: string): Message | undefined {
  try {
    const value = JSON.parse(body) as Partial<Message> | null;
    const isMessage = typeof value?.role === "string" && Array.isArray(value.content);
    return isMessage ? (value as Message) : undefined; // only `append` writes messages here
  } catch {
    return undefined;
  }
}

/** The item, without its origin once the owner has trusted it. @param trustedAt epoch ms; earlier messages are trusted */
function trusted(item: TranscriptItem, trustedAt: number): TranscriptItem {
  const { origin, ...message } = item.message;
  return origin === undefined || message.timestamp > trustedAt ? item : { ...item, message };
}

/** Choice: a summary whose origin cannot be read counts as external content. */
function originFrom(json: string): Origin {
  try {
    const value: unknown = JSON.parse(json);
    if (matches(Origin, value)) return value;
  } catch {
    // a torn row
  }
  return outsideOrigin("gateway", "a damaged summary");
}

/** SQL reads a negative limit as no limit. */
function atLeast0(limit: number): number {
  return Math.max(0, Math.trunc(limit));
}
