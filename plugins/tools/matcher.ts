/** Compiles lists of names, groups, globs and plugin ids into matchers. Pure. Spec: http/tools-invoke.md §7.1. */
import { CORE_TOOLS, GROUPS, PLUGIN_TOOLS, plainName } from "./names.ts";

/** A tool as lists match it. */
export interface NamedTool {
  /** Normalized by `plainName`. */
  readonly name: string;
  /** Plugin that contributes it. */
  readonly plugin: string;
}

export interface Matcher {
  has(tool: NamedTool): boolean;
  /** The list has at least one entry, blank ones included. */
  readonly hasEntries: boolean;
  /** The list includes a core tool, by name, group or glob. */
  readonly hasCore: boolean;
  /** Entries that can never match, in quotes: blank ones and unknown groups. */
  readonly useless: readonly string[];
  readonly hasBlanks: boolean;
}

/** A plugin id that equals the name of a core tool means that tool. Spec: §5. */
export function compileList(entries: readonly string[]): Matcher {
  const plain = entries.map(plainName);
  const names = new Set(plain.flatMap((entry) => GROUPS.get(entry) ?? [entry]));
  names.delete("");
  const globs = plain.filter((entry) => entry.includes("*")).map(compileGlob);
  const hasPluginTools = names.has(PLUGIN_TOOLS);
  const inCore = (name: string) => names.has(name) || globs.some((matches) => matches(name));
  return {
    has: ({ name, plugin }) =>
      names.has(name) ||
      (names.has(plugin) && !CORE_TOOLS.has(plugin)) ||
      (hasPluginTools && !CORE_TOOLS.has(name)) ||
      globs.some((matches) => matches(name)),
    hasEntries: entries.length > 0,
    hasCore: [...CORE_TOOLS].some(inCore),
    useless: entries.filter((_, index) => isUseless(plain[index] ?? "")).map((entry) => JSON.stringify(entry)),
    hasBlanks: plain.includes(""),
  };
}

function isUseless(plain: string): boolean {
  return plain === "" || (plain.startsWith("group:") && !GROUPS.has(plain) && plain !== PLUGIN_TOOLS);
}

/** `*` matches any sequence of characters. Runs in linear time for any pattern. */
function compileGlob(pattern: string): (name: string) => boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop() ?? "";
  return (name) => {
    if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
    const end = name.length - last.length;
    let at = first.length;
    for (const part of rest) {
      const found = name.indexOf(part, at);
      if (found < 0 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}
