/** Turns the params of the method `agent` into a run request: checks and prepares its session, and builds its message. Spec: protocol/methods-agent.md §1. */
import { readAttachments } from "@svc/kit/media";
import type { Delivery } from "@svc/sdk/channels";
import { type ConnectionInfo, invalidRequest, type Logger, type ParamsOf, type Principal } from "@svc/sdk";
import type { AgentRuns, agents, ReplyDelivery, RunRequest } from "@svc/sdk/agents";
import { parseThinkingLevel, THINKING_LEVELS, type ThinkingLevel } from "@svc/sdk/models";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import { type ConfiguredAgents, findAgent } from "../directory/directory.ts";
import { readInternalEvent, taskCompletionText } from "../subagents/announcement.ts";

export type AgentParams = ParamsOf<typeof agents.run>;

type RequestDelivery = Pick<Delivery, "configured" | "channelId" | "sessionOf">;

export interface RequestSources {
  readonly services: { readonly sessions: Sessions };
  readonly agents: ConfiguredAgents;
  readonly runs: Pick<AgentRuns, "active">;
  /** The current service; `undefined`: no plugin delivers to channels. */
  delivery(): RequestDelivery | undefined;
  /** The key of the session with this id; `undefined`: there is none. */
  findSession(sessionId: string, principal: Principal): Promise<string | undefined>;
  readonly log: Pick<Logger, "info">;
}

export interface Caller {
  readonly principal: Principal;
  readonly connection: ConnectionInfo | undefined;
}

/** Choice: the message of a run after a bare `/new` or `/reset`. */
const GREETING =
  "A new conversation has just been started. Greet the user in one or two sentences and ask what they would like to do.";

/**
 * Creates or updates the session's entry, and resets the session if its reset policy, `/new` or `/reset` requires it,
 * before the run is accepted.
 * @throws GatewayError `INVALID_REQUEST` for invalid params, `NOT_FOUND` for an agent that does not exist,
 *   `UNAVAILABLE` when a reset is denied
 */
export async function toRunRequest(params: AgentParams, caller: Caller, sources: RequestSources): Promise<RunRequest> {
  const { sessions } = sources.services;
  const delivery = deliveryOf(params, sources.delivery());
  const channel = channelOf(params.channel) ?? channelOf(delivery?.channel);
  const { images, dropped } = readAttachments(params.attachments);
  for (const reason of dropped) sources.log.info({ runId: params.idempotencyKey }, `attachment left out: ${reason}`);
  const text = messageOf(params);
  if (text === "" && images.length === 0) invalidRequest("the message is empty; send text or an image");
  const thinking = thinkingOf(params.thinking);

  const sessionKey = await sessionKeyOf({ ...params, channel }, caller.principal, sources);
  const spawnedBy = params.spawnedBy === undefined ? undefined : sessions.canonicalKey(params.spawnedBy);
  const entry = await sessions.get(sessionKey);
  if (sessions.sendPolicy(sessionKey, entry) === "deny") {
    invalidRequest(`session ${sessionKey} accepts no messages: its send policy is "deny"`);
  }
  const message = await afterReset(text, sessionKey, entry, sources);
  await sessions.ensure(sessionKey, {
    ...(params.label === undefined ? {} : { label: params.label }),
    ...(spawnedBy === undefined ? {} : { spawnedBy }),
  });
  const lane = params.lane?.trim();
  const connectionId = toolConnection(caller);
  return {
    runId: params.idempotencyKey,
    sessionKey,
    message,
    ...(images.length > 0 ? { images } : {}),
    ...(thinking === undefined ? {} : { thinking }),
    ...(lane ? { lane } : {}),
    ...(params.timeout === undefined ? {} : { timeoutMs: params.timeout * 1_000 }),
    ...(params.extraSystemPrompt === undefined ? {} : { extraSystemPrompt: params.extraSystemPrompt }),
    source: "agent",
    ...(delivery
      ? { delivery: { ...delivery, isBestEffort: params.bestEffortDeliver ?? isMain(sessionKey, sources) } }
      : {}),
    ...(connectionId === undefined ? {} : { connectionId }),
    principal: caller.principal,
  };
}

/** The caller's connection, if it has the cap for tool events. Spec: protocol/events.md §3. */
export function toolConnection({ connection }: Caller): string | undefined {
  return connection?.caps.includes("tool-events") ? connection.id : undefined;
}

/** Built-in channel names: the reply stays in the gateway, or goes to the address of the session's last message. */
const WEBCHAT = "webchat";
const LAST = "last";

/** The name; `undefined` without one, and for a built-in one. */
function channelOf(name: string | undefined): string | undefined {
  return name === "" || name === WEBCHAT || name === LAST ? undefined : name;
}

/**
 * Where the reply is sent; `undefined`: only to the caller. Spec: `replyTo`, `replyChannel` and `replyAccountId` win.
 * @throws GatewayError `INVALID_REQUEST` for an unknown channel, or for a missing one when several are configured
 */
function deliveryOf(
  params: AgentParams,
  delivery: RequestDelivery | undefined,
): Omit<ReplyDelivery, "isBestEffort"> | undefined {
  const { deliver = false, threadId } = params;
  const configured = (delivery?.configured() ?? []).map(({ id }) => id);
  const known = configured.length === 0 ? "no channel is configured" : `configured: ${configured.join(", ")}`;
  const idOf = (name: string | undefined, field: string) => {
    const other = channelOf(name);
    if (other === undefined) return name || undefined;
    return delivery?.channelId(other) ?? invalidRequest(`${field}: unknown channel "${name}"; ${known}`);
  };
  const channel = idOf(params.channel, "channel");
  const replyChannel = idOf(params.replyChannel, "replyChannel");
  if (!deliver) return undefined;
  const to = params.replyTo || params.to;
  const accountId = params.replyAccountId || params.accountId;
  // Choice: a recipient without a channel belongs to the only channel; without a recipient, the last address is used.
  const named = [replyChannel, channel].find((name) => name !== undefined && (name !== LAST || !to));
  const wanted = named ?? (to ? onlyOf(configured, known) : LAST);
  if (wanted === WEBCHAT)
    invalidRequest('`deliver` cannot be used with the channel "webchat": its clients read the reply in the gateway');
  if (configured.length === 0) invalidRequest(`${known} to deliver to; leave out \`deliver\` and read the reply here`);
  return {
    channel: wanted,
    ...(to ? { to } : {}),
    ...(accountId ? { accountId } : {}),
    ...(threadId ? { threadId } : {}),
  };
}

function onlyOf(configured: readonly string[], known: string): string {
  const [only] = configured;
  return configured.length > 1 || only === undefined ? invalidRequest(`\`to\` needs a channel; ${known}`) : only;
}

/** Spec: in a main or global session, delivery is best effort by default. */
function isMain(key: string, { services: { sessions } }: RequestSources): boolean {
  return key === "global" || key === sessions.canonicalKey(`agent:${sessions.agentOf(key)}:main`);
}

/**
 * Canonical key: from the key, else the agent's main session, else the session id, else the session of the recipient,
 * else the main session.
 */
async function sessionKeyOf(
  params: Omit<AgentParams, "channel"> & { readonly channel: string | undefined },
  principal: Principal,
  sources: RequestSources,
): Promise<string> {
  const { agents } = sources;
  const { sessions } = sources.services;
  const agentId = params.agentId === undefined ? undefined : findAgent(params.agentId, agents).id;
  if (params.sessionKey) {
    const key = sessions.canonicalKey(params.sessionKey);
    const owner = sessions.agentOf(key);
    if (agentId !== undefined && owner !== agentId) {
      invalidRequest(`session ${key} belongs to agent "${owner}", not to "${agentId}"; leave out one of the two`);
    }
    findAgent(owner, agents);
    return key;
  }
  if (agentId !== undefined) return sessions.canonicalKey(`agent:${agentId}:main`);
  if (params.sessionId) return sessionWithId(params.sessionId, principal, sources);
  const { channel, to, accountId, threadId } = params;
  const delivery = sources.delivery();
  if (!to || channel === undefined || !delivery) return sessions.defaults().mainSessionKey;
  const more = { ...(accountId ? { accountId } : {}), ...(threadId ? { threadId } : {}) };
  return delivery.sessionOf({ channel, to, ...more });
}

/**
 * The session with this id, or a new one of the default agent. Spec: methods-agent.md §1: clients invent ids. Choice: its key is
 * `agent:<id>:explicit:<sessionId>`, which stays the same after a reset.
 */
async function sessionWithId(sessionId: string, principal: Principal, sources: RequestSources): Promise<string> {
  const found = await sources.findSession(sessionId, principal);
  if (found !== undefined) return found;
  const { sessions } = sources.services;
  const key = sessions.canonicalKey(`agent:${sources.agents.defaultId}:explicit:${sessionId}`);
  if (!(await sessions.get(key))) await sessions.begin(key, sessionId);
  return key;
}

/** Blank: none. @throws GatewayError `INVALID_REQUEST` that lists the levels */
function thinkingOf(word: string | undefined): ThinkingLevel | undefined {
  if (word === undefined || word.trim() === "") return undefined;
  return (
    parseThinkingLevel(word) ?? invalidRequest(`no thinking level "${word}"; levels: ${THINKING_LEVELS.join(", ")}`)
  );
}

/** The text of the message, followed by the texts of ended tasks. @throws GatewayError `INVALID_REQUEST` for other internal events */
function messageOf({ message, internalEvents = [] }: AgentParams): string {
  const events = internalEvents.map((value, index) => {
    const event = readInternalEvent(value);
    return event ? taskCompletionText(event) : invalidRequest(`internalEvents[${index}] is not a task_completion`);
  });
  return [message.trim(), ...events].filter(Boolean).join("\n\n");
}

/**
 * The message without `/new` or `/reset`, which reset an existing session. Any other message resets a stale session,
 * unless it has an active run. Spec: methods-agent.md §1, http/sessions-routing.md §5.
 */
async function afterReset(
  text: string,
  key: string,
  entry: SessionEntry | undefined,
  { services: { sessions }, runs }: RequestSources,
): Promise<string> {
  const command = /^\/(new|reset)(?:\s+([\s\S]*))?$/i.exec(text);
  if (!command) {
    if (runs.active(key).length === 0) await sessions.freshen(key);
    return text;
  }
  if (entry) await sessions.reset(key, command[1]?.toLowerCase() === "new" ? "new" : "reset");
  return command[2]?.trim() || GREETING;
}
