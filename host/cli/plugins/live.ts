/** What is known of plugins' states: from the running gateway, else from what the last start left behind. */
import { existsSync, readFileSync } from "node:fs";
import { plugins } from "@svc/sdk";
import type { PluginReport } from "@svc/sdk/services";
import { resolvePaths } from "../../config/paths.ts";
import { connectTo } from "../connect.ts";
import { resolveTarget, type TargetFlags } from "../target.ts";

/** Milliseconds a gateway has to answer before the last start is asked instead. */
const PATIENCE = 1_000;

export interface Known {
  readonly source: "gateway" | "last start" | "nothing";
  readonly reports: readonly PluginReport[];
  /** Why the running gateway was not asked, or did not answer. */
  readonly why?: string;
}

/** @throws GatewayError only when `--url` names a gateway and that one does not answer: no other report is about it */
export async function knownReports(flags: TargetFlags): Promise<Known> {
  const { startupReport } = resolvePaths();
  const before = lastReport(startupReport);
  const source = before ? "last start" : "nothing";
  // Without a trace of a start, the default port may be somebody else's gateway.
  if (!before && !flags.url) return { source, reports: [], why: "no gateway was started here" };
  try {
    return { source: "gateway", reports: await askGateway(flags) };
  } catch (error) {
    if (flags.url) throw error;
    const [why = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    return { source, reports: before ?? [], why };
  }
}

async function askGateway(flags: TargetFlags): Promise<readonly PluginReport[]> {
  const client = await connectTo(await resolveTarget(flags, process.env), { connectTimeoutMs: PATIENCE });
  try {
    return (await client.call(plugins.list, {}, { timeoutMs: PATIENCE })).plugins;
  } finally {
    await client.close();
  }
}

/** What the last start made of each plugin; `undefined`: never started here. */
export function lastReport(file: string): readonly PluginReport[] | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as { plugins?: readonly PluginReport[] }).plugins ?? [];
  } catch {
    return []; // started, and the report was cut off
  }
}
