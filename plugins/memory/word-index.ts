/**
 * The memory of one agent, searched by words. The index is in memory and follows the files: each search looks at them
 * first and reads those that changed.
 */
import { isGatewayError, Turns, untilAborted } from "@svc/sdk";
import { MAX_FILE_BYTES, readWithin } from "@svc/sdk/files";
import type MiniSearch from "minisearch";
import type { Stats } from "node:fs";
import { type Chunk, chunksOf } from "./chunks.ts";
import { findFiles, MAX_FILES, type SeenFile } from "./files.ts";
import type { LeftOut, MemoryAnswer, MemoryHit, MemoryIndex, MemoryQuery } from "./memory-index.ts";
import { snippetOf } from "./snippet.ts";
import { wordsOf } from "./words.ts";

/** Choice: bytes of all files of one agent that are searched; the index takes a few times as much. */
export const MAX_TOTAL_BYTES = 32 * 1024 * 1024;
/** Choice: different words of a query that count. */
const MAX_TERMS = 32;
/** Milliseconds of work after which everybody else has a turn. */
const SLICE_MS = 8;
/** Choice: milliseconds; a file that changed so lately may change again and look the same. */
const FRESH_MS = 100;
/** Choice: the sum of weights that counts as half of a perfect fit. */
const HALF_SCORE = 8;

export interface WordIndexOptions {
  /** Bytes of all files. Default `MAX_TOTAL_BYTES`. */
  readonly maxTotalBytes?: number;
  /** epoch ms, as the file system counts. Default `Date.now`. */
  readonly now?: () => number;
  /** Milliseconds, to know how long it has had the event loop. Default `performance.now`. */
  readonly elapsed?: () => number;
}

interface Piece extends Chunk {
  readonly id: number;
  readonly path: string;
  /** What of the path tells files apart. */
  readonly name: string;
}

/** A file as it is in the index. */
interface Known {
  /** Changes with the file. */
  readonly stamp: string;
  readonly pieces: readonly number[];
  /** Why nothing of it is in there. */
  readonly reason?: string;
}

export function createWordIndex(workspace: string, options: WordIndexOptions = {}): MemoryIndex {
  const { maxTotalBytes = MAX_TOTAL_BYTES, now = Date.now, elapsed = () => performance.now() } = options;
  const turns = new Turns();
  const known = new Map<string, Known>();
  const pieces = new Map<number, Piece>();
  let lastId = 0;
  let engine: MiniSearch<Piece> | undefined;

  async function refresh(signal: AbortSignal): Promise<readonly LeftOut[]> {
    const pace = breather(elapsed);
    const { files, isCut } = await findFiles(workspace, signal);
    const present = new Set(files.map(({ path }) => path));
    for (const path of known.keys()) if (!present.has(path)) forget(path);
    const leftOut: LeftOut[] = [];
    let bytes = 0;
    for (const file of files) {
      signal.throwIfAborted();
      bytes += file.stats.size;
      const reason = bytes > maxTotalBytes ? tooMuch(file) : await follow(file, pace);
      if (reason !== undefined) {
        bytes -= file.stats.size;
        leftOut.push({ path: file.path, reason });
      }
    }
    if (isCut) leftOut.push({ path: "memory/", reason: `only the first ${MAX_FILES} files are searched` });
    return leftOut;
  }

  function tooMuch({ path }: SeenFile): string {
    forget(path);
    return `the files are more than ${maxTotalBytes} bytes together; shorten or remove some`;
  }

  /** @returns why the file is not searched */
  async function follow({ path, stats }: SeenFile, pace: () => Promise<void>): Promise<string | undefined> {
    const before = known.get(path);
    if (before?.stamp === stampOf(stats)) return before.reason;
    forget(path);
    const read = await readText(workspace, path);
    if ("reason" in read) {
      known.set(path, { stamp: stampOf(stats), pieces: [], reason: read.reason });
      return read.reason;
    }
    const isSettled = now() - read.stats.mtimeMs > FRESH_MS;
    const ids: number[] = [];
    known.set(path, { stamp: isSettled ? stampOf(read.stats) : "", pieces: ids });
    const name = path.replace(/^memory\//, "").replace(/\.md$/i, "");
    for (const chunk of chunksOf(read.text)) {
      await pace();
      const piece = { ...chunk, id: (lastId += 1), path, name };
      (engine ??= await createEngine()).add(piece);
      pieces.set(piece.id, piece);
      ids.push(piece.id);
    }
    return undefined;
  }

  function forget(path: string): void {
    for (const id of known.get(path)?.pieces ?? []) {
      engine?.discard(id);
      pieces.delete(id);
    }
    known.delete(path);
  }

  function find({ text, maxResults, minScore }: MemoryQuery): MemoryHit[] {
    const terms = [...new Set(wordsOf(text))].slice(0, MAX_TERMS);
    const found = engine?.search(terms.join(" "), { tokenize: (joined) => joined.split(" ") }) ?? [];
    const hits: MemoryHit[] = [];
    for (const { id, score: weight, terms: matched } of found) {
      const score = Math.round((weight / (weight + HALF_SCORE)) * 1_000) / 1_000;
      if (hits.length >= maxResults || score < minScore) break;
      const piece = pieces.get(id as number); // the ids are ours
      if (!piece) continue;
      const { path, startLine, endLine } = piece;
      hits.push({ path, startLine, endLine, score, snippet: snippetOf(piece.text, matched) });
    }
    return hits;
  }

  async function answer(query: MemoryQuery, signal: AbortSignal): Promise<MemoryAnswer> {
    const leftOut = await refresh(signal);
    const files = [...known.values()].filter(({ reason }) => reason === undefined).length;
    return { hits: find(query), files, leftOut };
  }

  return {
    // One at a time: nobody searches while a file is half in the index.
    search: (query, signal) =>
      untilAborted(
        turns.take("", () => answer(query, signal)),
        signal,
      ),
  };
}

const stampOf = ({ dev, ino, size, mtimeMs, ctimeMs }: Stats) => [dev, ino, size, mtimeMs, ctimeMs].join(" ");

async function createEngine(): Promise<MiniSearch<Piece>> {
  const { default: Engine } = await import("minisearch");
  return new Engine<Piece>({
    fields: ["text", "heading", "name"],
    tokenize: wordsOf,
    processTerm: (term) => term, // `wordsOf` has folded it
    searchOptions: {
      boost: { heading: 2 },
      prefix: (term) => term.length >= 4,
      fuzzy: (term) => (term.length >= 6 ? 0.2 : false),
      maxFuzzy: 2,
      weights: { prefix: 0.5, fuzzy: 0.3 },
    },
  });
}

type ReadText = { readonly text: string; readonly stats: Stats } | { readonly reason: string };

async function readText(workspace: string, path: string): Promise<ReadText> {
  try {
    const file = await readWithin(workspace, path, MAX_FILE_BYTES);
    if (!file) return { reason: "it went away" };
    if (file.isCut) return { reason: `it has more than ${MAX_FILE_BYTES} bytes; split it` };
    if (file.bytes.includes(0)) return { reason: "it is no text" };
    return { text: file.bytes.toString("utf8"), stats: file.stats };
  } catch (error) {
    // Refusals are worded for readers; what the disk says is not.
    return { reason: isGatewayError(error) ? error.message : "it cannot be read" };
  }
}

/** Gives everybody else a turn when this work has had the event loop for some milliseconds. */
function breather(elapsed: () => number): () => Promise<void> {
  let since = elapsed();
  return async () => {
    if (elapsed() - since < SLICE_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    since = elapsed();
  };
}
