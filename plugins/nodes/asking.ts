/** Asking a node: whether it may be asked at all, with which params, and sending it. Spec: protocol/methods-node.md §2 and §4. */
import { invalidRequest, type Live, type Logger, notFound, unavailable } from "@svc/sdk";
import type { ExecApprovals } from "@svc/sdk/approvals";
import type { Devices } from "@svc/sdk/devices";
import { refusal } from "@svc/sdk/errors";
import type { NodeAnswer, NodeInvocation, NodeInvoker } from "@svc/sdk/nodes";
import {
  allowingStep,
  allowlistFor,
  type CommandRules,
  isGatewayOnly,
  POLICY_FILE_COMMANDS,
} from "./command-policy.ts";
import type { Invocations } from "./invocations.ts";
import type { ConnectedNode, NodeRegistry } from "./registry.ts";
import { approvedRun, planOf, readRun, type RunParams } from "./run-params.ts";
import { shownLine } from "./texts.ts";
import { isNodeDevice } from "./views.ts";

interface AskingSources {
  readonly registry: NodeRegistry;
  readonly invocations: Invocations;
  readonly devices: Pick<Devices, "get" | "pending">;
  readonly approvals: Live<ExecApprovals>;
  /** Records that a program is started there, before it is. */
  readonly starting: (run: { nodeId: string; runId: string; sessionKey: string | undefined }) => Promise<void>;
  readonly newId: () => string;
  /** As the configuration is now. */
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
      invalidRequest(`${command} is for the gateway alone; use exec.approvals.node.get or exec.approvals.node.set`, {
        command,
      });
    }
    const node = await this.#permitted(await this.#connected(nodeId), command);
    const params =
      command === "system.run" ? await this.#starting(node, invocation.params, invoker) : invocation.params;
    this.#sources.log.info({ nodeId, command, by: invoker.principal.id }, "a node is asked");
    const { timeoutMs, idempotencyKey } = invocation;
    return this.#sources.invocations.invoke(node, {
      command,
      params,
      timeoutMs,
      idempotencyKey,
      signal: invoker.signal,
    });
  }

  /** Past the allowlist, which holds for what clients ask. @throws GatewayError `UNAVAILABLE`, `NOT_FOUND` */
  async policyFile(
    nodeId: string,
    change?: { readonly file: unknown; readonly baseHash?: string },
  ): Promise<NodeAnswer> {
    const command = change ? POLICY_FILE_COMMANDS.set : POLICY_FILE_COMMANDS.get;
    const offering = await this.#current(await this.#connected(nodeId), command);
    if (!offering.offered.includes(command)) {
      const withheld = offering.withheld.includes(command);
      if (!withheld) {
        const message = `node ${nodeId} keeps no file that says what it may run`;
        throw refusal("NO_POLICY_FILE", message, { reason: NOT_DECLARED, command });
      }
      const message = `${command} of node ${nodeId} waits for an approval; see: svc devices list`;
      unavailable(message, { details: { reason: WITHHELD, command } });
    }
    return this.#sources.invocations.invoke(offering, { command, params: change ?? {} });
  }

  async #connected(nodeId: string): Promise<ConnectedNode> {
    const node = this.#sources.registry.get(nodeId);
    if (node) return node;
    const device = await this.#sources.devices.get(nodeId);
    if (!device || !isNodeDevice(device)) return unknownNode(nodeId);
    const name = shownLine(device.displayName, 100) ?? shownLine(nodeId, 100);
    throw refusal("NOT_CONNECTED", `node ${name} is not connected; start it there with: svc node run`);
  }

  /** Evaluated at each question: the configuration and what is pinned may have changed since the node connected. */
  async #permitted(known: ConnectedNode, command: string): Promise<ConnectedNode> {
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

  /** As the device record is now, where that may make a difference. */
  async #current(node: ConnectedNode, command: string): Promise<ConnectedNode> {
    if (!node.withheld.includes(command)) return node;
    const { registry, devices } = this.#sources;
    const device = await devices.get(node.nodeId);
    if (device) registry.repin(device);
    return registry.get(node.nodeId) ?? this.#connected(node.nodeId);
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

  /** Choice: a run without an id gets one, by which the node's reports of it are known. */
  async #starting(node: ConnectedNode, given: unknown, invoker: NodeInvoker): Promise<RunParams> {
    const { runId = this.#sources.newId(), ...params } = await this.#runParams(node, given, invoker);
    await this.#sources.starting({ nodeId: node.nodeId, runId, sessionKey: params.sessionKey });
    return { ...params, runId };
  }

  /** What may be forwarded; a claim to be allowed is decided by the approvals, on the plan they keep. */
  async #runParams(node: ConnectedNode, params: unknown, invoker: NodeInvoker): Promise<RunParams> {
    const { forwarded, claims } = readRun(params);
    if (!claims) return forwarded;
    if (forwarded.runId === undefined) {
      throw refusal("MISSING_RUN_ID", "approved needs runId: the id of the approval");
    }
    const approvals = this.#sources.approvals.get();
    if (!approvals) {
      const message = "approvals are not kept by this gateway; see: svc plugins why approvals";
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
}

const NOT_DECLARED = "command not declared by node";
/** Choice: declared, and not among the commands that were approved with the device. */
const WITHHELD = "command waits for approval";

/** @throws GatewayError always */
export function unknownNode(nodeId: string): never {
  return notFound(`unknown nodeId ${JSON.stringify(shownLine(nodeId, 100) ?? "")}; see: svc nodes list`);
}
