/** The indexes of all agents in one file: updates and searches them. Runs in the index thread. */
import { existsSync, statSync } from "node:fs";
import { AnySignal } from "@svc/kit/time";
import type { Endpoint } from "../embedding/endpoint.ts";
import type { AgentMemory } from "../index/agent-memory.ts";
import { Damaged, isDamage, openIndex, type OpenOptions } from "../index/database.ts";
import { createEmbedder, type Embedded, type EmbedderOptions, type WithEndpoint } from "../index/embedder.ts";
import { refresh, type Refreshed } from "../index/refresh.ts";
import { statementsOf } from "../index/statements.ts";
import { createTextRows, type TextRows } from "../index/text-rows.ts";
import { createVectorRows, type VectorRows } from "../index/vector-rows.ts";
import { type MemoryQuery, rank } from "../search/ranking.ts";
import type { Figures, MemoryAnswer, SyncReport } from "./protocol.ts";

export interface EngineOptions extends OpenOptions, Omit<EmbedderOptions, "now"> {
  /** epoch ms. Default `Date.now`. */
  readonly now?: () => number;
  /** Milliseconds a search waits for vectors of new chunks. Default 3000. */
  readonly patienceMs?: number;
  /** Limit on the bytes of one agent's files. */
  readonly maxTotalBytes?: number;
}

/** Operations on the indexes, in any thread. After `Damaged` was thrown, the engine cannot be used. */
export interface Engine {
  /** @throws the signal's reason; Damaged; Error naming the file and the next step */
  search(memory: AgentMemory, query: MemoryQuery, signal: AbortSignal): Promise<MemoryAnswer>;
  /** Updates an index and its vectors. @param force reads all files again, and retries texts that the endpoint refused */
  sync(memory: AgentMemory, force: boolean, signal: AbortSignal): Promise<SyncReport>;
  /** Read-only; `undefined`: no index yet. */
  figures(memory: AgentMemory): Promise<Figures | undefined>;
  /** Why the endpoint fails; `undefined`: it works. */
  probe(endpoint: Endpoint, signal: AbortSignal): Promise<string | undefined>;
  /** Drops the indexes of all agents except these. */
  keep(agentIds: readonly string[]): Promise<void>;
  /** Aborts running operations. Safe to call twice. */
  close(): Promise<void>;
}

/** The vector of a query, and why vectors of the query or of chunks are missing. */
interface QueryVector {
  readonly vector?: Float32Array;
  readonly reason?: string;
}

interface Index {
  readonly text: TextRows;
  readonly vectors: VectorRows;
  close(): void;
}

export function createEngine(options: EngineOptions): Engine {
  const { file, now = Date.now, patienceMs = 3_000 } = options;
  const embedder = createEmbedder({ ...options, now });
  const ending = new AbortController();
  /** By agent. Not `Turns`: `close` waits for all of them. */
  const refreshing = new Map<string, Promise<unknown>>();
  const filling = new Map<string, Promise<Embedded>>();
  let opened: Promise<Index> | undefined;

  async function open(): Promise<Index> {
    const { database, hasExtension } = await openIndex(options);
    const statements = statementsOf(database);
    const vectors = createVectorRows(statements, hasExtension);
    const close = () => {
      try {
        database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
        // full disk or a damaged file: the next start reads the write-ahead log
      }
      database.close();
    };
    return { text: createTextRows(statements), vectors, close };
  }

  async function current(): Promise<Index> {
    ending.signal.throwIfAborted();
    const opening = (opened ??= open());
    try {
      return await opening;
    } catch (thrown) {
      if (opened === opening) opened = undefined; // the next call tries again
      throw thrown;
    }
  }

  async function withIndex<T>(work: (index: Index) => Promise<T> | T): Promise<T> {
    try {
      return await work(await current());
    } catch (thrown) {
      throw isDamage(thrown) ? new Damaged(thrown instanceof Error ? thrown.message : "it is damaged") : thrown;
    }
  }

  /** Refreshes run one after the other for each agent. */
  async function refreshFiles(
    { text }: Index,
    agent: number,
    { memory, signal, isForced = false }: { memory: AgentMemory; signal: AbortSignal; isForced?: boolean },
  ): Promise<Refreshed> {
    const either = new AnySignal(signal, ending.signal);
    const work = () => refresh(text, agent, memory, { ...options, now, isForced, signal: either.signal });
    const turn = (refreshing.get(memory.agentId) ?? Promise.resolve()).then(work, work);
    refreshing.set(memory.agentId, turn);
    try {
      return await turn;
    } finally {
      either.release();
      if (refreshing.get(memory.agentId) === turn) refreshing.delete(memory.agentId);
    }
  }

  /** Concurrent callers share one fill per agent and endpoint; it continues when they abort. */
  function fill({ vectors }: Index, agent: number, memory: WithEndpoint): Promise<Embedded> {
    const key = JSON.stringify([memory.agentId, memory.endpoint.key]);
    const running = filling.get(key);
    if (running) return running;
    const work = embedder.fill(vectors, agent, memory, ending.signal).finally(() => filling.delete(key));
    work.catch(() => {}); // callers get the error from `work`
    filling.set(key, work);
    return work;
  }

  async function queryVectorOf(
    index: Index,
    agent: number,
    memory: WithEndpoint,
    query: MemoryQuery,
    signal: AbortSignal,
  ): Promise<QueryVector> {
    const { endpoint } = memory;
    const patience = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), patienceMs).unref());
    const filled = Promise.race([fill(index, agent, memory), patience]);
    const [vector, done] = await Promise.all([embedder.query(endpoint, query.text, signal), filled]);
    if ("reason" in vector) return { reason: vector.reason };
    const dimensions = index.vectors.dimensions(agent);
    if (dimensions !== undefined && dimensions !== vector.length) {
      index.vectors.forgetEndpoint(agent, endpoint.key);
      return { reason: "the embeddings server now returns vectors of another length; all texts are embedded again" };
    }
    const { pending } = index.vectors.counts(agent);
    if (pending === 0) return { vector };
    const why = done?.error === undefined ? "" : `: ${done.error}`;
    return { vector, reason: `${pending} places have no vector yet${why}` };
  }

  return {
    search: (memory, query, signal) =>
      withIndex(async (index) => {
        signal.throwIfAborted();
        const { text, vectors } = index;
        const agent = text.openAgent(memory.agentId, basisOf(memory));
        const isDue = query.refresh || text.lookedAt(agent) === undefined;
        const leftOut = isDue ? (await refreshFiles(index, agent, { memory, signal })).leftOut : text.leftOut(agent);
        const meaning: QueryVector = hasEndpoint(memory)
          ? await queryVectorOf(index, agent, memory, query, signal)
          : {};
        signal.throwIfAborted();
        const sources = { text, vectors, agent, useExtension: memory.useExtension, now: now() };
        const ranked = rank(sources, query, meaning.vector);
        return {
          ...ranked,
          files: text.countFiles(agent),
          leftOut,
          ...(meaning.reason === undefined ? {} : { meaning: meaning.reason }),
          ...(hasEndpoint(memory) ? { pending: vectors.counts(agent).pending } : {}),
        };
      }),
    sync: (memory, force, signal) =>
      withIndex(async (index) => {
        const { text, vectors } = index;
        const agent = text.openAgent(memory.agentId, basisOf(memory));
        if (force) vectors.askAgain(agent);
        const { changed, removed, leftOut, directories } = await refreshFiles(index, agent, {
          memory,
          signal,
          isForced: force,
        });
        const filled = hasEndpoint(memory) ? await fill(index, agent, memory) : undefined;
        return {
          files: text.countFiles(agent),
          chunks: text.corpus(agent).chunks,
          changed,
          removed,
          leftOut,
          directories,
          embedded: filled?.asked ?? 0,
          ...(filled ? { pending: vectors.counts(agent).pending } : {}),
          ...(filled?.error === undefined ? {} : { error: filled.error }),
        };
      }),
    figures: async (memory) => {
      if (opened === undefined && !existsSync(file)) return undefined;
      return withIndex(({ text, vectors }) => {
        const agent = text.findAgent(memory.agentId);
        if (agent === undefined) return undefined;
        const { pending, ...counted } = vectors.counts(agent);
        const lastIndexedAt = text.lookedAt(agent);
        return {
          files: text.countFiles(agent),
          chunks: text.corpus(agent).chunks,
          ...counted,
          ...(hasEndpoint(memory) ? { pending } : {}),
          indexBytes: statSync(file).size,
          ...(lastIndexedAt === undefined ? {} : { lastIndexedAt }),
        };
      });
    },
    async probe(endpoint, signal) {
      const either = new AnySignal(signal, ending.signal);
      try {
        return await embedder.probe(endpoint, either.signal);
      } finally {
        either.release();
      }
    },
    keep: (agentIds) =>
      withIndex(({ text, vectors }) => {
        text.keepAgents(agentIds);
        vectors.tidy();
      }),
    async close() {
      ending.abort(new Error("the index is closed"));
      await Promise.allSettled([...refreshing.values(), ...filling.values()]);
      const index = await opened?.catch(() => undefined);
      opened = undefined;
      index?.close();
    },
  };
}

const hasEndpoint = (memory: AgentMemory): memory is WithEndpoint => memory.endpoint !== undefined;

/** Settings that the chunks of an agent depend on. */
const basisOf = ({ workspace, chunking }: AgentMemory) =>
  JSON.stringify([workspace, chunking.tokens, chunking.overlap]);
