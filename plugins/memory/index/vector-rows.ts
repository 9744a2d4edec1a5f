/** Tables of the index: vectors of chunks, and the cache of embeddings. */
import { cosine, fromBytes, toBytes } from "../embedding/vectors.ts";
import type { ChunkText } from "../files/chunks.ts";
import type { Statements } from "./statements.ts";

/** A chunk without a vector. */
export interface Pending extends ChunkText {
  readonly id: number;
  readonly hash: string;
}

/** The vector of a chunk; `null`: the endpoint refuses its text. */
export interface ChunkVector {
  readonly chunk: Pending;
  readonly vector: Float32Array | null;
}

/** Cosine similarity of a chunk and a query. */
export interface Near {
  readonly id: number;
  readonly similarity: number;
}

export function createVectorRows({ all, run, together }: Statements, hasExtension: boolean) {
  /** Choice: a linear scan over blobs instead of `vec0`: exact, the same with and without the extension, a quarter slower. */
  function compared(agent: number, query: Float32Array, useExtension: boolean, only?: readonly number[]): Near[] {
    // The plus makes SQLite use the chunk ids instead of the index on the agent.
    const where = only ? "+agent = ? AND chunk IN (SELECT value FROM json_each(?))" : "agent = ?";
    const values = only ? [JSON.stringify(only)] : [];
    if (useExtension && hasExtension)
      return all<Near>(
        `SELECT chunk AS id, 1 - vec_distance_cosine(vector, ?) AS similarity FROM vectors
         WHERE ${where} AND vector IS NOT NULL ORDER BY similarity DESC LIMIT 1000`,
        toBytes(query),
        agent,
        ...values,
      );
    return all<{ id: number; vector: Uint8Array }>(
      `SELECT chunk AS id, vector FROM vectors WHERE ${where} AND vector IS NOT NULL`,
      agent,
      ...values,
    )
      .map(({ id, vector }) => ({ id, similarity: cosine(fromBytes(vector), query) }))
      .toSorted((one, other) => other.similarity - one.similarity);
  }

  function drop(agent: number): void {
    run("DELETE FROM vectors WHERE agent = ?", agent);
  }

  return {
    /** Drops all vectors when the endpoint changed. */
    useEndpoint(agent: number, endpoint: string): void {
      const known = all<{ endpoint: string | null }>("SELECT endpoint FROM agents WHERE id = ?", agent)[0];
      if (known?.endpoint === endpoint) return;
      together(() => {
        drop(agent);
        run("UPDATE agents SET endpoint = ? WHERE id = ?", endpoint, agent);
      });
    },
    /** Makes refused texts pending again. */
    askAgain: (agent: number) => void run("DELETE FROM vectors WHERE agent = ? AND vector IS NULL", agent),
    /** Dimensions of an agent's vectors; `undefined`: no vectors. */
    dimensions(agent: number): number | undefined {
      const found = all<{ bytes: number }>(
        "SELECT length(vector) AS bytes FROM vectors WHERE agent = ? AND vector IS NOT NULL LIMIT 1",
        agent,
      )[0];
      return found && found.bytes / 4;
    },
    /** Drops all vectors of an endpoint, because the model behind its name changed. */
    forgetEndpoint(agent: number, endpoint: string): void {
      together(() => {
        drop(agent);
        run("DELETE FROM embeddings WHERE endpoint = ?", endpoint);
      });
    },
    counts(agent: number): { readonly vectors: number; readonly pending: number } {
      const { vectors, asked } = all<{ vectors: number; asked: number }>(
        "SELECT count(vector) AS vectors, count(*) AS asked FROM vectors WHERE agent = ?",
        agent,
      )[0] ?? { vectors: 0, asked: 0 };
      const chunks =
        all<{ count: number }>("SELECT count(*) AS count FROM chunks WHERE agent = ?", agent)[0]?.count ?? 0;
      return { vectors, pending: chunks - asked };
    },
    pending: (agent: number, limit: number) =>
      all<Pending>(
        `SELECT c.id, c.hash, c.heading, c.text FROM chunks c LEFT JOIN vectors v ON v.chunk = c.id
         WHERE c.agent = ? AND v.chunk IS NULL ORDER BY c.id LIMIT ?`,
        agent,
        limit,
      ),
    /** Reuses cached vectors. */
    adopt(agent: number, endpoint: string, now: number): void {
      together(() => {
        const wanted = `SELECT c.id, c.agent, c.hash FROM chunks c LEFT JOIN vectors v ON v.chunk = c.id
                        WHERE c.agent = ? AND v.chunk IS NULL`;
        run(
          `UPDATE embeddings SET used_at = ? WHERE endpoint = ? AND hash IN (SELECT hash FROM (${wanted}))`,
          now,
          endpoint,
          agent,
        );
        run(
          `INSERT INTO vectors (chunk, agent, vector) SELECT w.id, w.agent, e.vector FROM (${wanted}) w
           JOIN embeddings e ON e.hash = w.hash AND e.endpoint = ?`,
          agent,
          endpoint,
        );
      });
    },
    /** Skips chunks that no longer exist. @param keep also fill the cache */
    put(
      agent: number,
      embedded: readonly ChunkVector[],
      keep: { readonly endpoint: string; readonly now: number } | undefined,
    ): void {
      together(() => {
        for (const { chunk, vector } of embedded) {
          const bytes = vector && toBytes(vector);
          run(
            `INSERT OR REPLACE INTO vectors (chunk, agent, vector)
             SELECT id, agent, ? FROM chunks WHERE agent = ? AND hash = ?`,
            bytes,
            agent,
            chunk.hash,
          );
          if (keep && bytes)
            run(
              "INSERT OR REPLACE INTO embeddings (endpoint, hash, vector, used_at) VALUES (?, ?, ?, ?)",
              keep.endpoint,
              chunk.hash,
              bytes,
              keep.now,
            );
        }
      });
    },
    /** Keeps the most recently used cache entries. */
    trim(endpoint: string, most: number): void {
      run(
        `DELETE FROM embeddings WHERE rowid IN
         (SELECT rowid FROM embeddings WHERE endpoint = ? ORDER BY used_at DESC, rowid DESC LIMIT -1 OFFSET ?)`,
        endpoint,
        most,
      );
    },
    /** Drops cache entries of endpoints that no agent uses. */
    tidy: () =>
      void run("DELETE FROM embeddings WHERE endpoint NOT IN (SELECT endpoint FROM agents WHERE endpoint IS NOT NULL)"),
    /** Nearest first. */
    nearest: (agent: number, query: Float32Array, most: number, useExtension: boolean) =>
      compared(agent, query, useExtension).slice(0, most),
    similarities: (agent: number, ids: readonly number[], query: Float32Array, useExtension: boolean) =>
      new Map(compared(agent, query, useExtension, ids).map(({ id, similarity }) => [id, similarity])),
  };
}
export type VectorRows = ReturnType<typeof createVectorRows>;
