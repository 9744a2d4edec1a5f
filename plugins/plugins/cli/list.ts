/** `svc plugins list`: the planned plugins and their states. Runs no plugin; only single files are imported. */
import { pluginsHere } from "@svc/cli";
import { apiMismatch, isInstalledSource, type MissingPlugin, type PluginSource } from "@svc/host/local";
import { type CommandContext, cut, table, visible } from "@svc/sdk/cli";
import type { PluginReport } from "@svc/sdk/plugins";
import { type Known, knownReports } from "./live.ts";

type Way = "bundle" | "configured" | "installed" | "linked";

interface Row extends Pick<PluginReport, "placement" | "blame" | "asleep"> {
  readonly id: string;
  readonly version: string;
  readonly state: string;
  readonly reason?: string;
  readonly description?: string;
  readonly origin: string;
  readonly errors?: number;
  /** How the plugin was added; absent if only the gateway knows it. */
  readonly from?: Way;
}

/** Maximum displayed characters of the last error. */
const ERROR_WIDTH = 60;

export async function listPlugins(context: CommandContext): Promise<void> {
  const known = await knownReports(context);
  // The plugins planned by another gateway are not in this machine's files.
  const planned = context.options["url"] ? [] : (await pluginsHere()).sources;
  const rows = rowsOf(planned, known, await idsOf(planned));
  const { source, why } = known;
  if (context.json) return context.print({ source, plugins: rows });
  if (source === "last start") context.note(`States of the last start: ${why ?? ""}`);
  context.print(table(tableOf(rows, source)).join("\n"));
}

/** Empty columns are omitted. Pure. */
export function tableOf(rows: readonly Row[], source: Known["source"]): string[][] {
  const brought = rows.some(({ from }) => from === "installed" || from === "linked");
  const elsewhere = rows.some(({ placement = "host" }) => placement !== "host");
  const failed = rows.some(({ errors = 0 }) => errors > 0);
  const header = [
    "PLUGIN",
    "VERSION",
    ...(brought ? ["FROM"] : []),
    source === "gateway" ? "STATE" : "LAST START",
    ...(elsewhere ? ["PLACE"] : []),
    ...(failed ? ["ERRORS", "LAST ERROR"] : []),
    "ABOUT",
  ];
  const cells = rows.map(
    ({ id, version, from = "", state, asleep, placement = "host", errors = 0, blame, reason, description = "" }) => [
      id,
      version,
      ...(brought ? [from] : []),
      asleep ? "asleep" : state,
      ...(elsewhere ? [placement] : []),
      ...(failed
        ? [errors > 0 ? String(errors) : "", blame ? cut(`${blame.where}: ${blame.message}`, ERROR_WIDTH) : ""]
        : []),
      (reason ?? description).split("\n")[0] ?? "", // svc plugins why prints the rest
    ],
  );
  return [header, ...cells.map((row) => row.map(visible))];
}

type Planned = readonly (PluginSource | MissingPlugin)[];

/**
 * Ids of plugins without a package, by origin: only their code has the id. Plugins that cannot be imported have none.
 */
async function idsOf(planned: Planned): Promise<ReadonlyMap<string, string>> {
  const files = planned.filter((one): one is PluginSource => "load" in one && !one.manifest);
  const found = await Promise.all(
    files.map(async (one) => {
      const plugin = await one.load().catch(() => undefined); // the gateway reports the problem
      return plugin ? [[one.origin, plugin.id] as const] : [];
    }),
  );
  return new Map(found.flat());
}

/** The planned plugins in their order, then those known only to the gateway. Pure. */
function rowsOf(planned: Planned, { source, reports }: Known, ids: ReadonlyMap<string, string>): Row[] {
  const rows = planned.map((one) => ("load" in one ? rowOf(one, source, reports, ids) : missingRow(one)));
  const listed = new Set(rows.flatMap(({ id, origin }) => [id, origin]));
  return [...rows, ...reports.filter(({ id }) => !listed.has(id)).map((report) => reportedRow(report, source))];
}

function missingRow({ origin, reason }: MissingPlugin): Row {
  return { id: origin, version: "-", state: "blocked", reason, origin };
}

function reportedRow(report: PluginReport, origin: string): Row {
  const { id, version, state, reason } = report;
  return { id, version, state, origin, ...(reason ? { reason } : {}), ...costs(report) };
}

/** `configured`: named in plugins.use or plugins.load.paths. */
function fromOf(source: PluginSource): Way {
  if (source.isBundled) return "bundle";
  if (!isInstalledSource(source)) return "configured";
  return source.origin.startsWith("linked:") ? "linked" : "installed";
}

function costs({ errors, placement, blame, asleep }: PluginReport): Partial<Row> {
  return { errors, ...(placement ? { placement } : {}), ...(blame ? { blame } : {}), ...(asleep ? { asleep } : {}) };
}

function rowOf(
  planned: PluginSource,
  source: Known["source"],
  reports: readonly PluginReport[],
  ids: ReadonlyMap<string, string>,
): Row {
  const { manifest, origin } = planned;
  const placement = planned.elsewhere?.placement;
  const id = manifest?.id ?? ids.get(origin) ?? origin;
  const report = reports.find((entry) => entry.id === id);
  const mismatch = source === "gateway" ? undefined : manifest && apiMismatch(manifest.api);
  const notYet = source === "gateway" ? "not loaded" : "not started yet";
  const state = mismatch ? "blocked" : (report?.state ?? notYet);
  const later = source === "gateway" && !report ? "the running gateway was started without it" : undefined;
  const reason = mismatch ?? report?.reason ?? later;
  return {
    id,
    version: report?.version ?? manifest?.version ?? "-",
    state,
    origin,
    from: fromOf(planned),
    ...(placement ? { placement } : {}),
    ...(reason === undefined ? {} : { reason }),
    ...(manifest?.description === undefined ? {} : { description: manifest.description }),
    ...(report ? costs(report) : {}),
  };
}
