/** Whether asking again later may help a run that failed. Decides only. */
import { isGatewayError } from "@svc/sdk";
import { PROVIDER_FAILURES, type ProviderFailure, type RunOutcome } from "@svc/sdk/services";

/** They stay until somebody changes the key, the account or the question. */
const STAYS: ReadonlySet<unknown> = new Set<ProviderFailure["kind"]>(["auth", "billing", "request"]);

/** What a record says of the error: `retryable`, and `failure` where a model server said how it failed. */
export function failureFacts(error: unknown): Pick<RunOutcome, "retryable" | "failure"> {
  if (!isGatewayError(error) || error.code !== "UNAVAILABLE") return {};
  const { details } = error;
  const given = typeof details === "object" && details !== null && "kind" in details ? details.kind : undefined;
  const failure = PROVIDER_FAILURES.find((kind) => kind === given);
  return { ...(STAYS.has(failure) ? {} : { retryable: true }), ...(failure === undefined ? {} : { failure }) };
}
