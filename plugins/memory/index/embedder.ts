/** Gets vectors for chunks and queries. Chunks reuse cached vectors; the rest is sent to the endpoint in batches. */
import { type BackOff, afterFailure, waitingFor } from "../embedding/back-off.ts";
import { type Embed, EndpointFailure } from "../embedding/embeddings-api.ts";
import type { Endpoint } from "../embedding/endpoint.ts";
import { embeddingText } from "../files/chunks.ts";
import type { AgentMemory } from "./agent-memory.ts";
import type { Pending, ChunkVector, VectorRows } from "./vector-rows.ts";

/** Choice: texts and characters per request. */
const BATCH_TEXTS = 64;
const BATCH_CHARS = 100_000;
/** Choice: timeouts in milliseconds of a request with chunks, and of one with a query. */
const BATCH_TIMEOUT_MS = 60_000;
const QUERY_TIMEOUT_MS = 10_000;
const BATCH_TRIES = 3;
/** Sent when chunks are refused: an endpoint that also refuses this text refuses every text. */
export const PROBE_TEXT = "memory";

export interface EmbedderOptions {
  readonly embed: Embed;
  /** epoch ms */
  readonly now: () => number;
  /** Milliseconds; default 10 s and 60 s. */
  readonly queryTimeoutMs?: number;
  readonly batchTimeoutMs?: number;
}

/** Result of a fill. */
export interface Embedded {
  /** Number of chunks sent. */
  readonly asked: number;
  /** Why chunks are pending. */
  readonly error?: string;
}

/** A memory with an embeddings endpoint. */
export type WithEndpoint = AgentMemory & { readonly endpoint: Endpoint };

export interface Embedder {
  /** Gets the missing vectors of an agent's chunks. @throws the signal's reason */
  fill(rows: VectorRows, agent: number, memory: WithEndpoint, signal: AbortSignal): Promise<Embedded>;
  /** The vector of a query, or the reason why there is none. @throws the signal's reason */
  query(endpoint: Endpoint, text: string, signal: AbortSignal): Promise<Float32Array | { readonly reason: string }>;
  /** Sends a probe. Why the endpoint fails; `undefined`: it works. @throws the signal's reason */
  probe(endpoint: Endpoint, signal: AbortSignal): Promise<string | undefined>;
}

export function createEmbedder(parts: EmbedderOptions): Embedder {
  const { embed, now, queryTimeoutMs = QUERY_TIMEOUT_MS, batchTimeoutMs = BATCH_TIMEOUT_MS } = parts;
  const backOffs = new Map<string, BackOff>();

  /** @throws EndpointFailure, which starts the back-off; the signal's reason */
  async function asked(endpoint: Endpoint, texts: readonly string[], options: Parameters<Embed>[2]) {
    try {
      const vectors = await embed(endpoint, texts, options);
      backOffs.delete(endpoint.key);
      return vectors;
    } catch (thrown) {
      if (thrown instanceof EndpointFailure && !thrown.isAboutTexts) startBackOff(endpoint, thrown);
      throw thrown;
    }
  }

  function startBackOff({ key }: Endpoint, { message: reason, retryAfterMs }: EndpointFailure): void {
    backOffs.set(key, afterFailure(backOffs.get(key), { reason, now: now(), retryAfterMs }));
  }

  /** Splits a refused batch in halves, so that one text does not block the others. @throws as `asked` */
  async function vectorsOf(
    endpoint: Endpoint,
    chunks: readonly Pending[],
    signal: AbortSignal,
  ): Promise<ChunkVector[]> {
    const options = { signal, timeoutMs: batchTimeoutMs, tries: BATCH_TRIES };
    try {
      const vectors = await asked(endpoint, chunks.map(embeddingText), options);
      return chunks.map((chunk, at) => ({ chunk, vector: vectors[at] ?? null }));
    } catch (thrown) {
      if (!(thrown instanceof EndpointFailure && thrown.isAboutTexts)) throw thrown;
      await probed(endpoint, thrown, options);
      const half = Math.ceil(chunks.length / 2);
      if (half === chunks.length) return chunks.map((chunk) => ({ chunk, vector: null }));
      const first = await vectorsOf(endpoint, chunks.slice(0, half), signal);
      return [...first, ...(await vectorsOf(endpoint, chunks.slice(half), signal))];
    }
  }

  /** @throws EndpointFailure `refusal` when the server refuses any text */
  async function probed(endpoint: Endpoint, refusal: EndpointFailure, options: Parameters<Embed>[2]): Promise<void> {
    try {
      await asked(endpoint, [PROBE_TEXT], options);
    } catch (thrown) {
      if (!(thrown instanceof EndpointFailure && thrown.isAboutTexts)) throw thrown;
      startBackOff(endpoint, refusal);
      throw refusal;
    }
  }

  async function fillMissing(
    rows: VectorRows,
    agent: number,
    { endpoint, maxCached }: WithEndpoint,
    signal: AbortSignal,
  ) {
    for (;;) {
      signal.throwIfAborted();
      const batch = batchOf(rows.pending(agent, BATCH_TEXTS));
      if (batch.length === 0) return;
      const embedded = await vectorsOf(endpoint, batch, signal);
      const length = embedded.find(({ vector }) => vector)?.vector?.length;
      const known = rows.dimensions(agent);
      // The model behind this name changed: drop the old vectors and keep these.
      if (known !== undefined && length !== undefined && known !== length) rows.forgetEndpoint(agent, endpoint.key);
      rows.put(agent, embedded, maxCached > 0 ? { endpoint: endpoint.key, now: now() } : undefined);
    }
  }

  return {
    async fill(rows, agent, memory, signal) {
      const { endpoint, maxCached } = memory;
      rows.useEndpoint(agent, endpoint.key);
      if (rows.counts(agent).pending === 0) return { asked: 0 };
      if (maxCached > 0) rows.adopt(agent, endpoint.key, now());
      const before = rows.counts(agent).pending;
      const waiting = waitingFor(backOffs.get(endpoint.key), now());
      if (before === 0) return { asked: 0 };
      if (waiting !== undefined) return { asked: 0, error: waiting };
      try {
        await fillMissing(rows, agent, memory, signal);
        rows.trim(endpoint.key, maxCached);
        return { asked: before };
      } catch (thrown) {
        if (!(thrown instanceof EndpointFailure)) throw thrown;
        return { asked: Math.max(0, before - rows.counts(agent).pending), error: thrown.message };
      }
    },
    async query(endpoint, text, signal) {
      const waiting = waitingFor(backOffs.get(endpoint.key), now());
      if (waiting !== undefined) return { reason: waiting };
      try {
        const [vector] = await asked(endpoint, [text], { signal, timeoutMs: queryTimeoutMs });
        return vector ?? { reason: "the embeddings server returned no vector" };
      } catch (thrown) {
        if (thrown instanceof EndpointFailure) return { reason: thrown.message };
        throw thrown;
      }
    },
    async probe(endpoint, signal) {
      try {
        await asked(endpoint, [PROBE_TEXT], { signal, timeoutMs: queryTimeoutMs });
        return undefined;
      } catch (thrown) {
        if (thrown instanceof EndpointFailure) return thrown.message;
        throw thrown;
      }
    },
  };
}

/** As many chunks as fit into one request, at least one. */
function batchOf(pending: readonly Pending[]): readonly Pending[] {
  let chars = 0;
  const over = pending.findIndex((chunk) => (chars += embeddingText(chunk).length) > BATCH_CHARS);
  return over < 0 ? pending : pending.slice(0, Math.max(1, over));
}
