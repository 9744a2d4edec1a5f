/** Evidence of a block, written while it lasts: a line of the log, and a file that outlives a process that had to be killed. */
import { readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { isatty } from "node:tty";

/** One block of the event loop, as the file has it. */
export interface BlockRecord {
  /** When it was noticed. epoch ms */
  readonly at: number;
  readonly pid: number;
  /** `undefined`: code of no plugin. */
  readonly plugin: string | undefined;
  /** So far, or altogether when it is over. */
  readonly blockedMs: number;
  readonly over: boolean;
  /** Where the code stood, innermost call first. */
  readonly stack: readonly string[];
}

/** Blocks that are kept, newest last. */
const KEPT = 20;
/** pino's number. */
const ERROR = 50;
const STDERR = 2;

/** In the words of the log. */
export function describeBlock({ plugin, blockedMs }: BlockRecord): string {
  const who = plugin === undefined ? "code of no plugin" : `plugin ${plugin}`;
  return `${who} blocks the event loop: nothing else was served for ${(blockedMs / 1_000).toFixed(1)} s`;
}

/** As the log itself writes, which cannot now. Choice: on a terminal always a line for people, whatever `logging.consoleStyle` says. */
export function logBlock(record: BlockRecord, message = describeBlock(record)): void {
  try {
    writeSync(STDERR, `${blockLine(record, message, Date.now(), isatty(STDERR))}\n`);
  } catch {
    // nobody reads it
  }
}

/** Pure. @param now epoch ms */
export function blockLine(
  { plugin, blockedMs, stack }: BlockRecord,
  msg: string,
  now: number,
  isTerminal: boolean,
): string {
  if (!isTerminal) return JSON.stringify({ level: ERROR, time: now, plugin, blockedMs, stack, msg });
  const text = stack[0] === undefined ? msg : `${msg} (in ${stack[0]})`;
  return `${new Date(now).toISOString().slice(11, 19)} ERROR ${JSON.stringify(text).slice(1, -1)}`; // nothing steers the terminal
}

/** Puts `record` in the place of the one of the same time and process, or behind the others. @throws Error it cannot be written */
export function keepBlock(file: string, record: BlockRecord): void {
  const others = readBlocks(file).filter(({ at, pid }) => at !== record.at || pid !== record.pid);
  const blocks = [...others, record].slice(-KEPT);
  const next = `${file}.${process.pid}.tmp`;
  writeFileSync(next, `${JSON.stringify({ blocks }, null, 2)}\n`, { mode: 0o600 });
  renameSync(next, file);
}

function readBlocks(file: string): readonly BlockRecord[] {
  try {
    const { blocks } = JSON.parse(readFileSync(file, "utf8")) as { blocks?: unknown };
    return Array.isArray(blocks) ? (blocks as BlockRecord[]) : [];
  } catch {
    return []; // none yet, or not readable: what is new counts
  }
}
