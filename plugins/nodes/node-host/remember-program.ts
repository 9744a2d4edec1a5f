/** Adds a command that was allowed with `allow-always` to the allowlist of this node. Spec: protocol/methods-exec-approvals.md §4. */
import { type ExecPolicyStore, withAllowed } from "@svc/kit/exec";
import { isGatewayError } from "@svc/sdk";
import type { AllowedProgram } from "@svc/sdk/approvals";

/** Maximum attempts when the file is changed concurrently. */
const ATTEMPTS = 5;

/**
 * @throws GatewayError the file cannot be read or written, or keeps changing
 */
export async function rememberProgram(
  policy: ExecPolicyStore,
  agentId: string | null,
  entry: AllowedProgram,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { file, hash } = await policy.get();
    const wanted = withAllowed(file, agentId, entry);
    if (wanted === file) return;
    try {
      await policy.set(wanted, hash);
      return;
    } catch (error) {
      const isConflict = isGatewayError(error) && (error.code === "INVALID_REQUEST" || error.code === "CONFLICT");
      if (!isConflict || attempt >= ATTEMPTS) throw error;
    }
  }
}
