/**
 * Records which files may contain external content. Tools that write mark each file. Of a command only its time span is
 * recorded: any file that changed in that span may be its work. Tables `workspace_origins`, `workspace_spans`.
 */
import { randomUUID } from "node:crypto";
import { posix } from "node:path";
import { foldedPath, statWithin } from "@svc/kit/files";
import { type Clock, floorOf, matches, Origin, outsideOrigin } from "@svc/sdk";
import type { FileOrigins } from "@svc/sdk/files";
import type { Retention, Statement, Storage } from "@svc/sdk/storage";
import { placeOf, type PlaceSources } from "../place.ts";

const STEPS = [
  `CREATE TABLE workspace_origins (
    agent_id TEXT NOT NULL,
    path TEXT NOT NULL,
    origin TEXT NOT NULL,
    PRIMARY KEY (agent_id, path)
  )`,
  `CREATE TABLE workspace_spans (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    began_at BIGINT NOT NULL,
    ended_at BIGINT,
    origin TEXT NOT NULL
  )`,
  "CREATE INDEX workspace_spans_agent ON workspace_spans (agent_id, began_at)",
];

export const ORIGIN_RETENTION: Retention = {
  tables: ["workspace_origins", "workspace_spans"],
  holds: "which workspace files contain external content",
  rule: "files: until a run of the owner rewrites the file; times of commands: always, the oldest merged",
};

/** Words of a command that may be file names. Choice: the number of words that are checked. */
const WORDS = /[^\s'"`;|&<>()$=]+/g;
const MAX_WORDS = 200;
/** Choice: maximum difference between the clocks of a disk and of the gateway, in milliseconds. */
const TOLERANCE_MS = 2_000;
/** Choice: maximum time spans per agent; above it the two oldest are merged. */
const MAX_SPANS = 2_000;

export interface RecordSources extends PlaceSources {
  readonly storage: Pick<Storage, "migrate" | "all" | "transaction">;
  readonly clock: Pick<Clock, "now">;
}

/** Time span of a running command. */
export interface Span {
  /** Records the end of the command. */
  end(): Promise<void>;
}

export class OriginRecord implements FileOrigins {
  readonly #sources: RecordSources;

  constructor(sources: RecordSources) {
    this.#sources = sources;
  }

  async open(): Promise<void> {
    const { storage, clock } = this.#sources;
    await storage.migrate("workspace", STEPS);
    // Commands that ran when the gateway stopped have ended with it.
    await this.#write([
      { sql: "UPDATE workspace_spans SET ended_at = ? WHERE ended_at IS NULL", params: [clock.now()] },
    ]);
  }

  /** Must be called before a run that has read external content writes files. @param names below the workspace */
  async mark(agentId: string, names: readonly string[], origin: Origin): Promise<void> {
    await this.#write(
      names.map((name) => ({
        sql: `INSERT INTO workspace_origins (agent_id, path, origin) VALUES (?, ?, ?)
          ON CONFLICT (agent_id, path) DO UPDATE SET origin = excluded.origin`,
        params: [agentId, keyOf(name), JSON.stringify(origin)],
      })),
    );
  }

  /** Must be called before a run of the owner moves a file. */
  async moved(agentId: string, from: string, to: string): Promise<void> {
    const origin = await this.of(agentId, [from]);
    if (origin) await this.mark(agentId, [to], origin);
    else await this.clear(agentId, [to]);
  }

  /** Must be called after a run of the owner has written whole files. */
  async clear(agentId: string, names: readonly string[]): Promise<void> {
    await this.#write(
      names.map((name) => ({
        sql: "DELETE FROM workspace_origins WHERE agent_id = ? AND path = ?",
        params: [agentId, keyOf(name)],
      })),
    );
  }

  async of(agentId: string, names: readonly string[]): Promise<Origin | undefined> {
    return floorOf((await this.#each(agentId, names)).flatMap(({ own, spans }) => (own ? [own, ...spans] : spans)));
  }

  async keep(agentId: string, names: readonly string[]): Promise<void> {
    for (const { name, own, spans } of await this.#each(agentId, names)) {
      const origin = spans.length === 0 ? undefined : floorOf(own ? [own, ...spans] : spans);
      if (origin) await this.mark(agentId, [name], origin);
    }
  }

  /** For each file its mark, and the origins of the commands in whose time it changed. */
  async #each(agentId: string, names: readonly string[]) {
    if (names.length === 0) return [];
    const [marked, spans, place] = await Promise.all([
      this.#marked(agentId),
      this.#spans(agentId),
      placeOf(agentId, this.#sources, false),
    ]);
    const found: { readonly name: string; readonly own?: Origin; readonly spans: readonly Origin[] }[] = [];
    for (const name of names) {
      const own = marked.get(keyOf(name));
      const stats = place && spans.length > 0 ? await statWithin(place.root, name).catch(() => undefined) : undefined;
      const covering = stats ? spans.filter((span) => covers(span, stats.ctimeMs)).map(({ origin }) => origin) : [];
      found.push({ name, ...(own && { own }), spans: covering });
    }
    return found;
  }

  /**
   * Origin of the files that a command names: words that are files, and marked files whose base name occurs in the command.
   * @param directory working directory, relative to the workspace; `""`: the workspace
   */
  async named(agentId: string, command: string, directory: string): Promise<Origin | undefined> {
    const text = foldedPath(command);
    const marked = await this.#marked(agentId);
    const parts = [...marked].map(([path, origin]) => (text.includes(lastPart(path)) ? origin : undefined));
    const words = (command.match(WORDS) ?? []).slice(0, MAX_WORDS).map((word) => posix.join(directory, word));
    const names = words.filter((word) => !posix.isAbsolute(word) && word !== ".." && !word.startsWith("../"));
    return floorOf([...parts, await this.of(agentId, [...new Set(names)])]);
  }

  /** Starts the time span of a command that reads or fetches external content. */
  async begin(agentId: string, origin: Origin): Promise<Span> {
    const { clock } = this.#sources;
    await this.#fold(agentId);
    const id = randomUUID();
    const sql = "INSERT INTO workspace_spans (id, agent_id, began_at, origin) VALUES (?, ?, ?, ?)";
    await this.#write([{ sql, params: [id, agentId, clock.now(), JSON.stringify(origin)] }]);
    return {
      end: () =>
        this.#write([{ sql: "UPDATE workspace_spans SET ended_at = ? WHERE id = ?", params: [clock.now(), id] }]),
    };
  }

  async #fold(agentId: string): Promise<void> {
    const spans = await this.#spans(agentId);
    const [first, second] = spans;
    if (spans.length < MAX_SPANS || !first || !second || second.endedAt === null) return;
    const origin = floorOf([first.origin, second.origin]) ?? first.origin;
    await this.#write([
      {
        sql: "UPDATE workspace_spans SET began_at = ?, origin = ? WHERE id = ?",
        params: [first.beganAt, JSON.stringify(origin), second.id],
      },
      { sql: "DELETE FROM workspace_spans WHERE id = ?", params: [first.id] },
    ]);
  }

  async #marked(agentId: string): Promise<ReadonlyMap<string, Origin>> {
    const sql = "SELECT path, origin FROM workspace_origins WHERE agent_id = ?";
    const rows = await this.#sources.storage.all<{ path: string; origin: string }>(sql, [agentId]);
    return new Map(rows.map(({ path, origin }) => [path, parsed(origin)]));
  }

  /** Oldest first. */
  async #spans(agentId: string): Promise<readonly StoredSpan[]> {
    const sql = `SELECT id, began_at, ended_at, origin FROM workspace_spans WHERE agent_id = ? ORDER BY began_at, id`;
    const rows = await this.#sources.storage.all<SpanRow>(sql, [agentId]);
    return rows.map(({ id, began_at, ended_at, origin }) => ({
      id,
      beganAt: Number(began_at),
      endedAt: ended_at === null ? null : Number(ended_at),
      origin: parsed(origin),
    }));
  }

  async #write(statements: readonly Statement[]): Promise<void> {
    if (statements.length > 0) await this.#sources.storage.transaction(statements);
  }
}

interface SpanRow {
  readonly id: string;
  readonly began_at: number | bigint;
  readonly ended_at: number | bigint | null;
  readonly origin: string;
}

interface StoredSpan {
  readonly id: string;
  readonly beganAt: number;
  /** `null`: still running, or the gateway stopped first. */
  readonly endedAt: number | null;
  readonly origin: Origin;
}

function covers({ beganAt, endedAt }: StoredSpan, at: number): boolean {
  return at >= beganAt - TOLERANCE_MS && (endedAt === null || at <= endedAt + TOLERANCE_MS);
}

function keyOf(name: string): string {
  return foldedPath(name.replace(/^(\.\/+)+/, ""));
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** An unreadable row counts as external content. */
function parsed(json: string): Origin {
  const value: unknown = JSON.parse(json);
  return matches(Origin, value) ? value : outsideOrigin("file");
}
