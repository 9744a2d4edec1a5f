/** File contents with which commands were prepared; an approval covers exactly these contents. */
import { bindFiles, type Binding, bindingFault, type ExecRules } from "@svc/kit/exec";
import type { BoundFile } from "@svc/sdk/approvals";
import type { PlacedPlan } from "./command-plan.ts";
import { NodeRefusal } from "./refusal.ts";

/** Choice: maximum remembered commands; above it the oldest is dropped. */
const MAX_PREPARED = 1_000;

/** Contents by prepared command, for gateways and clients that do not send them with an approval. */
export class PreparedContents {
  readonly #byPlan = new Map<string, readonly BoundFile[]>();

  keep(plan: PlacedPlan, files: readonly BoundFile[]): void {
    const key = keyOf(plan);
    this.#byPlan.delete(key);
    this.#byPlan.set(key, files);
    const [oldest] = this.#byPlan.keys();
    if (this.#byPlan.size > MAX_PREPARED && oldest !== undefined) this.#byPlan.delete(oldest);
  }

  /** Contents of the latest preparation; `undefined`: never prepared, or dropped. */
  of(plan: PlacedPlan): readonly BoundFile[] | undefined {
    return this.#byPlan.get(keyOf(plan));
  }
}

function keyOf({ argv, cwd, agentId, sessionKey }: PlacedPlan): string {
  return JSON.stringify([argv, cwd, agentId, sessionKey]);
}

/** Whether every command runs without a question, so that no contents are bound. Pure. */
export function bindsNothing({ security, ask }: ExecRules): boolean {
  return security === "full" && ask === "off";
}

const SINCE = "call system.run.prepare, and request a new approval";

/**
 * Why an approved command must not run: its contents are not the approved ones. `undefined`: they are.
 * @param approved contents that people were shown; `undefined`: none
 */
export function otherContents(approved: readonly BoundFile[] | undefined, now: Binding): string | undefined {
  if (now.fault !== undefined) return now.fault;
  if (approved === undefined && now.files.length === 0) return undefined;
  if (approved === undefined) return `the files it runs were not shown to people; ${SINCE}`;
  const fault = bindingFault({ ...now, files: approved }, now);
  return fault === undefined ? undefined : `${fault}; ${SINCE}`;
}

/** @throws NodeRefusal `INVALID_REQUEST`: the contents cannot be bound, so they cannot be approved */
export async function contentsToApprove(run: Parameters<typeof bindFiles>[0]): Promise<Binding> {
  const binding = await bindFiles(run);
  if (binding.fault !== undefined) throw new NodeRefusal("INVALID_REQUEST", `at /command: ${binding.fault}`);
  return binding;
}
