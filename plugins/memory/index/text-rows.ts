/** Tables of the index: agents, files, chunks and their words. */
import { type Chunk, type ChunkText, digestOf } from "../files/chunks.ts";
import type { LeftOut } from "../files/memory-files.ts";
import { dropWordTables, wordTables } from "./schema.ts";
import type { Statements } from "./statements.ts";
import { wordsOf } from "./tokeniser.ts";

/** A file in the index. */
export interface KnownFile {
  readonly id: number;
  readonly path: string;
  /** Changes with the file; empty: an unnoticed change is possible. */
  readonly stamp: string;
  /** Of the content; null: not read. */
  readonly hash: string | null;
  /** Why the file is not searched. */
  readonly reason: string | null;
}

/** The row of a file. */
export interface FileEntry extends Omit<KnownFile, "id"> {
  readonly size: number;
  /** epoch ms */
  readonly mtime: number;
}

/** A chunk, for a search. */
export interface ChunkRow extends ChunkText {
  readonly id: number;
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
}

/** A word of the index. */
export interface KnownWord {
  readonly word: string;
  /** Number of chunks that contain it. */
  readonly chunks: number;
}

/** The distinguishing part of a path. */
export const nameOf = (path: string) => path.replace(/^memory\//, "").replace(/\.md$/i, "");

export function createTextRows(statements: Statements) {
  const { all, run, exec, together } = statements;

  /** Deletes the words, too: FTS5 tables have no foreign keys. */
  function dropChunks(agent: number, file: number): void {
    run(`DELETE FROM words_${agent} WHERE rowid IN (SELECT id FROM chunks WHERE file = ?)`, file);
    run("DELETE FROM files WHERE id = ?", file);
  }

  function addChunk(agent: number, file: number, path: string, chunk: Chunk): void {
    const words = wordsOf(chunk.text);
    const id = run(
      `INSERT INTO chunks (agent, file, start_line, end_line, heading, text, words, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      agent,
      file,
      chunk.startLine,
      chunk.endLine,
      chunk.heading,
      chunk.text,
      words.length,
      digestOf(chunk),
    );
    const texts = [words, wordsOf(chunk.heading), wordsOf(nameOf(path))].map((list) => list.join(" "));
    run(`INSERT INTO words_${agent} (rowid, text, heading, name) VALUES (?, ?, ?, ?)`, id, ...texts);
  }

  function forget(agent: number): void {
    run("DELETE FROM files WHERE agent = ?", agent);
    exec(dropWordTables(agent));
  }

  return {
    /** Row id of the agent; `undefined`: no index. */
    findAgent: (name: string) => all<{ id: number }>("SELECT id FROM agents WHERE name = ?", name)[0]?.id,
    /** @param basis a changed basis empties the index */
    openAgent(name: string, basis: string): number {
      const known = all<{ id: number; basis: string }>("SELECT id, basis FROM agents WHERE name = ?", name)[0];
      if (known?.basis === basis) return known.id;
      return together(() => {
        if (known) {
          forget(known.id);
          run("UPDATE agents SET basis = ?, looked_at = NULL WHERE id = ?", basis, known.id);
        }
        const id = known?.id ?? run("INSERT INTO agents (name, basis) VALUES (?, ?)", name, basis);
        exec(wordTables(id));
        return id;
      });
    },
    /** Drops all other agents. */
    keepAgents(names: readonly string[]): void {
      const kept = new Set(names);
      const gone = all<{ id: number; name: string }>("SELECT id, name FROM agents").filter(
        ({ name }) => !kept.has(name),
      );
      for (const { id } of gone)
        together(() => {
          forget(id);
          run("DELETE FROM agents WHERE id = ?", id);
        });
    },
    files: (agent: number) =>
      new Map(
        all<KnownFile>("SELECT id, path, stamp, hash, reason FROM files WHERE agent = ?", agent).map((file) => [
          file.path,
          file,
        ]),
      ),
    leftOut: (agent: number) =>
      all<LeftOut>("SELECT path, reason FROM files WHERE agent = ? AND reason IS NOT NULL ORDER BY path", agent),
    /** Replaces a file and its chunks; keeps the vectors of unchanged texts. */
    putFile(agent: number, entry: FileEntry, chunks: readonly Chunk[], before: KnownFile | undefined): void {
      const { path, stamp, hash, size, mtime, reason } = entry;
      together(() => {
        const vectors = before
          ? all<{ hash: string; vector: Uint8Array | null }>(
              "SELECT DISTINCT c.hash, v.vector FROM chunks c JOIN vectors v ON v.chunk = c.id WHERE c.file = ?",
              before.id,
            )
          : [];
        if (before) dropChunks(agent, before.id);
        const file = run(
          "INSERT INTO files (agent, path, stamp, hash, size, mtime, reason) VALUES (?, ?, ?, ?, ?, ?, ?)",
          agent,
          path,
          stamp,
          hash,
          size,
          Math.round(mtime),
          reason,
        );
        for (const chunk of chunks) addChunk(agent, file, path, chunk);
        for (const known of vectors)
          run(
            "INSERT INTO vectors (chunk, agent, vector) SELECT id, agent, ? FROM chunks WHERE file = ? AND hash = ?",
            known.vector,
            file,
            known.hash,
          );
      });
    },
    removeFile: (agent: number, { id }: KnownFile) => together(() => dropChunks(agent, id)),
    /** Updates the stamp of an unchanged file. */
    touch: (file: number, stamp: string) => void run("UPDATE files SET stamp = ? WHERE id = ?", stamp, file),
    looked: (agent: number, at: number) => void run("UPDATE agents SET looked_at = ? WHERE id = ?", at, agent),
    /** epoch ms; `undefined`: never. */
    lookedAt: (agent: number) =>
      all<{ at: number | null }>("SELECT looked_at AS at FROM agents WHERE id = ?", agent)[0]?.at ?? undefined,
    corpus(agent: number) {
      const counted = all<{ chunks: number; mean: number | null }>(
        "SELECT count(*) AS chunks, avg(words) AS mean FROM chunks WHERE agent = ?",
        agent,
      )[0];
      return { chunks: counted?.chunks ?? 0, meanWords: counted?.mean ?? 0 };
    },
    countFiles: (agent: number) =>
      all<{ files: number }>("SELECT count(*) AS files FROM files WHERE agent = ? AND reason IS NULL", agent)[0]
        ?.files ?? 0,
    word: (agent: number, word: string) =>
      all<KnownWord>(`SELECT term AS word, doc AS chunks FROM vocabulary_${agent} WHERE term = ?`, word)[0],
    /** The most frequent words in the range from `from` to before `before`. */
    wordsBetween: (agent: number, from: string, before: string, limit: number) =>
      all<KnownWord>(
        `SELECT term AS word, doc AS chunks FROM vocabulary_${agent} WHERE term >= ? AND term < ? ORDER BY doc DESC LIMIT ?`,
        from,
        before,
        limit,
      ),
    /** Chunks that match an FTS5 query, best first by `bm25()`. */
    matching: (agent: number, match: string, limit: number) =>
      all<{ rowid: number }>(
        `SELECT rowid FROM words_${agent} WHERE words_${agent} MATCH ? ORDER BY bm25(words_${agent}, 1.0, 2.0, 1.0) LIMIT ?`,
        match,
        limit,
      ).map(({ rowid }) => rowid),
    chunks: (agent: number, ids: readonly number[]) =>
      all<ChunkRow>(
        `SELECT c.id, f.path, c.start_line AS startLine, c.end_line AS endLine, c.heading, c.text
         FROM chunks c JOIN files f ON f.id = c.file
         WHERE c.agent = ? AND c.id IN (SELECT value FROM json_each(?))`,
        agent,
        JSON.stringify(ids),
      ),
  };
}
export type TextRows = ReturnType<typeof createTextRows>;
