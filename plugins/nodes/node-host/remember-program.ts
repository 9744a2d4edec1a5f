/** What somebody allows for good on this node: the command goes on the allowlist of its policy file. Spec: protocol/methods-exec-approvals.md §4. */
import { type ExecPolicyStore, withAllowed } from "@svc/kit/exec";
import { isGatewayError } from "@svc/sdk";
import type { AllowedProgram } from "@svc/sdk/approvals";

/** Further attempts when somebody else changes the file meanwhile. */
const ATTEMPTS = 5;

/**
 * @throws GatewayError the file cannot be read or written, or changes all the time
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
