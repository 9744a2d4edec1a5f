/** The lines of the log that the view holds: followed live, and read back. At most `MAX_LINES`; the oldest leave first. */
import type { ParamsOf, ResultOf } from "@svc/sdk";
import { LOG_LEVELS, type LogLevel, logs } from "@svc/sdk/logs";
import type { ViewContext } from "../../core/app.ts";

/** A line, or a place where lines are missing. */
export interface Entry {
  readonly id: number;
  /** `undefined`: lines are missing here. */
  readonly line: string | undefined;
}

export interface LogFilter {
  readonly level: string;
  readonly plugin: string;
  readonly text: string;
}

export const MAX_LINES = 100_000;
const FIRST = 1_000;
const CHUNK = { limit: 5_000, maxBytes: 1_000_000 } as const;
/** Reads of one tick, so that a log that grows faster than it is read does not occupy the page. */
const READS = 40;
/** Windows of an older part of the log that one request looks through for lines that pass the filter. */
const WINDOWS = 30;

export interface Log {
  /** Oldest first; a new list after each change. */
  readonly entries: readonly Entry[];
  /** The first lines are not there yet. */
  readonly isLoading: boolean;
  readonly error: unknown;
  readonly hasOlder: boolean;
  readonly isReadingBack: boolean;
  /** Path on the machine of the gateway. */
  readonly file: string | undefined;
  /** Reads what was written since. */
  follow(): Promise<void>;
  readBack(): Promise<void>;
  /** Starts again at the end of the log. */
  restart(): Promise<void>;
}

type Answer = ResultOf<typeof logs.tail>;

/** Where newer lines begin. */
interface Place {
  readonly part: string;
  readonly cursor: number;
}

export interface LogOptions {
  readonly filter: () => LogFilter;
  /** Whether `follow` adds nothing; lines that are written meanwhile follow later. */
  readonly isPaused: () => boolean;
  /** Whether the oldest lines may leave a full list: not while people read further up. */
  readonly mayDrop: () => boolean;
  /** Called after each change. */
  readonly changed: () => void;
}

export function createLog(context: ViewContext, { filter, isPaused, mayDrop, changed }: LogOptions): Log {
  let nextId = 0;
  /** Ids of older lines are negative, so that they stay unique and in order. */
  let firstId = 0;
  /** Answers of earlier starts are dropped. */
  let start = 0;
  let entries: readonly Entry[] = [];
  let end: Place | undefined;
  let begin: ReturnType<typeof beginOf>;
  let error: unknown;
  let file: string | undefined;
  let isLoading = true;
  let isReadingBack = false;
  let following: Promise<void> | undefined;

  const params = (): Partial<ParamsOf<typeof logs.tail>> => {
    const { level, plugin, text } = filter();
    return {
      // The choices of the view are the levels of the contract.
      ...(level === "" ? {} : { level: level as LogLevel }),
      ...(plugin === "" ? {} : { subsystem: plugin }),
      ...(text.trim() === "" ? {} : { text: text.trim() }),
    };
  };

  const append = (lines: readonly (string | undefined)[]) => {
    if (lines.length === 0) return;
    const all = [...entries, ...lines.map((line): Entry => ({ id: nextId++, line }))];
    if (all.length > MAX_LINES) begin = undefined; // what left is no longer before the first line
    entries = all.length > MAX_LINES ? all.slice(-MAX_LINES) : all;
  };

  /** @param isQuiet shows what there is until the answer comes */
  async function restart(isQuiet = false): Promise<void> {
    const mine = ++start;
    isLoading = !isQuiet;
    changed();
    try {
      const answer: Answer = await context.call(logs.tail, { ...params(), limit: FIRST, maxBytes: CHUNK.maxBytes });
      if (mine !== start) return;
      entries = [];
      ({ file } = answer);
      end = answer.part === undefined ? undefined : { part: answer.part, cursor: answer.cursor };
      begin = beginOf(answer);
      append(answer.lines);
      error = undefined;
    } catch (failure) {
      if (mine !== start) return;
      error = failure;
    }
    isLoading = false;
    changed();
    if (entries.length === 0 && error === undefined) await readBack(); // the filter may match older lines
  }

  async function readOn(): Promise<void> {
    const mine = start;
    if (isLoading || isPaused()) return;
    if (!end) return restart(true); // there was no file yet
    try {
      for (let reads = 0; reads < READS; reads++) {
        const room = mayDrop() ? CHUNK.limit : Math.min(MAX_LINES - entries.length, CHUNK.limit);
        if (room <= 0) return;
        const { cursor, part }: Place = end;
        const answer: Answer = await context.call(logs.tail, { ...params(), ...CHUNK, limit: room, cursor, part });
        if (mine !== start || isPaused()) return;
        end = { part: answer.part ?? part, cursor: answer.cursor };
        ({ file } = answer);
        append(answer.reset ? [undefined, ...answer.lines] : answer.lines);
        if (answer.lines.length > 0 || error !== undefined) {
          error = undefined;
          changed();
        }
        if (end.cursor >= answer.size || (end.cursor === cursor && end.part === part)) return;
      }
    } catch (failure) {
      if (mine !== start) return;
      error = failure;
      changed();
    }
  }

  async function readBack(): Promise<void> {
    const mine = start;
    if (isReadingBack || !begin || entries.length >= MAX_LINES) return;
    isReadingBack = true;
    changed();
    try {
      for (let windows = 0, found = 0; windows < WINDOWS && begin && found === 0; windows++) {
        const answer: Answer = await context.call(logs.tail, { ...params(), ...CHUNK, ...begin });
        if (mine !== start) break;
        begin = beginOf(answer);
        found = answer.lines.length;
        const lines = answer.lines.slice(-(MAX_LINES - entries.length));
        firstId -= lines.length;
        const first = firstId;
        entries = [...lines.map((line, index): Entry => ({ id: first + index, line })), ...entries];
      }
    } catch (failure) {
      if (mine === start) error = failure;
    }
    isReadingBack = false;
    changed();
  }

  return {
    get entries() {
      return entries;
    },
    get isLoading() {
      return isLoading;
    },
    get error() {
      return error;
    },
    get hasOlder() {
      return begin !== undefined && entries.length < MAX_LINES;
    },
    get isReadingBack() {
      return isReadingBack;
    },
    get file() {
      return file;
    },
    follow: () => (following ??= readOn().finally(() => (following = undefined))),
    readBack,
    restart: () => restart(),
  };
}

/** Where older lines end. `undefined`: there are none. */
function beginOf({ part, begin }: Answer): { readonly part: string; readonly before: number } | undefined {
  return part === undefined || begin === undefined ? undefined : { part, before: begin };
}

/** What a line says. */
export interface Line {
  /** Epoch ms. */
  readonly at: number | undefined;
  /** Lower-case name; `undefined`: the line has none. */
  readonly level: string | undefined;
  readonly plugin: string;
  readonly message: string;
  /** Every field, nested ones with dots. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Of its error. */
  readonly stack: string | undefined;
}

export const LEVELS: readonly string[] = Object.keys(LOG_LEVELS);
const LEVEL_NAMES = new Map<unknown, string>(Object.entries(LOG_LEVELS).map(([name, number]) => [number, name]));
const MAX_FIELDS = 80;
const MAX_CHARS = 4_000;

const parsed = new WeakMap<Entry, Line>();

/** The fields of an entry. Keeps them: drawing asks each time. */
export function lineOf(entry: Entry): Line {
  let line = parsed.get(entry);
  if (!line) parsed.set(entry, (line = parseLine(entry.line ?? "")));
  return line;
}

/** A line that is not JSON is its own message. */
export function parseLine(text: string): Line {
  const record = recordOf(text);
  if (!record)
    return {
      at: undefined,
      level: undefined,
      plugin: "",
      message: text.slice(0, MAX_CHARS),
      fields: [],
      stack: undefined,
    };
  const { time, level, msg, plugin, subsystem, err } = record;
  const { message, stack } = Object(err) as { readonly message?: unknown; readonly stack?: unknown };
  const said = typeof msg === "string" ? msg : "";
  const cause = typeof message === "string" && !said.includes(message) ? message : "";
  const owner = [plugin, subsystem].find((name) => typeof name === "string");
  return {
    at: typeof time === "number" ? time : undefined,
    level: LEVEL_NAMES.get(level),
    plugin: typeof owner === "string" ? owner : "host",
    message: [said, cause]
      .filter((part) => part !== "")
      .join(": ")
      .slice(0, MAX_CHARS),
    fields: flat(record).slice(0, MAX_FIELDS),
    stack: typeof stack === "string" ? stack.slice(0, 5 * MAX_CHARS) : undefined,
  };
}

function recordOf(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>; // JSON that begins with a brace is an object
  } catch {
    return undefined;
  }
}

/** Fields that the row shows already, or that are shown apart. */
const APART = new Set(["msg", "level", "time", "err.stack"]);

function flat(value: object, prefix = "", depth = 0): (readonly [string, string])[] {
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => {
    const name = `${prefix}${key}`;
    if (APART.has(name)) return [];
    if (Array.isArray(inner) && inner.every((one) => typeof one !== "object"))
      return [[name, inner.join(", ").slice(0, MAX_CHARS)] as const];
    if (typeof inner === "object" && inner !== null && depth < 4) return flat(inner, `${name}.`, depth + 1);
    const text = typeof inner === "string" ? inner : (JSON.stringify(inner) ?? "");
    return [[name, text.slice(0, MAX_CHARS)] as const];
  });
}
