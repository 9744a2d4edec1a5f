/** `svc plugins list`: what is installed, and what the gateway made of it. Runs no plugin. */
import type { PluginReport } from "@svc/sdk/services";
import { readConfigFile } from "../../config/file.ts";
import { resolvePaths } from "../../config/paths.ts";
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
}

export async function listPlugins(flags: TargetFlags, output: Output): Promise<number> {
  const paths = resolvePaths();
  const known = await knownReports(flags);
  // Another gateway's plans are not in this machine's files.
  const planned = flags.url ? [] : plannedPlugins(await readConfigFile(paths.configPath, process.env), paths).sources;
  const rows = rowsOf(planned, known);
  const { source, why } = known;
  if (output.json) {
    output.print({ source, plugins: rows });
    return EXIT.ok;
  }
  if (source === "last start") output.note(`States are those of the last start: ${why ?? ""}`);
  const header = ["PLUGIN", "VERSION", source === "gateway" ? "STATE" : "LAST START", "WHY"];
  output.print(table([header, ...rows.map(({ id, version, state, reason }) => [id, version, state, reason ?? ""])]));
  return EXIT.ok;
}

/** The planned ones in their order, then what else the gateway has. Pure. */
export function rowsOf(planned: readonly (PluginSource | MissingPlugin)[], { source, reports }: Known): Row[] {
  const rows = planned.map((one) => ("load" in one ? rowOf(one, source, reports) : missingRow(one)));
  const listed = new Set(rows.flatMap(({ id, origin }) => [id, origin]));
  return [...rows, ...reports.filter(({ id }) => !listed.has(id)).map((report) => reportedRow(report, source))];
}

function missingRow({ origin, reason }: MissingPlugin): Row {
  return { id: origin, version: "-", state: "blocked", reason, origin };
}

function reportedRow({ id, version, state, reason }: PluginReport, origin: string): Row {
  return { id, version, state, origin, ...(reason ? { reason } : {}) };
}

function rowOf({ manifest, origin }: PluginSource, source: Known["source"], reports: readonly PluginReport[]): Row {
  const id = manifest?.id ?? origin;
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
    ...(reason === undefined ? {} : { reason }),
  };
}
