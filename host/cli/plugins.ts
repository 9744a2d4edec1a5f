/** `svc plugins list|inspect`: what is installed, and what the last start made of it. Runs no plugin. */
import { readFileSync } from "node:fs";
import type { PluginReport } from "@svc/sdk/services";
import { readConfigFile } from "../config/file.ts";
import { resolvePaths } from "../config/paths.ts";
import type { MissingPlugin, PluginSource } from "../kernel/load.ts";
import { apiMismatch } from "../kernel/manifest.ts";
import { EXIT, type Output, table } from "./output.ts";
import { plannedPlugins } from "./planned-plugins.ts";

interface Listed {
  readonly id: string;
  readonly version: string;
  readonly state: string;
  readonly reason?: string;
  readonly origin: string;
}

export async function listPlugins(output: Output): Promise<number> {
  const rows = await collect();
  if (output.json) {
    output.print({ plugins: rows });
    return EXIT.ok;
  }
  const header = ["PLUGIN", "VERSION", "LAST START", "WHY"];
  output.print(table([header, ...rows.map(({ id, version, state, reason }) => [id, version, state, reason ?? ""])]));
  return EXIT.ok;
}

export async function inspectPlugin(id: string, output: Output): Promise<number> {
  const paths = resolvePaths();
  const sources = await planned();
  const source = sources.find((candidate) => "load" in candidate && candidate.manifest?.id === id);
  const report = lastReport(paths.startupReport).find((entry) => entry.id === id);
  if (!source && !report) {
    output.note(`no plugin "${id}" here\nNext: svc plugins list`);
    return EXIT.refused;
  }
  const manifest = source && "load" in source ? source.manifest : undefined;
  output.print({ id, manifest, lastStart: report });
  return EXIT.ok;
}

async function planned(): Promise<readonly (PluginSource | MissingPlugin)[]> {
  const paths = resolvePaths();
  return plannedPlugins(await readConfigFile(paths.configPath, process.env), paths).sources;
}

async function collect(): Promise<Listed[]> {
  const reports = lastReport(resolvePaths().startupReport);
  const listed = (await planned()).map((source): Listed => {
    if (!("load" in source))
      return { id: source.origin, version: "-", state: "blocked", reason: source.reason, origin: source.origin };
    const { manifest, origin } = source;
    const id = manifest?.id ?? origin;
    const report = reports.find((entry) => entry.id === id);
    const mismatch = manifest && apiMismatch(manifest.api);
    const state = mismatch ? "blocked" : (report?.state ?? "not started yet");
    const reason = mismatch ?? report?.reason;
    return {
      id,
      version: manifest?.version ?? report?.version ?? "-",
      state,
      origin,
      ...(reason === undefined ? {} : { reason }),
    };
  });
  const others = reports.filter(
    ({ id }) => !listed.some((row) => row.id === id) && !listed.some((row) => row.origin === id),
  );
  return [
    ...listed,
    ...others.map(({ id, version, state, reason }) => ({
      id,
      version,
      state,
      origin: "last start",
      ...(reason ? { reason } : {}),
    })),
  ];
}

function lastReport(file: string): readonly PluginReport[] {
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as { plugins?: readonly PluginReport[] }).plugins ?? [];
  } catch {
    return []; // never started here
  }
}
