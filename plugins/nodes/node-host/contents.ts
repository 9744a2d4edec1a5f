/** The contents a command was prepared with, so that an approval of it is one of these and of no others. */
import { bindFiles, type Binding, bindingFault, type ExecRules } from "@svc/kit/exec";
import type { BoundFile } from "@svc/sdk/approvals";
import type { PlacedPlan } from "./command-plan.ts";
import { NodeRefusal } from "./refusal.ts";

/** Choice: prepared commands that are remembered; a further one takes the place of the oldest. */
const MAX_PREPARED = 1_000;

/** Contents by prepared command, for gateways and clients that do not send them along with an approval. */
export class PreparedContents {
  readonly #byPlan = new Map<string, readonly BoundFile[]>();

  keep(plan: PlacedPlan, files: readonly BoundFile[]): void {
    const key = keyOf(plan);
    this.#byPlan.delete(key);
    this.#byPlan.set(key, files);
    const [oldest] = this.#byPlan.keys();
    if (this.#byPlan.size > MAX_PREPARED && oldest !== undefined) this.#byPlan.delete(oldest);
  }

  /** As it was prepared last; `undefined`: it was not, or so long ago that it is forgotten. */
  of(plan: PlacedPlan): readonly BoundFile[] | undefined {
    return this.#byPlan.get(keyOf(plan));
  }
}

function keyOf({ argv, cwd, agentId, sessionKey }: PlacedPlan): string {
  return JSON.stringify([argv, cwd, agentId, sessionKey]);
}

/** Whether everything runs unasked, whatever lies there. Pure. */
export function bindsNothing({ security, ask }: ExecRules): boolean {
  return security === "full" && ask === "off";
}

const SINCE = "call system.run.prepare, and ask anew";

/**
 * Why an approved command does not run: what lies there is not what was approved. `undefined`: it is.
 * @param approved contents that people saw; `undefined`: nobody saw any
 */
export function otherContents(approved: readonly BoundFile[] | undefined, now: Binding): string | undefined {
  if (now.fault !== undefined) return now.fault;
  if (approved === undefined && now.files.length === 0) return undefined;
  if (approved === undefined) return `nobody was shown what it runs; ${SINCE}`;
  const fault = bindingFault({ ...now, files: approved }, now);
  return fault === undefined ? undefined : `${fault}; ${SINCE}`;
}

/** @throws NodeRefusal `INVALID_REQUEST`: its contents cannot be bound, so that nobody could be asked about them */
export async function contentsToApprove(run: Parameters<typeof bindFiles>[0]): Promise<Binding> {
  const binding = await bindFiles(run);
  if (binding.fault !== undefined) throw new NodeRefusal("INVALID_REQUEST", `at /command: ${binding.fault}`);
  return binding;
}
