/** Text sections about a plugin. Pure. */
import type { Manifest } from "@svc/host/local";
import type { ResultOf } from "@svc/sdk";
import { table, time, visible } from "@svc/sdk/cli";
import type { PluginReport, plugins } from "@svc/sdk/plugins";

type Inspection = ResultOf<typeof plugins.inspect>;
/** Label and content of a row: a text, or a list that may span several lines. Omitted if empty. */
type Entry = readonly [about: string, text: string | readonly string[] | undefined];

/** Maximum characters of a list line. */
const WIDTH = 100;

const MIB = 1_048_576;

const UNKNOWN_MEMORY = {
  host: "shared with the gateway; known only for plugins that run as worker or process",
  worker: "not known yet",
  process: "not known yet",
} as const;

export function inspectionLines(inspection: Inspection): string[] {
  const { plugin, package: from, placements, permissions, stats, declares } = inspection;
  const others = placements.supports.filter((place) => place !== placements.now);
  return sections([
    [
      headline(plugin),
      [
        ["why", plugin.reason],
        ["next attempt", plugin.retryAt === undefined ? undefined : time(plugin.retryAt)],
        ["about", from.description],
        ["package", from.directory ?? from.origin],
        ["runs in", placements.now + (others.length > 0 ? `, can run in ${others.join(", ")}` : "")],
        ["no effect", plugin.inert],
      ],
    ],
    ["Resource usage since the gateway started", costs(stats, plugin)],
    ["Declares", declared(declares)],
    ["Requests", permissionEntries(permissions)],
  ]);
}

/** Text about a plugin without a running gateway. */
export function packageLines(
  id: string,
  manifest: Manifest | undefined,
  lastStart: PluginReport | undefined,
): string[] {
  const { description, directory, namespaces, routes, gates, contributes = {}, commands, isolation } = manifest ?? {};
  const version = lastStart?.version ?? manifest?.version ?? "";
  return sections([
    [
      lastStart ? `${headline(lastStart)} at the last start` : `${id} ${version}: not started yet`,
      [
        ["why", lastStart?.reason],
        ["last error", lastStart?.blame && blameText(lastStart.blame)],
        ["about", description],
        ["package", directory],
        ["can run in", isolation?.supports.join(", ")],
      ],
    ],
    [
      "According to its package",
      [
        ["serves", namespaces?.map((name) => `${name}.*`)],
        ["routes", routes?.map((prefix) => `${prefix}*`)],
        ["gates", gates],
        ["extends", Object.entries(contributes).flatMap(([point, ids]) => ids.map((id) => `${point} ${id}`))],
        ["commands", commands?.map(({ name }) => name)],
      ],
    ],
    ["Requests", permissionEntries(manifest?.permissions)],
  ]);
}

function headline({
  id,
  version,
  state,
  asleep,
  generation,
}: Pick<PluginReport, "id" | "version" | "state" | "asleep" | "generation">): string {
  return `${id} ${version}: ${asleep ? "asleep" : state}${generation > 1 ? `, generation ${generation}` : ""}`;
}

function costs(stats: Inspection["stats"], { blame, placement = "host" }: Inspection["plugin"]): Entry[] {
  const { calls, inFlight, p50Ms, p99Ms, maxMs, hookRuns, hookErrors, errors, memoryBytes, blocks, longestBlockMs } =
    stats;
  const times = calls === 0 ? "" : `; 50 % within ${ms(p50Ms)}, 99 % within ${ms(p99Ms)}, slowest ${ms(maxMs)}`;
  return [
    ["calls", `${calls}, ${inFlight} pending${times}`],
    ["hooks", `${hookRuns} runs, ${hookErrors} failed`],
    ["errors", String(errors)],
    ["last error", blame && blameText(blame)],
    ["event loop", blocks === 0 ? "never blocked" : `blocked ${timesOf(blocks)}, longest ${ms(longestBlockMs)}`],
    ["memory", memoryBytes === null ? UNKNOWN_MEMORY[placement] : `${(memoryBytes / MIB).toFixed(1)} MiB`],
  ];
}

function blameText({ at, where, message }: NonNullable<PluginReport["blame"]>): string {
  return `${time(at)} in ${where}: ${message}`;
}

function declared(declares: Inspection["declares"]): Entry[] {
  return Object.entries(declares).map(([kind, declarations]) => [kind, declarations.map(declarationText)]);
}

/** The name of the declaration, and the facts that the name does not include. */
function declarationText({ name, ...facts }: Inspection["declares"][string][number]): string {
  const texts = Object.entries(facts).flatMap(([fact, value]) => {
    if (value === false || (typeof value === "string" && name.includes(value))) return [];
    if (value === true) return [fact];
    return [`${fact} ${typeof value === "string" ? value : JSON.stringify(value)}`];
  });
  return texts.length === 0 ? name : `${name} (${texts.join(", ")})`;
}

function permissionEntries(permissions: Readonly<Record<string, unknown>> = {}): Entry[] {
  return Object.entries(permissions).map(([name, asked]) => [name, asked === true ? "yes" : JSON.stringify(asked)]);
}

function timesOf(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

function ms(value: number | null): string {
  if (value === null) return "-";
  return value >= 1_000 ? `${(value / 1_000).toFixed(1)} s` : `${value >= 10 ? Math.round(value) : value} ms`;
}

/** Sections separated by blank lines; a section without entries is omitted. */
function sections(parts: readonly (readonly [title: string, entries: readonly Entry[]])[]): string[] {
  return parts.flatMap(([title, entries], at) => {
    const rows = entries.flatMap(([about, text = []]) => {
      const lines = typeof text === "string" ? [text] : linesOf(text);
      return lines.map((line, nth) => [nth === 0 ? `  ${about}` : "", visible(line)]);
    });
    if (at > 0 && rows.length === 0) return [];
    return [...(at > 0 ? [""] : []), visible(title), ...table(rows)];
  });
}

/** Fills each line with as many items as fit. */
function linesOf(items: readonly string[]): string[] {
  const lines: string[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + item.length + 2 <= WIDTH) lines[lines.length - 1] = `${last}, ${item}`;
    else {
      if (last !== undefined) lines[lines.length - 1] = `${last},`;
      lines.push(item);
    }
  }
  return lines;
}
