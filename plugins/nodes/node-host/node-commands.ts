/** The commands of this node. Spec: protocol/clients.md §4. */
import { findOnPath } from "@svc/kit/exec";
import { childEnvironment } from "./environment.ts";
import { findNotifier, notify } from "./notify.ts";
import {
  checked,
  NotifyParams,
  PolicyGetParams,
  PolicySetParams,
  PrepareParams,
  RunParams,
  WhichParams,
} from "./params.ts";
import { NodeRefusal } from "./refusal.ts";
import { prepareRun, type RunSurroundings, systemRun } from "./system-run.ts";

/** Executes a command with unchecked params. @throws NodeRefusal; GatewayError of the policy file */
export type NodeCommand = (params: unknown) => Promise<unknown>;

export interface NodeCommands {
  /** Commands declared to the gateway. */
  readonly declared: readonly string[];
  readonly byName: ReadonlyMap<string, NodeCommand>;
}

export async function createNodeCommands(at: RunSurroundings): Promise<NodeCommands> {
  const notifier = await findNotifier(at.places);
  const byName = new Map<string, NodeCommand>([
    ["system.run.prepare", async (given) => prepareRun(checked(PrepareParams, "system.run.prepare", given), at)],
    ["system.run", async (given) => systemRun(checked(RunParams, "system.run", given), at)],
    ["system.which", async (given) => which(checked(WhichParams, "system.which", given), at)],
    [
      "system.notify",
      async (given) => {
        const env = childEnvironment(at.env, {}, at.secrets());
        return notify(checked(NotifyParams, "system.notify", given), notifier, env, at.signal);
      },
    ],
    [
      "system.execApprovals.get",
      async (given) => {
        checked(PolicyGetParams, "system.execApprovals.get", given);
        return at.policy.get();
      },
    ],
    [
      "system.execApprovals.set",
      async (given) => {
        const { file, baseHash } = checked(PolicySetParams, "system.execApprovals.set", given);
        const snapshot = await at.policy.set(file, baseHash ?? undefined);
        at.note("the policy file was replaced by the gateway");
        return snapshot;
      },
    ],
  ]);
  const declared = [...byName.keys()].filter((name) => name !== "system.notify" || notifier !== undefined);
  return { declared, byName };
}

async function which({ bins }: WhichParams, { places }: RunSurroundings): Promise<{ bins: Record<string, string> }> {
  const found: [string, string][] = [];
  for (const name of new Set(bins)) {
    if (/[/\\\0]/.test(name)) {
      throw new NodeRefusal("INVALID_REQUEST", "at /bins: names must not contain a directory");
    }
    const path = await findOnPath(name, places);
    if (path !== undefined) found.push([name, path]);
  }
  return { bins: Object.fromEntries(found) };
}
