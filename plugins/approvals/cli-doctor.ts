/** `svc approvals doctor`: finds commands that need an answer nobody could give, and allowlist entries that allow nothing. */
import { bounded, rulesFor } from "@svc/kit/exec";
import { coversScope } from "@svc/sdk";
import { execApproval, execApprovals, type ExecPolicyFile } from "@svc/sdk/approvals";
import { configAt, type DoctorFinding } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { config } from "@svc/sdk/config";
import { devices, type PairedDevice } from "@svc/sdk/devices";
import { detailsCode } from "@svc/sdk/errors";
import { addCommand, deadEntries } from "./cli-allowlist.ts";
import type { Forwarding } from "./config.ts";

/** State of the gateway that the checks need. */
export interface Asked {
  readonly policy: ExecPolicyFile;
  /** `tools.exec.ask`. */
  readonly execAsk?: unknown;
  /** Connections that could decide now. */
  readonly connected: number;
  /** `approvals.approvers`. */
  readonly listed?: readonly string[];
  /** `approvals.exec`. */
  readonly inChats?: Forwarding | undefined;
  readonly paired: readonly Pick<PairedDevice, "deviceId" | "tokens">[];
}

/** @param client client of an admin; not counted as an approver */
export async function approvalFindings(client: GatewayClient): Promise<readonly DoctorFinding[]> {
  const [{ file: policy }, { approvers }, { resolved }, { paired = [] }] = await Promise.all([
    client.call(execApprovals.get, {}),
    client.call(execApproval.list, { limit: 1 }),
    ifServed(client.call(config.get, {})),
    ifServed(client.call(devices.list, {})),
  ]);
  const execAsk = configAt(resolved, "tools.exec.ask");
  const inChats = configAt(resolved, "approvals.exec") as Forwarding | undefined; // the gateway has checked it
  return findingsOf({ policy, execAsk, ...(approvers ?? { connected: 0 }), inChats, paired });
}

/** Pure. Choice: checks only the gateway's policy file, since nodes may be offline. */
export function findingsOf(asked: Asked): readonly DoctorFinding[] {
  return [...nobodyAnswers(asked), ...deadEntries(asked.policy).map(([id, patterns]) => deadFinding(id, patterns))];
}

/** Choice: reported even when the allowlist has no effect now, since its owner relies on it. */
function deadFinding(agentId: string, patterns: readonly string[]): DoctorFinding {
  const [first = ""] = patterns;
  const shown = patterns.slice(0, 5).map((pattern) => bounded(pattern, 100));
  const more = patterns.length > shown.length ? `, and ${patterns.length - shown.length} more` : "";
  const add = addCommand(first, "--agent", agentId);
  return {
    severity: "warning",
    check: "approvals",
    about: `allowlist of ${bounded(agentId, 60)}`,
    message: `these entries allow nothing, because their programs have no profile of harmless arguments: ${shown.join(", ")}${more}`,
    next: `${add} -- <exact arguments>; or ${add} --any-arguments, which allows any command through that program`,
  };
}

function nobodyAnswers({ policy, execAsk, connected, listed, inChats, paired }: Asked): readonly DoctorFinding[] {
  const isAskedAnyway = execAsk === "always" || execAsk === "on-miss";
  const asking = ["*", ...Object.keys(policy.agents ?? {}).filter((id) => id !== "*")].filter((id) => {
    const { security, ask } = rulesFor(policy, id);
    return security !== "deny" && (ask !== "off" || isAskedAnyway) && !mayDecideInChats(id, inChats);
  });
  if (asking.length === 0 || connected > 0 || paired.some((device) => mayDecide(device, listed))) return [];
  const who = asking[0] === "*" ? "agents" : `agent ${asking.join(", ")}`;
  const lack = listed === undefined ? "has the scope operator.approvals" : "is in approvals.approvers";
  return [
    {
      severity: "warning",
      check: "approvals",
      about: "commands",
      message: `commands of ${who} need an approval, and nobody can answer: no operator that ${lack} is connected or paired`,
      next:
        listed === undefined
          ? "svc approvals watch, in a terminal that stays open; or pair a device: svc devices list"
          : "svc approvals watch, run by a listed approver; or add the id of a paired device to the list: svc devices list",
    },
  ];
}

function mayDecide({ deviceId, tokens = [] }: Asked["paired"][number], listed: Asked["listed"]): boolean {
  if (listed !== undefined && !listed.includes(deviceId)) return false;
  return tokens.some(
    ({ role, scopes, revokedAtMs }) =>
      role === "operator" && revokedAtMs === undefined && coversScope(scopes, "operator.approvals"),
  );
}

/** Choice: a filter of sessions is not considered. */
function mayDecideInChats(agentId: string, { enabled, approvers = [], agentFilter }: Forwarding = {}): boolean {
  return enabled === true && approvers.length > 0 && (agentFilter?.includes(agentId) ?? true);
}

/** An empty object when the gateway does not serve the method. */
async function ifServed<T extends object>(answer: Promise<T>): Promise<Partial<T>> {
  try {
    return await answer;
  } catch (error) {
    if (detailsCode(error) === "UNKNOWN_METHOD") return {};
    throw error;
  }
}
