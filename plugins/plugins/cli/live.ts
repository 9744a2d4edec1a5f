/** States of plugins: from the running gateway, otherwise from the report of the last start. */
import { existsSync, readFileSync } from "node:fs";
import { resolvePaths } from "@svc/host/state";
import { isGatewayError, messageOf } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { type PluginReport, plugins } from "@svc/sdk/plugins";

/** Milliseconds to wait for the gateway before the report of the last start is used. */
export const PATIENCE = 1_000;

/** Connects to the gateway given by options and environment, runs `work` and always closes the connection. */
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
  /** Why the running gateway was not queried, or did not respond. */
  readonly why?: string;
}

/** @throws GatewayError only if `--url` names a gateway that does not respond: no other report describes it */
export async function knownReports(context: CommandContext): Promise<Known> {
  const asked = await askRunning(context, (client) => client.call(plugins.list, {}, { timeoutMs: PATIENCE }));
  if ("answer" in asked) return { source: "gateway", reports: asked.answer.plugins };
  const before = lastReport(resolvePaths().startupReport);
  return { source: before ? "last start" : "nothing", reports: before ?? [], why: asked.why };
}

/**
 * The answer of the running gateway, or why there is none.
 * @throws GatewayError only if `--url` names a gateway that does not respond
 */
export async function askRunning<T>(
  context: CommandContext,
  ask: (client: GatewayClient) => Promise<T>,
): Promise<{ readonly answer: T } | { readonly why: string; readonly code?: string }> {
  const isNamed = Boolean(context.options["url"]);
  // Without a trace of a start, the default port may belong to another gateway.
  if (!isNamed && !existsSync(resolvePaths().startupReport)) return { why: "no gateway was started here" };
  try {
    return { answer: await atGateway(context, ask, { timeoutMs: PATIENCE }) };
  } catch (error) {
    if (isNamed) throw error;
    const [why = ""] = messageOf(error).split("\n");
    return { why, ...(isGatewayError(error) ? { code: error.code } : {}) };
  }
}

/** Plugin reports of the last start; `undefined`: never started here. */
export function lastReport(file: string): readonly PluginReport[] | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as { plugins?: readonly PluginReport[] }).plugins ?? [];
  } catch {
    return []; // started, but the report is incomplete
  }
}
