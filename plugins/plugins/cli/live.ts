/** What is known of plugins' states: from the running gateway, else from what the last start left behind. */
import { existsSync, readFileSync } from "node:fs";
import { resolvePaths } from "@svc/host/state";
import { isGatewayError, messageOf } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { type PluginReport, plugins } from "@svc/sdk/plugins";

/** Milliseconds a gateway has to answer before the last start is asked instead. */
export const PATIENCE = 1_000;

/** Connects to the gateway that options and environment name, runs `work`, and closes whatever comes of it. */
export async function atGateway<T>(
  context: CommandContext,
  work: (client: GatewayClient) => Promise<T>,
  options: { readonly timeoutMs?: number } = {},
): Promise<T> {
  const client = await context.connect(options);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

export interface Known {
  readonly source: "gateway" | "last start" | "nothing";
  readonly reports: readonly PluginReport[];
  /** Why the running gateway was not asked, or did not answer. */
  readonly why?: string;
}

/** @throws GatewayError only when `--url` names a gateway and that one does not answer: no other report is about it */
export async function knownReports(context: CommandContext): Promise<Known> {
  const asked = await askRunning(context, (client) => client.call(plugins.list, {}, { timeoutMs: PATIENCE }));
  if ("answer" in asked) return { source: "gateway", reports: asked.answer.plugins };
  const before = lastReport(resolvePaths().startupReport);
  return { source: before ? "last start" : "nothing", reports: before ?? [], why: asked.why };
}

/**
 * What the running gateway says, or why it says nothing.
 * @throws GatewayError only when `--url` names a gateway and that one does not answer
 */
export async function askRunning<T>(
  context: CommandContext,
  ask: (client: GatewayClient) => Promise<T>,
): Promise<{ readonly answer: T } | { readonly why: string; readonly code?: string }> {
  const isNamed = Boolean(context.options["url"]);
  // Without a trace of a start, the default port may be somebody else's gateway.
  if (!isNamed && !existsSync(resolvePaths().startupReport)) return { why: "no gateway was started here" };
  try {
    return { answer: await atGateway(context, ask, { timeoutMs: PATIENCE }) };
  } catch (error) {
    if (isNamed) throw error;
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
