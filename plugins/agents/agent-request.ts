/** Params of the method `agent` to a run request: which session, may it be used, and what is asked. Spec: protocol/methods-agent.md §1. */
import {
  type agents,
  type ConnectionInfo,
  invalidRequest,
  type Logger,
  notFound,
  type ParamsOf,
  type Principal,
} from "@svc/sdk";
import {
  type AgentDirectory,
  readAttachments,
  type RunRequest,
  type SessionEntry,
  type Sessions,
} from "@svc/sdk/services";
import { normalizeAgentId } from "./directory.ts";

export type AgentParams = ParamsOf<typeof agents.run>;

export interface RequestSources {
  readonly services: { readonly sessions: Sessions };
  readonly agents: AgentDirectory;
  /** Key of the session with this id. @throws GatewayError `NOT_FOUND` */
  findSession(sessionId: string, principal: Principal): Promise<string>;
  readonly log: Pick<Logger, "info">;
}

export interface Caller {
  readonly principal: Principal;
  readonly connection: ConnectionInfo | undefined;
}

/** Choice: words a run starts with after a bare `/new` or `/reset`. */
const GREETING =
  "A new conversation has just been started. Greet the user in one or two sentences and ask what they would like to do.";

/**
 * Creates or updates the session's entry, and resets it for `/new` and `/reset`, before the run is accepted.
 * @throws GatewayError `INVALID_REQUEST` for what cannot be done, `NOT_FOUND` for an agent or session that is not
 *   there, `UNAVAILABLE` when a reset is denied
 */
export async function toRunRequest(params: AgentParams, caller: Caller, sources: RequestSources): Promise<RunRequest> {
  const { sessions } = sources.services;
  refuseDelivery(params);
  const { images, dropped } = readAttachments(params.attachments);
  for (const reason of dropped) sources.log.info({ runId: params.idempotencyKey }, `attachment left out: ${reason}`);
  const text = params.message.trim();
  if (text === "" && images.length === 0) invalidRequest("the message is empty; send text or an image");

  const sessionKey = await sessionKeyOf(params, caller.principal, sources);
  const spawnedBy = params.spawnedBy === undefined ? undefined : sessions.canonicalKey(params.spawnedBy);
  const entry = await sessions.get(sessionKey);
  if (entry?.sendPolicy === "deny") {
    invalidRequest(`session ${sessionKey} takes no messages: its send policy is "deny"`);
  }
  const message = await afterReset(text, sessionKey, entry, sessions);
  await sessions.ensure(sessionKey, {
    ...(params.label === undefined ? {} : { label: params.label }),
    ...(spawnedBy === undefined ? {} : { spawnedBy }),
  });
  const connectionId = toolConnection(caller);
  return {
    runId: params.idempotencyKey,
    sessionKey,
    message,
    ...(images.length > 0 ? { images } : {}),
    ...(params.thinking === undefined ? {} : { thinking: params.thinking }),
    ...(params.timeout === undefined ? {} : { timeoutMs: params.timeout * 1_000 }),
    ...(params.extraSystemPrompt === undefined ? {} : { extraSystemPrompt: params.extraSystemPrompt }),
    origin: "agent",
    ...(connectionId === undefined ? {} : { connectionId }),
    principal: caller.principal,
  };
}

/** The caller's connection, when it asked for tool events. Spec: protocol/events.md §3. */
export function toolConnection({ connection }: Caller): string | undefined {
  return connection?.caps.includes("tool-events") ? connection.id : undefined;
}

/** Nothing that was asked for is dropped in silence: without channels there is nowhere to deliver to. */
function refuseDelivery({ deliver, channel, replyChannel }: AgentParams): void {
  for (const [name, value] of Object.entries({ channel, replyChannel })) {
    if (value === undefined || value === "" || value === "last" || value === "webchat") continue;
    invalidRequest(`unknown channel "${value}": no channel is configured; leave out \`${name}\` or use "webchat"`);
  }
  if (deliver === true) {
    invalidRequest("no channel is configured to deliver to; leave out `deliver` and read the reply here");
  }
}

/** Canonical. The key wins, then the agent's main session, then the session id, then the main session. */
async function sessionKeyOf(params: AgentParams, principal: Principal, sources: RequestSources): Promise<string> {
  const { agents } = sources;
  const { sessions } = sources.services;
  const agentId = params.agentId === undefined ? undefined : normalizeAgentId(params.agentId);
  if (agentId !== undefined) requireAgent(agentId, agents);
  if (params.sessionKey) {
    const key = sessions.canonicalKey(params.sessionKey);
    const owner = sessions.agentOf(key);
    if (agentId !== undefined && owner !== agentId) {
      invalidRequest(`session ${key} belongs to agent "${owner}", not to "${agentId}"; leave out one of the two`);
    }
    requireAgent(owner, agents);
    return key;
  }
  if (agentId !== undefined) return sessions.canonicalKey(`agent:${agentId}:main`);
  if (params.sessionId) return sources.findSession(params.sessionId, principal);
  return sessions.defaults().mainSessionKey;
}

function requireAgent(agentId: string, agents: AgentDirectory): void {
  if (!agents.has(agentId)) notFound(`no agent "${agentId}"; agents.list shows the configured ones`);
}

/** The message that is left after `/new` or `/reset`, which restart a session that exists. Spec: methods-agent.md §1. */
async function afterReset(text: string, key: string, entry: SessionEntry | undefined, sessions: Sessions) {
  const command = /^\/(new|reset)(?:\s+([\s\S]*))?$/i.exec(text);
  if (!command) return text;
  if (entry) await sessions.reset(key, command[1]?.toLowerCase() === "new" ? "new" : "reset");
  return command[2]?.trim() || GREETING;
}
