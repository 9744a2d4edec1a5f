/**
 * Agent and account ids, and the agent and session addressed by a request of the chat-compatible APIs. Pure. Spec:
 * http/chat-completions.md §3 and §9.
 */
import { invalidRequest } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import { refusal } from "@svc/sdk/errors";
import type { Sessions } from "@svc/sdk/sessions";
import type { ToolAddress } from "@svc/sdk/tools";

/** Headers as passed to a route: alias names are already rewritten to `x-svc-*`. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The parts of a request that address an agent and a session. */
export interface AddressedRequest {
  readonly headers: Headers;
  readonly model?: string | undefined;
  readonly user?: string | undefined;
}

/** Dependencies of `agentAddress`. */
export interface AddressSources {
  readonly agents: Pick<AgentDirectory, "defaultId" | "has">;
  readonly sessions: Pick<Sessions, "canonicalKey" | "agentOf">;
  /** `gateway.aliases`. */
  readonly aliases: readonly string[];
  /** Word used in session keys, e.g. `openai`: `agent:<id>:<word>-user:<user>` or `agent:<id>:<word>:<new id>`. */
  readonly word: string;
  readonly newId: () => string;
}

/** The addressed agent and session. */
export interface AgentAddress {
  readonly agentId: string;
  /** Canonical. */
  readonly sessionKey: string;
  /** The session was created for this request; the request named none. */
  readonly isFresh: boolean;
}

/** Sessions reserved for the gateway. */
const RESERVED = /^(?:agent:[^:]*:)?(?:subagent|cron|acp):/i;
const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/i;

/**
 * Normalizes an id for use in keys: lower case, other characters as `-`, at most 64; `fallback` if empty. Spec:
 * http/sessions-routing.md §1.
 */
export function normalizeId(id: string | undefined, fallback: string = "main"): string {
  const clean = (id ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^[-_]+|-+$/g, "")
    .slice(0, 64);
  return clean || fallback;
}

/** The first value of a header, trimmed; `undefined` if absent or blank. */
export function headerOf(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value)?.trim() || undefined;
}

/**
 * Address of the caller, from headers, for tools.
 * @param channelId resolves a channel name to an id; default: names are ids
 */
export function toolAddressOf(
  headers: Headers,
  channelId: (name: string) => string | undefined = () => undefined,
): ToolAddress | undefined {
  const channel = headerOf(headers, "x-svc-message-channel")?.toLowerCase();
  const accountId = headerOf(headers, "x-svc-account-id");
  const to = headerOf(headers, "x-svc-message-to");
  const threadId = headerOf(headers, "x-svc-thread-id");
  const address: ToolAddress = {
    ...(channel === undefined ? {} : { channel: channelId(channel) ?? channel }),
    ...(accountId === undefined ? {} : { accountId }),
    ...(to === undefined ? {} : { to }),
    ...(threadId === undefined ? {} : { threadId }),
  };
  return Object.keys(address).length > 0 ? address : undefined;
}

/**
 * Resolves the address in this order: session key, agent header, model string, default agent. Choice: an agent that is
 * not configured is refused instead of being replaced by the default agent. A model string without an agent (`gpt-4o`)
 * means the default agent, because many programs have built-in model names.
 * @throws GatewayError `NOT_FOUND` with `details.code` `model_not_found`; `INVALID_REQUEST` for a reserved or malformed
 * key
 */
export function agentAddress(request: AddressedRequest, sources: AddressSources): AgentAddress {
  const { agents, sessions, word, newId } = sources;
  const key = headerOf(request.headers, "x-svc-session-key");
  if (key !== undefined) {
    if (RESERVED.test(key))
      invalidRequest(`session ${key} is reserved for the gateway; use another key in x-svc-session-key`);
    const sessionKey = sessions.canonicalKey(key);
    const agentId = sessions.agentOf(sessionKey);
    if (!agents.has(agentId)) noAgent(agentId);
    return { agentId, sessionKey, isFresh: false };
  }
  const agentId = agentOf(request, sources);
  const user = request.user?.trim();
  const rest = user ? `${word}-user:${user}` : `${word}:${newId()}`;
  return { agentId, sessionKey: sessions.canonicalKey(`agent:${agentId}:${rest}`), isFresh: !user };
}

function agentOf({ headers, model }: AddressedRequest, { agents, aliases }: AddressSources): string {
  const header = headerOf(headers, "x-svc-agent-id") ?? headerOf(headers, "x-svc-agent");
  const named = header ?? agentInModel(model, aliases);
  if (named === undefined) return agents.defaultId;
  const id = named.toLowerCase();
  return AGENT_ID.test(id) && agents.has(id) ? id : noAgent(named);
}

/** Agent id in `svc:<id>`, `svc/<id>` or `agent:<id>`; `undefined` for the default agent and for model names. */
function agentInModel(model: string | undefined, aliases: readonly string[]): string | undefined {
  const [, prefix = "", mark, id] = /^([a-z][a-z0-9-]*)([:/])(.+)$/i.exec(model?.trim() ?? "") ?? [];
  const names = ["svc", ...aliases].includes(prefix.toLowerCase());
  const isNamed = names || (prefix.toLowerCase() === "agent" && mark === ":");
  return isNamed && id !== "default" ? id : undefined;
}

function noAgent(name: string): never {
  throw refusal("model_not_found", `no agent "${name.slice(0, 64)}"; GET /v1/models lists the available ones`);
}
