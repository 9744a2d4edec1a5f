/** Whether a model refused a question because it does not fit into its window. Decides only. */
import { isGatewayError } from "@svc/sdk";

/** How servers put it; none of them has a code for it that others share. */
const WORDS =
  /context[ _-]?(?:length|window|size)|maximum context|too many (?:input )?tokens|prompt is too long|input is too long|exceeds? .{0,40}tokens?\b|context_length_exceeded|request too large/i;

/** Choice: only refusals count, so that a broken connection whose text mentions tokens is not taken for one. */
export function isContextOverflow(error: unknown): boolean {
  if (!isGatewayError(error)) return false;
  const details = (error.details ?? {}) as { readonly kind?: unknown; readonly status?: unknown }; // `ProviderFailure`, where the provider gives one
  if (details.kind !== undefined && details.kind !== "request") return false;
  return details.status === 413 || WORDS.test(error.message);
}
