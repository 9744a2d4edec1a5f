/** Whether asking again later may help a run that failed. Decides only. */
import { isGatewayError } from "@svc/sdk";
import type { ProviderFailure } from "@svc/sdk/services";

/** They stay until somebody changes the key, the account or the question. */
const STAYS: ReadonlySet<unknown> = new Set<ProviderFailure["kind"]>(["auth", "billing", "request"]);

export function mayPass(error: unknown): boolean {
  if (!isGatewayError(error) || error.code !== "UNAVAILABLE") return false;
  const { details } = error;
  const kind = typeof details === "object" && details !== null && "kind" in details ? details.kind : undefined;
  return !STAYS.has(kind);
}
