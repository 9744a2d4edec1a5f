/** Invokes commands of nodes: checks whether the command is allowed, prepares its params, and sends it. Spec: protocol/methods-node.md §2 and §4. */
import { invalidRequest, type Live, type Logger, notFound, unavailable } from "@svc/sdk";
import type { ExecApprovals } from "@svc/sdk/approvals";
import type { Devices } from "@svc/sdk/devices";
import { detailsCode, refusal } from "@svc/sdk/errors";
import type { NodeAnswer, NodeInvocation, NodeInvoker } from "@svc/sdk/nodes";
import type { Sessions } from "@svc/sdk/sessions";
import {
  allowingStep,
  allowlistFor,
  type CommandRules,
  isGatewayOnly,
  POLICY_FILE_COMMANDS,
} from "./command-policy.ts";
import type { Waking } from "./push/waking.ts";
import { repinned } from "./registry.ts";
import type { KnownNode, Routing } from "./routing.ts";
import { approvedRun, planOf, readRun, type RunParams } from "./run-params.ts";
import { judgedBySessions, needsFacts, sessionLimitsOn } from "./session-rules.ts";
import { shownLine } from "./texts.ts";
import { present } from "./values.ts";
import { isNodeDevice } from "./views.ts";

interface AskingSources {
  readonly routing: Pick<Routing, "node" | "invoke">;
  /** Wakes a node that is not connected. */
  readonly waking: Pick<Waking, "wake">;
  readonly devices: Pick<Devices, "get" | "pending">;
  readonly approvals: Live<ExecApprovals>;
  readonly sessions: Live<Sessions>;
  /** Records that a program will be started on the node; called before the start. */
  readonly starting: (run: { nodeId: string; runId: string; sessionKey: string | undefined }) => Promise<void>;
  readonly newId: () => string;
  /** The current configuration. */
  readonly rules: () => CommandRules;
  readonly log: Pick<Logger, "info">;
}

export class Asking {
  readonly #sources: AskingSources;

  constructor(sources: AskingSources) {
    this.#sources = sources;
  }

  /** @throws GatewayError as the method `node.invoke` */
  async invoke(invocation: NodeInvocation, invoker: NodeInvoker): Promise<NodeAnswer> {
    const [nodeId, command] = [invocation.nodeId.trim(), invocation.command.trim()];
    if (nodeId === "" || command === "") invalidRequest("nodeId and command must not be blank; see: svc nodes list");
    if (isGatewayOnly(command)) {
      invalidRequest(`${command} is reserved for the gateway; use exec.approvals.node.get or exec.approvals.node.set`, {
        command,
      });
    }
    const node = await this.#permitted(await this.#woken(nodeId, invoker.signal), command);
    const params =
      command === "system.run" ? await this.#starting(node, invocation.params, invoker) : invocation.params;
    this.#sources.log.info({ nodeId, command, by: invoker.principal.id }, "a command is sent to a node");
    const { timeoutMs, idempotencyKey } = invocation;
    const send = () =>
      this.#sources.routing.invoke(node, { command, params, timeoutMs, idempotencyKey, signal: invoker.signal });
    return command === PREPARE ? this.#prepare(node, invocation.params, send) : send();
  }

  /** Refuses what the session forbids before people are asked about it. @throws GatewayError `FORBIDDEN` */
  async #prepare(node: KnownNode, params: unknown, send: () => Promise<NodeAnswer>): Promise<NodeAnswer> {
    const { nodeId } = node;
    const { sessionKey } = Object(params) as { readonly sessionKey?: unknown };
    const limits = await sessionLimitsOn(nodeId, sessionKey, this.#sources.sessions);
    const answer = await send();
    if (!needsFacts(limits)) return answer;
    const policy = await this.#policy(nodeId);
    judgedBySessions(limits, { nodeId, params: readRun(params).forwarded, prepared: answer.payload, policy });
    return answer;
  }

  /** Bypasses the allowlist, which applies only to clients. @throws GatewayError `UNAVAILABLE`, `NOT_FOUND` */
  async policyFile(
    nodeId: string,
    change?: { readonly file: unknown; readonly baseHash?: string },
  ): Promise<NodeAnswer> {
    const command = change ? POLICY_FILE_COMMANDS.set : POLICY_FILE_COMMANDS.get;
    const offering = await this.#current(await this.#connected(nodeId), command);
    if (!offering.offered.includes(command)) {
      const withheld = offering.withheld.includes(command);
      if (!withheld) {
        const message = `node ${nodeId} has no policy file for commands`;
        throw refusal("NO_POLICY_FILE", message, { reason: NOT_DECLARED, command });
      }
      const message = `${command} of node ${nodeId} waits for an approval; see: svc devices list`;
      unavailable(message, { details: { reason: WITHHELD, command } });
    }
    return this.#sources.routing.invoke(offering, { command, params: change ?? {} });
  }

  /** The connected node, which is woken first if it has registered for push messages. */
  async #woken(nodeId: string, signal: AbortSignal | undefined): Promise<KnownNode> {
    const { routing, devices, waking } = this.#sources;
    const device = routing.node(nodeId) ? undefined : await devices.get(nodeId);
    if (device && isNodeDevice(device) && !routing.node(nodeId)) await waking.wake(nodeId, signal);
    return this.#connected(nodeId);
  }

  async #connected(nodeId: string): Promise<KnownNode> {
    const node = this.#sources.routing.node(nodeId);
    if (node) return node;
    const device = await this.#sources.devices.get(nodeId);
    if (!device || !isNodeDevice(device)) return unknownNode(nodeId);
    const name = shownLine(device.displayName, 100) ?? shownLine(nodeId, 100);
    throw refusal("NOT_CONNECTED", `node ${name} is not connected; start it there with: svc node run`);
  }

  /** Evaluated for each command: configuration and approved commands may have changed since the node connected. */
  async #permitted(known: KnownNode, command: string): Promise<KnownNode> {
    const node = await this.#current(known, command);
    const rules = this.#sources.rules();
    if (!allowlistFor(node.policyPlatform, rules).has(command)) {
      const text = JSON.stringify(shownLine(command, 200));
      const step = allowingStep(command, rules);
      invalidRequest(
        `node command not allowed: ${text} is not in the allowlist for ${node.policyPlatform}; to allow it: ${step}`,
        { reason: "command not allowlisted", command, platform: node.policyPlatform },
      );
    }
    if (node.offered.includes(command)) return node;
    if (node.declared.length === 0) {
      invalidRequest(`node ${node.nodeId} declared no commands; see: svc nodes describe ${node.nodeId}`, {
        reason: "node did not declare commands",
        command,
      });
    }
    if (!node.declared.includes(command)) {
      const message = `node ${node.nodeId} did not declare ${command}; see: svc nodes describe ${node.nodeId}`;
      throw refusal("COMMAND_NOT_DECLARED", message, { reason: NOT_DECLARED, command });
    }
    return this.#refuseWithheld(node.nodeId, command);
  }

  /** The node with commands approved since it connected. */
  async #current(node: KnownNode, command: string): Promise<KnownNode> {
    if (!node.withheld.includes(command)) return node;
    const device = await this.#sources.devices.get(node.nodeId);
    const now = await this.#connected(node.nodeId);
    return device ? repinned(now, device) : now;
  }

  /** @throws GatewayError always */
  async #refuseWithheld(nodeId: string, command: string): Promise<never> {
    const request = (await this.#sources.devices.pending()).find(({ deviceId }) => deviceId === nodeId);
    const step = request ? `svc devices approve ${request.requestId}` : "svc devices list";
    return invalidRequest(`${command} of node ${nodeId} waits for an approval: ${step}`, {
      reason: WITHHELD,
      command,
      ...(request && { requestId: request.requestId }),
    });
  }

  /** Choice: a run without an id gets one, which identifies the node's reports about it. */
  async #starting(node: KnownNode, given: unknown, invoker: NodeInvoker): Promise<RunParams> {
    const { runId = this.#sources.newId(), ...params } = await this.#runParams(node, given, invoker);
    await this.#sources.starting({ nodeId: node.nodeId, runId, sessionKey: params.sessionKey });
    return { ...params, runId };
  }

  /** The params to forward. A claim of an approval is checked by the approvals, and their stored plan applies. */
  async #runParams(node: KnownNode, params: unknown, invoker: NodeInvoker): Promise<RunParams> {
    const { forwarded, claims } = readRun(params);
    await this.#judgeSession(node, forwarded, claims !== undefined);
    if (!claims) return forwarded;
    if (forwarded.runId === undefined) {
      throw refusal("MISSING_RUN_ID", "approved requires runId, the id of the approval");
    }
    const approvals = this.#sources.approvals.get();
    if (!approvals) {
      const message = "this gateway runs no plugin for approvals; see: svc plugins why approvals";
      throw refusal("APPROVALS_UNAVAILABLE", message);
    }
    const allowed = await approvals.claim({
      approvalId: forwarded.runId,
      nodeId: node.nodeId,
      plan: planOf(forwarded),
      env: forwarded.env,
      claimed: claims.decision,
      principal: invoker.principal,
      deviceId: invoker.deviceId,
      connectionId: invoker.connectionId,
    });
    return approvedRun(forwarded, allowed);
  }

  /**
   * Applies the current settings of the session.
   * @throws GatewayError `FORBIDDEN`: they deny the program; `details.code` `SESSION_ASKS`: they require an approval
   */
  async #judgeSession(node: KnownNode, params: RunParams, isClaimed: boolean): Promise<void> {
    const { nodeId } = node;
    const limits = await sessionLimitsOn(nodeId, params.sessionKey, this.#sources.sessions);
    if (!needsFacts(limits)) return;
    const [prepared, policy] = await Promise.all([this.#prepared(node, params), this.#policy(nodeId)]);
    const refused = judgedBySessions(limits, { nodeId, params, prepared, policy });
    if (refused && !isClaimed) throw refused;
  }

  /** What the node would run; `undefined`: it does not support `system.run.prepare`. */
  async #prepared(node: KnownNode, { command, cwd, agentId, sessionKey }: RunParams): Promise<unknown> {
    if (!node.offered.includes(PREPARE)) return undefined;
    const params = present({ command, cwd, agentId, sessionKey });
    return (await this.#sources.routing.invoke(node, { command: PREPARE, params })).payload;
  }

  /** Policy file of the node; `undefined`: it has none. */
  async #policy(nodeId: string): Promise<unknown> {
    try {
      return (await this.policyFile(nodeId)).payload;
    } catch (error) {
      if (detailsCode(error) !== "NO_POLICY_FILE") throw error;
      return undefined;
    }
  }
}

const PREPARE = "system.run.prepare";
const NOT_DECLARED = "command not declared by node";
/** Choice: declared by the node, but not approved for the device. */
const WITHHELD = "command waits for approval";

/** @throws GatewayError always */
export function unknownNode(nodeId: string): never {
  return notFound(`unknown nodeId ${JSON.stringify(shownLine(nodeId, 100) ?? "")}; see: svc nodes list`);
}
