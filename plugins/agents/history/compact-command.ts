/** `/compact [what to keep]`: a run that asks the agent nothing and sums up the conversation. Decides only. */
import type { RunRequest } from "@svc/sdk/services";

/** The instructions behind `/compact`, maybe empty; `undefined` for every other request. */
export function compactCommand({ message }: Pick<RunRequest, "message">): string | undefined {
  const [whole, instructions = ""] = /^\s*\/compact(?:\s+([^]*))?$/i.exec(message) ?? [];
  return whole === undefined ? undefined : instructions.trim();
}
