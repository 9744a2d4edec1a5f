/** The report of an import: data, the lines for people, and the directory that keeps it. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { notFound } from "@svc/sdk";
import { table } from "@svc/sdk/cli";
import { IMPORT_ACTIONS, type ImportAction } from "@svc/sdk/import";
import type { ImportItem } from "./source.ts";

/** Items of one kind by action, and the units that were added. */
export type ImportCounts = Readonly<Record<ImportAction | "added", number>>;

/** What an import did, or would do. Has no secrets. */
export interface ImportReport {
  /** Name of its directory below `imports` in the state directory. */
  readonly id: string;
  readonly dryRun: boolean;
  readonly source: {
    readonly name: string;
    readonly directory: string;
    readonly format: string;
    readonly halfMoved: boolean;
    readonly running: boolean;
    /** The commands that stop and start its gateway. */
    readonly stop: string;
    readonly start: string;
  };
  readonly stateDir: string;
  /** Where the former state of the directory is; absent: there was none. */
  readonly formerState?: string;
  readonly counts: Readonly<Record<string, ImportCounts & { readonly title: string }>>;
  readonly items: readonly ImportItem[];
  readonly weaker: readonly string[];
  readonly stricter: readonly string[];
  readonly warnings: readonly string[];
  readonly tookMs: number;
}

/** Directory of reports in a state directory. */
export const IMPORTS = "imports";
export const REPORT = "report.json";
/** The settings that the import wrote; beside the report. */
export const CONVERTED = "converted.json";
/** Choice: lines of items, and ids in one of them; the others are counted. */
const SHOWN = 20;
const NAMED = 3;

export function countsOf(
  items: readonly ImportItem[],
  titles: ReadonlyMap<string, string>,
): Record<string, ImportCounts & { readonly title: string }> {
  const counts: Record<string, Record<ImportAction | "added", number> & { title: string }> = {};
  for (const { kind, action, added } of items) {
    const none = Object.fromEntries([...IMPORT_ACTIONS, "added"].map((name) => [name, 0]));
    const one = (counts[kind] ??= { ...(none as ImportCounts), title: titles.get(kind) ?? kind });
    one[action] += 1;
    one.added += added ?? addedBy(action);
  }
  return counts;
}

/** Stored units of an outcome that names none. */
export function addedBy(action: ImportAction): number {
  return action === "take" || action === "convert" ? 1 : 0;
}

/** Lines for people. */
export function reportLines(report: ImportReport): string[] {
  const { source, counts, items, weaker, stricter, warnings, dryRun } = report;
  const { setting, ...kinds } = counts;
  const taken = Object.values(kinds).map(({ title, added, skip }) => amount(title, added, skip));
  const settings =
    setting &&
    Object.entries(SETTING_WORDS).flatMap(([action, words]) => wordsOf(setting[action as ImportAction], words));
  const people = itemLines(items.filter(({ action, next }) => next !== undefined || action === "refuse"));
  const rows: [string, readonly string[]][] = [
    [dryRun ? "will be taken" : "taken", [taken.join("   ")]],
    ["settings", settings ? [settings.join("   ")] : []],
    ["needs you", people.slice(0, SHOWN)],
    ["", people.length > SHOWN ? [`and ${people.length - SHOWN} more: svc import report --json`] : []],
    ["weaker than before", weaker],
    ["stricter than before", stricter],
    ["warnings", warnings],
  ];
  const state = [source.format, ...(source.halfMoved ? ["half moved between two formats"] : [])].join(", ");
  return [
    `${source.name}   ${source.directory}   ${state}   ${source.running ? "running: a picture of now" : "not running"}`,
    ...table(rows.flatMap(([title, lines]) => lines.map((line, at) => [at === 0 ? `  ${title}` : "", line]))),
  ];
}

const SETTING_WORDS = {
  take: "taken",
  convert: "converted",
  drop: "without meaning here",
  keep: "put aside",
  refuse: "refused",
} as const;

function wordsOf(count: number, words: string): string[] {
  return count === 0 ? [] : [`${count} ${words}`];
}

function amount(title: string, added: number, skipped: number): string {
  return `${title} ${added}${skipped === 0 ? "" : ` (${skipped} here before)`}`;
}

/** One line for all items with the same reason and the same next step. */
export function itemLines(items: readonly ImportItem[]): string[] {
  const groups = new Map<string, { readonly kind: string; readonly text: string; readonly ids: string[] }>();
  for (const { kind, id, reason, next } of items) {
    const why = reason === undefined ? "" : `: ${reason}`;
    const text = `${why}${next === undefined ? "" : `   Next: ${next}`}`;
    const group = groups.get(kind + text);
    if (group) group.ids.push(id);
    else groups.set(kind + text, { kind, text, ids: [id] });
  }
  return [...groups.values()].map(({ kind, text, ids }) => {
    const others = ids.length > NAMED ? ` and ${ids.length - NAMED} more` : "";
    return `${kind} ${ids.slice(0, NAMED).join(", ")}${others}${text}`;
  });
}

/** Ids of the imports into a state directory, the oldest first. */
export async function importsOf(stateDir: string): Promise<readonly string[]> {
  const names: readonly string[] = await readdir(join(stateDir, IMPORTS)).catch(() => []);
  return names.toSorted();
}

/**
 * The report of an import.
 * @param id default: the newest one
 * @throws GatewayError `NOT_FOUND`
 */
export async function readReport(stateDir: string, id?: string): Promise<ImportReport> {
  const found = await importsOf(stateDir);
  const name = id ?? found.at(-1);
  if (name === undefined || !found.includes(name))
    return notFound(`no import ${id ?? "was made"} in ${stateDir}; imports: ${found.join(", ") || "none"}`);
  return JSON.parse(await readFile(join(stateDir, IMPORTS, name, REPORT), "utf8")) as ImportReport; // written by `runImport`
}
