/** Reports of a block, written while it lasts: a log line, and a file that remains if the process has to be killed. */
import { readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { isatty } from "node:tty";

/** One block of the event loop, as stored in the file. */
export interface BlockRecord {
  /** Time of detection. epoch ms */
  readonly at: number;
  readonly pid: number;
  /** Plugin id; `undefined`: code of no plugin, or unknown. */
  readonly plugin: string | undefined;
  /** Duration so far, or in total if `over`. */
  readonly blockedMs: number;
  readonly over: boolean;
  /** Call stack, innermost call first. */
  readonly stack: readonly string[];
}

/** Maximum number of stored blocks. */
const KEPT = 20;
/** Level `error` of pino. */
const ERROR = 50;
const STDERR = 2;

/** Message of the log line. */
export function describeBlock({ plugin, blockedMs }: BlockRecord): string {
  const who = plugin === undefined ? "code of no plugin" : `plugin ${plugin}`;
  return `${who} blocks the event loop: nothing else was served for ${(blockedMs / 1_000).toFixed(1)} s`;
}

/** Writes a log line directly, as the log itself is blocked. Choice: always text on a terminal, whatever `logging.consoleStyle` says. */
export function logBlock(record: BlockRecord, message = describeBlock(record)): void {
  try {
    writeSync(STDERR, `${blockLine(record, message, Date.now(), isatty(STDERR))}\n`);
  } catch {
    // standard error is closed
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
  return `${new Date(now).toISOString().slice(11, 19)} ERROR ${JSON.stringify(text).slice(1, -1)}`; // escapes terminal control characters
}

/** Stores `record`, replacing the one with the same time and process. @throws Error the file cannot be written */
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
    return []; // missing or unreadable: start over
  }
}
