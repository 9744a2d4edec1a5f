/** Whether the arguments of a command fit a profile. Pure; the caller decides whether a path is inside. */
import type { Profile, Value } from "./profile.ts";

/** Choice: maximum number of checked arguments; each path costs a disk access. */
const MAX_ARGUMENTS = 200;

const NUMBER = /^[-+]?\d+[A-Za-z]{0,3}$/;

/**
 * The first argument the profile does not allow, as a phrase after the program name (`may not be called with ...`);
 * `undefined`: all are allowed.
 *
 * No word that starts with `-` reaches a program unless the profile names it or it is a number, neither as a separate
 * value nor after `--`. So a flag that takes a value on one machine and none on another cannot hide anything.
 * @param isInside whether a path is inside the place of the command
 */
export function misfitOf(
  profile: Profile,
  args: readonly string[],
  isInside: (path: string) => boolean,
): string | undefined {
  if (profile.style === "raw") return undefined;
  if (args.length > MAX_ARGUMENTS) return `may have at most ${MAX_ARGUMENTS} arguments`;
  if (args.length === 1 && (args[0] === "--help" || args[0] === "--version")) return undefined;
  const read = readArguments(profile, args);
  if (typeof read === "string") return `may not be called with ${shown(read)}`;
  const { operands, values, flags } = read;
  if (operands.length > (profile.most ?? Infinity)) return `may have at most ${profile.most} operands`;
  const firstIsOwn = profile.first && !words(profile.firstUnless).some((flag) => flags.has(flag));
  const kinds = operands.map((_, at) => (at === 0 && firstIsOwn ? profile.first : profile.operands));
  if (profile.walks && !kinds.includes("path") && !isInside(".")) return "may not read this directory";
  const odd = [...values, ...operands.map((word, at): Word => [word, kinds[at]])].find(
    ([word, kind]) => !isFit(word, kind, isInside),
  );
  return odd && `may not be called with ${shown(odd[0])}`;
}

/** A word and its required kind; `undefined`: the word is not allowed. */
type Word = readonly [word: string, kind: Value | undefined];

interface Read {
  readonly operands: string[];
  readonly values: Word[];
  readonly flags: Set<string>;
}

/** @returns the word that the profile does not name */
function readArguments(profile: Profile, args: readonly string[]): Read | string {
  const read: Read = { operands: [], values: [], flags: new Set() };
  const known = new Set(words(profile.flags));
  const isWords = profile.style === "words";
  let isOver = false;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--" && !isWords && !isOver) {
      isOver = true;
      continue;
    }
    const isFlag = (isWords && known.has(word)) || isDashed(word);
    if (!isFlag) {
      read.operands.push(word);
      continue;
    }
    const flag = isOver ? undefined : isWords ? wordFlag(profile, known, word) : optionFlag(profile, known, word);
    if (flag === undefined) return word;
    for (const name of flag.names) read.flags.add(name);
    const own = flag.kinds.map((kind, nth): Word => [flag.attached ?? args[at + 1 + nth] ?? "", kind]);
    if (flag.attached === undefined) {
      if (at + own.length >= args.length) return word; // its value is missing
      const odd = own.find(
        ([value, kind]) => isDashed(value) && (kind === "text" || kind === "path" || !/^-\d/.test(value)),
      );
      if (odd) return odd[0];
      at += own.length;
    }
    read.values.push(...own);
    // Some programs treat everything after an operand as operands.
    if (
      read.operands.length > 0 &&
      profile.operands === "path" &&
      !isWords &&
      own.some(([, kind]) => kind === "text")
    ) {
      const possible = flag.attached === undefined ? own.map(([value]) => value) : [word];
      read.values.push(...possible.map((value): Word => [value, "path"]));
    }
  }
  return read;
}

/** `-` alone is the standard input, or a plain value. */
function isDashed(word: string): boolean {
  return word.startsWith("-") && word !== "-";
}

/** A flag as written: the flags it contains, and the kinds of their values. */
interface Flag {
  readonly names: readonly string[];
  readonly kinds: readonly Value[];
  /** The value within the same word. */
  readonly attached?: string;
}

function wordFlag({ values = {} }: Profile, known: ReadonlySet<string>, word: string): Flag | undefined {
  if (known.has(word)) return { names: [word], kinds: [] };
  return Object.hasOwn(values, word) ? { names: [word], kinds: [values[word] ?? []].flat() } : undefined;
}

function optionFlag(profile: Profile, known: ReadonlySet<string>, word: string): Flag | undefined {
  const { values = {}, optional = {}, digits } = profile;
  const [name = ""] = word.split("=", 1);
  const attached = word.startsWith("--") && word !== name ? word.slice(name.length + 1) : undefined;
  if (attached === undefined && (known.has(word) || Object.hasOwn(optional, word))) return { names: [word], kinds: [] };
  if (attached !== undefined && Object.hasOwn(optional, name)) {
    return { names: [name], kinds: [optional[name] ?? []].flat(), attached };
  }
  const kinds = Object.hasOwn(values, name) ? [values[name] ?? []].flat() : undefined;
  if (word.startsWith("--")) {
    if (kinds === undefined || (attached !== undefined && kinds.length > 1)) return undefined;
    return { names: [name], kinds, ...(attached !== undefined && { attached }) };
  }
  if (digits && /^-\d+$/.test(word)) return { names: [], kinds: [] };
  return cluster(values, known, word);
}

/** `-la`, and `-n5` or `-ln5`: the rest after a flag with a value is its value. */
function cluster(values: NonNullable<Profile["values"]>, known: ReadonlySet<string>, word: string): Flag | undefined {
  const names: string[] = [];
  for (let at = 1; at < word.length; at++) {
    const name = `-${word.charAt(at)}`;
    names.push(name);
    if (known.has(name)) continue;
    if (!Object.hasOwn(values, name)) return undefined;
    const rest = word.slice(at + 1);
    const kinds = [values[name] ?? []].flat();
    return { names, kinds, ...(rest !== "" && { attached: rest }) };
  }
  return { names, kinds: [] };
}

function isFit(word: string, kind: Value | undefined, isInside: (path: string) => boolean): boolean {
  if (kind === undefined) return false;
  if (kind instanceof RegExp) return kind.test(word);
  if (kind === "number") return NUMBER.test(word);
  if (kind === "text") return true;
  // `-` is the standard input. Some programs read further arguments from a file given as @file.
  return word === "-" || (word !== "" && !word.startsWith("@") && isInside(word));
}

function words(text = ""): string[] {
  return text.split(/\s+/).filter(Boolean);
}

function shown(word: string): string {
  return JSON.stringify(word.length > 80 ? `${word.slice(0, 80)}…` : word);
}
