/** What is known of plugins' states: from the running gateway, else from what the last start left behind. */
import { existsSync, readFileSync } from "node:fs";
import { isGatewayError, messageOf } from "@svc/sdk";
import type { GatewayClient } from "@svc/sdk/client";
import { type PluginReport, plugins } from "@svc/sdk/plugins";
import { resolvePaths } from "../../config/paths.ts";
import { atGateway } from "../connect.ts";
import type { TargetFlags } from "../target.ts";

/** Milliseconds a gateway has to answer before the last start is asked instead. */
export const PATIENCE = 1_000;

export interface Known {
  readonly source: "gateway" | "last start" | "nothing";
  readonly reports: readonly PluginReport[];
  /** Why the running gateway was not asked, or did not answer. */
  readonly why?: string;
}

/** @throws GatewayError only when `--url` names a gateway and that one does not answer: no other report is about it */
export async function knownReports(flags: TargetFlags): Promise<Known> {
  const asked = await askRunning(flags, (client) => client.call(plugins.list, {}, { timeoutMs: PATIENCE }));
  if ("answer" in asked) return { source: "gateway", reports: asked.answer.plugins };
  const before = lastReport(resolvePaths().startupReport);
  return { source: before ? "last start" : "nothing", reports: before ?? [], why: asked.why };
}

/**
 * What the running gateway says, or why it says nothing.
 * @throws GatewayError only when `--url` names a gateway and that one does not answer
 */
export async function askRunning<T>(
  flags: TargetFlags,
  ask: (client: GatewayClient) => Promise<T>,
): Promise<{ readonly answer: T } | { readonly why: string; readonly code?: string }> {
  // Without a trace of a start, the default port may be somebody else's gateway.
  if (!flags.url && !existsSync(resolvePaths().startupReport)) return { why: "no gateway was started here" };
  try {
    return { answer: await atGateway(flags, ask, { connectTimeoutMs: PATIENCE }) };
  } catch (error) {
    if (flags.url) throw error;
    const [why = ""] = messageOf(error).split("\n");
    return { why, ...(isGatewayError(error) ? { code: error.code } : {}) };
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
