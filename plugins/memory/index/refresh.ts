/** Updates the files in one index; reads only changed files. */
import { MAX_FILE_BYTES, readWithin } from "@svc/kit/files";
import { isGatewayError } from "@svc/sdk/errors";
import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { chunksOf } from "../files/chunks.ts";
import { findFiles, type LeftOut, type SeenFile } from "../files/memory-files.ts";
import type { AgentMemory } from "./agent-memory.ts";
import type { KnownFile, TextRows } from "./text-rows.ts";

/** Choice: bytes of all searched files of one agent. */
export const MAX_TOTAL_BYTES = 32 * 1024 * 1024;
/** Choice: milliseconds; a file changed so recently may change again without a new stamp. */
const FRESH_MS = 100;

export interface RefreshOptions {
  readonly signal: AbortSignal;
  /** epoch ms, comparable with file times. */
  readonly now: () => number;
  /** Reads unchanged files, too; each stays in the index until it is read. Default false. */
  readonly isForced?: boolean;
  /** Bytes of all files. Default `MAX_TOTAL_BYTES`. */
  readonly maxTotalBytes?: number;
}

export interface Refreshed {
  readonly changed: number;
  readonly removed: number;
  readonly leftOut: readonly LeftOut[];
  /** Directories to watch, absolute. */
  readonly directories: readonly string[];
}

/** @throws the signal's reason; finished files stay updated */
export async function refresh(
  rows: TextRows,
  agent: number,
  memory: AgentMemory,
  { signal, now, isForced = false, maxTotalBytes = MAX_TOTAL_BYTES }: RefreshOptions,
): Promise<Refreshed> {
  const seen = await findFiles(memory, signal);
  const known = rows.files(agent);
  const present = new Set(seen.files.map(({ path }) => path));
  const gone = [...known.values()].filter(({ path }) => !present.has(path));
  for (const file of gone) rows.removeFile(agent, file);
  const leftOut: LeftOut[] = [];
  let [bytes, changed] = [0, 0];
  for (const file of seen.files) {
    signal.throwIfAborted();
    const { path, stats } = file;
    const before = known.get(path);
    if (bytes + stats.size > maxTotalBytes) {
      if (before) rows.removeFile(agent, before);
      const reason = `the files have more than ${maxTotalBytes} bytes in total; shorten or remove some`;
      leftOut.push({ path, reason });
      continue;
    }
    const followed = await follow({ rows, agent, memory, now, isForced }, file, before);
    if (followed.isChanged) changed += 1;
    if (followed.reason === null) bytes += stats.size;
    else leftOut.push({ path, reason: followed.reason });
  }
  rows.looked(agent, now());
  return { changed, removed: gone.length, leftOut: [...leftOut, ...seen.leftOut], directories: seen.directories };
}

interface Follower {
  readonly rows: TextRows;
  readonly agent: number;
  readonly memory: AgentMemory;
  readonly now: () => number;
  readonly isForced: boolean;
}

/** @returns why the file is not searched, and whether the index changed */
async function follow(
  { rows, agent, memory, now, isForced }: Follower,
  file: SeenFile,
  before: KnownFile | undefined,
): Promise<{ readonly reason: string | null; readonly isChanged: boolean }> {
  const { path, stats } = file;
  if (!isForced && before?.stamp === stampOf(stats)) return { reason: before.reason, isChanged: false };
  const read = await readText(file);
  if ("reason" in read) {
    const { size, mtimeMs: mtime } = stats;
    const entry = { path, stamp: stampOf(stats), hash: null, size, mtime, reason: read.reason };
    rows.putFile(agent, entry, [], before);
    return { reason: read.reason, isChanged: true };
  }
  const { size, mtimeMs: mtime } = read.stats;
  const stamp = now() - mtime > FRESH_MS ? stampOf(read.stats) : "";
  const hash = createHash("sha256").update(read.text).digest("base64url");
  if (!isForced && before?.hash === hash) {
    if (before.stamp !== stamp) rows.touch(before.id, stamp);
    return { reason: null, isChanged: false };
  }
  rows.putFile(agent, { path, stamp, hash, size, mtime, reason: null }, chunksOf(read.text, memory.chunking), before);
  return { reason: null, isChanged: true };
}

const stampOf = ({ dev, ino, size, mtimeMs, ctimeMs }: Stats) => [dev, ino, size, mtimeMs, ctimeMs].join(" ");

type ReadText = { readonly text: string; readonly stats: Stats } | { readonly reason: string };

async function readText({ root, name }: SeenFile): Promise<ReadText> {
  try {
    const file = await readWithin(root, name, MAX_FILE_BYTES);
    if (!file) return { reason: "it was removed meanwhile" };
    if (file.isCut) return { reason: `it has more than ${MAX_FILE_BYTES} bytes; split it` };
    if (file.bytes.includes(0)) return { reason: "it is not a text file" };
    return { text: file.bytes.toString("utf8"), stats: file.stats };
  } catch (error) {
    // Messages of a GatewayError are for people; those of disk errors are not.
    return { reason: isGatewayError(error) ? error.message : "it cannot be read" };
  }
}
