/** Runs all security checks of the host and the plugins. A check that throws is reported as skipped. */
import { existsSync } from "node:fs";
import type { CommandContext, SecurityCheck, SecuritySeverity } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { messageOf } from "@svc/sdk/errors";
import { CONFIG_CHECKS } from "./config-checks.ts";
import { FILE_CHECKS } from "./file-checks.ts";
import { GATEWAY_CHECKS } from "./gateway-checks.ts";
import { HOOKS_CHECKS } from "./hooks-checks.ts";
import { loadChecks, PLUGIN_CHECKS, type Skipped } from "./plugin-checks.ts";
import type { HostCheck, HostHit, HostView } from "./view.ts";

/** One finding of a check. */
export interface SecurityFinding extends HostHit {
  readonly id: string;
  readonly severity: SecuritySeverity;
  readonly why: string;
}

export interface Audit {
  readonly findings: readonly SecurityFinding[];
  readonly skipped: readonly Skipped[];
}

/** In display order. */
export const SEVERITIES: readonly SecuritySeverity[] = ["critical", "warning", "info"];

export const HOST_CHECKS: readonly HostCheck[] = [
  ...CONFIG_CHECKS,
  ...GATEWAY_CHECKS,
  ...HOOKS_CHECKS,
  ...PLUGIN_CHECKS,
  ...FILE_CHECKS,
];

/** Milliseconds to wait for the gateway's response. */
const PATIENCE = 5_000;

export async function examine(view: HostView, connect: CommandContext["connect"]): Promise<Audit> {
  const { checks, skipped } = await loadChecks(view);
  const gateway = await reach(view, connect);
  try {
    const made = await Promise.all([
      ...HOST_CHECKS.map((check) => attempt(check, () => check.find(view))),
      ...checks.map((check) => attempt(check, () => findingsOf(check, view, gateway))),
    ]);
    const findings = made.flatMap((audit) => audit.findings);
    return {
      findings: SEVERITIES.flatMap((wanted) => findings.filter(({ severity }) => severity === wanted)),
      skipped: [...skipped, ...made.flatMap((audit) => audit.skipped)],
    };
  } finally {
    if ("client" in gateway) await gateway.client.close();
  }
}

type Reached = { readonly client: GatewayClient } | { readonly reason: string };

async function attempt(
  { id, severity, why }: Pick<SecurityCheck, "id" | "severity" | "why">,
  find: () => readonly HostHit[] | Promise<readonly HostHit[]>,
): Promise<Audit> {
  try {
    return { findings: (await find()).map((hit) => ({ id, severity, why, ...hit })), skipped: [] };
  } catch (error) {
    return { findings: [], skipped: [{ id, reason: messageOf(error) }] };
  }
}

function findingsOf(check: SecurityCheck, view: HostView, gateway: Reached) {
  if ("find" in check) return check.find(view);
  if ("client" in gateway) return check.ask(gateway.client, view);
  throw new Error(gateway.reason);
}

/** Connects only if a gateway was started from this state directory: the default port may belong to another gateway. */
async function reach({ paths }: HostView, connect: CommandContext["connect"]): Promise<Reached> {
  const none = "needs a running gateway, and none responds; next: svc gateway run, then svc security audit";
  if (!existsSync(paths.startupReport)) return { reason: none };
  try {
    return { client: await connect({ scopes: ["operator.admin", "operator.pairing"], timeoutMs: PATIENCE }) };
  } catch (error) {
    const [why = ""] = messageOf(error).split("\n");
    return { reason: `${none} (${why})` };
  }
}
