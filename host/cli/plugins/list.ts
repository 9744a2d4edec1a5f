/** `svc plugins list`: what is installed, and what the gateway made of it. Runs no plugin; only one that is a mere file is imported. */
import { visible } from "@svc/sdk/cli";
import type { PluginReport } from "@svc/sdk/services";
import { readConfigFile } from "../../config/file.ts";
import { resolvePaths } from "../../config/paths.ts";
import { isInstalledSource } from "../../install/sources.ts";
import type { MissingPlugin, PluginSource } from "../../kernel/load.ts";
import { apiMismatch } from "../../kernel/manifest.ts";
import { EXIT, type Output, table } from "../output.ts";
import { plannedPlugins } from "../planned-plugins.ts";
import type { TargetFlags } from "../target.ts";
import { type Known, knownReports } from "./live.ts";

interface Row {
  readonly id: string;
  readonly version: string;
  readonly state: string;
  readonly reason?: string;
  readonly origin: string;
  /** How it got here. */
  readonly from?: string;
  /** Where its code runs. */
  readonly placement?: string;
}

export async function listPlugins(flags: TargetFlags, output: Output): Promise<number> {
  const paths = resolvePaths();
  const known = await knownReports(flags);
  // Another gateway's plans are not in this machine's files.
  const planned = flags.url ? [] : plannedPlugins(await readConfigFile(paths.configPath, process.env), paths).sources;
  const rows = rowsOf(planned, known, await idsOf(planned));
  const { source, why } = known;
  if (output.json) {
    output.print({ source, plugins: rows });
    return EXIT.ok;
  }
  if (source === "last start") output.note(`States are those of the last start: ${why ?? ""}`);
  const header = ["PLUGIN", "VERSION", "FROM", "RUNS IN", source === "gateway" ? "STATE" : "LAST START", "WHY"];
  const cells = rows.map(({ id, version, from, placement, state, reason }) => {
    const [why = ""] = (reason ?? "").split("\n"); // the rest is told by: svc plugins why
    return [id, version, from ?? "", placement ?? "", state, why].map(visible);
  });
  output.print(table([header, ...cells]));
  return EXIT.ok;
}

type Planned = readonly (PluginSource | MissingPlugin)[];

/** Ids by origin of plugins without a package: only their code says it. One that cannot be imported has none. */
async function idsOf(planned: Planned): Promise<ReadonlyMap<string, string>> {
  const files = planned.filter((one): one is PluginSource => "load" in one && !one.manifest);
  const found = await Promise.all(
    files.map(async (one) => {
      const plugin = await one.load().catch(() => undefined); // the gateway says what is wrong with it
      return plugin ? [[one.origin, plugin.id] as const] : [];
    }),
  );
  return new Map(found.flat());
}

/** The planned ones in their order, then what else the gateway has. Pure. */
function rowsOf(planned: Planned, { source, reports }: Known, ids: ReadonlyMap<string, string>): Row[] {
  const rows = planned.map((one) => ("load" in one ? rowOf(one, source, reports, ids) : missingRow(one)));
  const listed = new Set(rows.flatMap(({ id, origin }) => [id, origin]));
  return [...rows, ...reports.filter(({ id }) => !listed.has(id)).map((report) => reportedRow(report, source))];
}

function missingRow({ origin, reason }: MissingPlugin): Row {
  return { id: origin, version: "-", state: "blocked", reason, origin };
}

function reportedRow({ id, version, state, reason, placement }: PluginReport, origin: string): Row {
  return { id, version, state, origin, ...(reason ? { reason } : {}), ...(placement ? { placement } : {}) };
}

/** `bundle`, `installed`, `linked`, or `configured`: named in plugins.use or plugins.load.paths. */
function fromOf(source: PluginSource): string {
  if (source.isBundled) return "bundle";
  return isInstalledSource(source) ? (source.origin.startsWith("linked:") ? "linked" : "installed") : "configured";
}

function rowOf(
  planned: PluginSource,
  source: Known["source"],
  reports: readonly PluginReport[],
  ids: ReadonlyMap<string, string>,
): Row {
  const { manifest, origin } = planned;
  const id = manifest?.id ?? ids.get(origin) ?? origin;
  const report = reports.find((entry) => entry.id === id);
  const mismatch = source === "gateway" ? undefined : manifest && apiMismatch(manifest.api);
  const notYet = source === "gateway" ? "not loaded" : "not started yet";
  const state = mismatch ? "blocked" : (report?.state ?? notYet);
  const later = source === "gateway" && !report ? "the running gateway started without it" : undefined;
  const reason = mismatch ?? report?.reason ?? later;
  return {
    id,
    version: report?.version ?? manifest?.version ?? "-",
    state,
    origin,
    from: fromOf(planned),
    placement: report?.placement ?? planned.placement ?? "host",
    ...(reason === undefined ? {} : { reason }),
  };
}
