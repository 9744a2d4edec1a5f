/** Handles one request to `/tools/invoke`. */
import { headerOf, toolAddressOf } from "@svc/kit/agent-address";
import {
  type Clock,
  GatewayError,
  type Live,
  type Logger,
  notFound,
  type RouteReply,
  type RouteRequest,
} from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { Delivery } from "@svc/sdk/channels";
import type { Sessions } from "@svc/sdk/sessions";
import type { Tools, ToolScene } from "@svc/sdk/tools";
import { FAILED, replyTo, UNSUPPORTED } from "./reply.ts";
import { argumentsOf, type Invocation, mayBeJson, parseInvocation } from "./request.ts";

export interface InvokeSources {
  readonly services: {
    readonly tools: Tools;
    readonly sessions: Pick<Sessions, "defaults" | "canonicalKey" | "agentOf">;
    readonly agents: Live<Pick<AgentDirectory, "has">>;
    readonly delivery: Live<Pick<Delivery, "channelId">>;
  };
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
}

type Request = Omit<RouteRequest<unknown>, "body">;

export function createInvoke({ services, clock, log }: InvokeSources): (request: Request) => Promise<RouteReply> {
  let last = 0;
  /** Unique even for several calls within one millisecond. Spec: §9. */
  const nextId = () => `http-${(last = Math.max(last + 1, clock.now()))}`;

  return async (request) => {
    if (!mayBeJson(headerOf(request.headers, "content-type"))) return UNSUPPORTED;
    const wish = parseInvocation(request.rawBody);
    const scene = sceneOf(request, wish, services);
    const { agentId, sessionKey, address } = scene;
    const toolCallId = nextId();
    const call = {
      name: wish.tool,
      toolCallId,
      runId: toolCallId,
      arguments: argumentsOf(
        wish,
        wish.action === undefined ? undefined : parametersOf(wish.tool, scene, services.tools),
      ),
      sessionKey,
      agentId,
      ...(address === undefined ? {} : { address }),
    };
    try {
      const attempt = await services.tools.attempt(call, scene, request.signal, { dryRun: wish.dryRun });
      return replyTo(attempt, { tool: wish.tool, agentId, sessionKey });
    } catch (error) {
      // A disconnect of the client needs no log line. Any other error: the result cannot be serialized as JSON.
      if (!request.signal.aborted)
        log.warn({ err: error, tool: wish.tool }, "the result of a tool could not be sent; the client gets 500");
      return FAILED;
    }
  };
}

/** @throws GatewayError `INVALID_REQUEST`: malformed session key; `NOT_FOUND`: the agent is not configured */
function sceneOf(
  { headers, principal }: Request,
  { sessionKey: wished }: Invocation,
  services: InvokeSources["services"],
): ToolScene {
  if (!principal) throw new GatewayError("UNAUTHORIZED", "Unauthorized");
  const { sessions, agents, delivery } = services;
  const sessionKey = wished === undefined ? sessions.defaults().mainSessionKey : sessions.canonicalKey(wished);
  const agentId = sessions.agentOf(sessionKey);
  // Choice: naming an agent that does not exist must not bypass the rules of the configured agents.
  if (agents.get()?.has(agentId) === false) notFound(`no agent "${agentId}"; agents.list shows the configured ones`);
  const address = toolAddressOf(headers, (name) => delivery.get()?.channelId(name));
  return { surface: "http", agentId, sessionKey, principal, ...(address === undefined ? {} : { address }) };
}

function parametersOf(name: string, scene: ToolScene, tools: Tools): unknown {
  return tools.specs(scene).find((spec) => spec.name === name)?.parameters;
}
