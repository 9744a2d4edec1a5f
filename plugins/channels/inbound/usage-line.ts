/** Line below an answer with its usage, if the session wants it. Pure. Spec: protocol/methods-sessions.md §5 `responseUsage`. */
import type { RunOutcome } from "@svc/sdk/agents";

/**
 * @param mode `responseUsage` of the session: `tokens`: tokens; `full`: also model, cache and price; anything else: none
 * @returns `undefined` if there is no line
 */
export function usageLine(
  mode: unknown,
  { usage, provider, model }: Pick<RunOutcome, "usage" | "provider" | "model">,
): string | undefined {
  if (!usage || (mode !== "tokens" && mode !== "full")) return undefined;
  const { input, output, cacheRead, cacheWrite, cost } = usage;
  const tokens = `tokens: ${input} in, ${output} out`;
  if (mode === "tokens") return `[${tokens}]`;
  const parts = [
    ...(model === undefined ? [] : [provider === undefined ? model : `${provider}/${model}`]),
    tokens,
    ...(cacheRead + cacheWrite === 0 ? [] : [`cache: ${cacheRead} read, ${cacheWrite} written`]),
    ...(cost === undefined ? [] : [`$${cost.total.toFixed(4)}`]),
  ];
  return `[${parts.join("; ")}]`;
}
