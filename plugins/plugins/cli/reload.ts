/** `svc plugins reload <id>`: reloads the code of one plugin in the running gateway. */
import type { ResultOf } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { detailsCode, GatewayError, isGatewayError } from "@svc/sdk/errors";
import { plugins } from "@svc/sdk/plugins";
import { atGateway } from "./live.ts";

/** Milliseconds. A reload waits for calls in progress and for the plugin's own stop and start. */
const TIMEOUT = 120_000;

type Reloaded = ResultOf<typeof plugins.reload>;

/** @returns 0 if the new version runs, 1 otherwise */
export async function reloadPlugin(id: string, context: CommandContext): Promise<number> {
  const report = await atGateway(context, (client) =>
    client.call(plugins.reload, { id }, { timeoutMs: TIMEOUT }).catch((error: unknown) => {
      throw withNextStep(error);
    }),
  );
  context.print(context.json ? report : describeReload(report));
  return report.ok ? 0 : 1;
}

/** Pure. */
export function describeReload({ id, ok, reason, state, generation, rolledBack, restarted, heldMs }: Reloaded): string {
  const held = `calls to it were held ${heldMs} ms`;
  const others = restarted.length > 0 ? [`restarted with it: ${restarted.join(", ")}`] : [];
  if (ok) return [`${id}: reloaded, generation ${generation}; ${held}`, ...others].join("\n");
  const became = rolledBack
    ? `rolled back: the previous version runs again (generation ${generation}); ${held}`
    : state === "active"
      ? `the previous version keeps running (generation ${generation})`
      : `the plugin is now ${state}; ${held}`;
  return [`${id}: not reloaded: ${reason ?? "no reason given"}`, became, ...others, `Next: svc plugins why ${id}`].join(
    "\n",
  );
}

function withNextStep(error: unknown): unknown {
  if (!isGatewayError(error)) return error;
  const next =
    error.code === "NOT_FOUND"
      ? "svc plugins list"
      : detailsCode(error) === "UNKNOWN_METHOD"
        ? "add the plugin that serves the method to plugins.use: svc config get plugins.use"
        : undefined;
  return next ? new GatewayError(error.code, `${error.message}\nNext: ${next}`, { details: error.details }) : error;
}
