/**
 * Going on from an earlier response: in its session where nothing was said after it, else in a new one that has the
 * conversation up to it. Choice: so one response can be gone on from several times, as with the public API; where the
 * request names the session, it has to be that one.
 */
import { type AgentAddress, headerOf } from "@svc/kit/agent-address";
import type { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import type { Message } from "@svc/sdk/models";
import type { Sessions, TranscriptItem } from "@svc/sdk/sessions";
import { type Path, refuse } from "./check.ts";
import type { KeptResponse } from "./store.ts";

/** What it takes. */
export interface ContinuingSources {
  readonly sessions: Pick<Sessions, "get" | "transcript" | "canonicalKey" | "agentOf">;
  readonly runs: Pick<AgentRuns, "active">;
  readonly agents: Pick<AgentDirectory, "has">;
  readonly newId: () => string;
}

/** Where a request goes on. */
export interface Continuation {
  readonly address: AgentAddress;
  /** What was said until then; shown to the model by `history` where the session is a new one. */
  readonly before: readonly Message[];
}

/** Choice: messages that are looked at for the end of a conversation that nobody went on with. */
const TAIL = 20;
/** Choice: messages that a new session takes over at most. */
const BRANCH = 1_000;

const PATH: Path = ["previous_response_id"];

/** @throws GatewayError `INVALID_REQUEST`, the same for all there is no going on from */
export async function continueFrom(
  kept: KeptResponse,
  headers: Parameters<typeof headerOf>[0],
  sources: ContinuingSources,
): Promise<Continuation> {
  const { sessions, runs, agents, newId } = sources;
  const { sessionKey, sessionId, answeredAt } = kept;
  const named = headerOf(headers, "x-svc-session-key");
  if (named !== undefined && sessions.canonicalKey(named) !== sessionKey) {
    refuse(PATH, "the response is of another session than x-svc-session-key names; leave one of them out");
  }
  const agentId = sessions.agentOf(sessionKey);
  const entry = await sessions.get(sessionKey);
  if (answeredAt === 0 || entry?.sessionId !== sessionId || !agents.has(agentId)) noSuchResponse(kept.id);
  const tail = await sessions.transcript(sessionKey, TAIL);
  const end = endOf(tail, kept);
  if (end !== undefined && end === tail.length && runs.active(sessionKey).length === 0) {
    return { address: { agentId, sessionKey, isFresh: false }, before: messagesOf(tail) };
  }
  if (named !== undefined) {
    refuse(PATH, "its session has gone on since; leave previous_response_id out to go on where it is now");
  }
  const all = end === undefined || tail.length === TAIL ? await sessions.transcript(sessionKey, BRANCH) : tail;
  const branchAt = endOf(all, kept) ?? noSuchResponse(kept.id);
  const address = { agentId, sessionKey: freshKey(agentId, sources, newId()), isFresh: true };
  return { address, before: messagesOf(all.slice(0, branchAt)) };
}

/** As the public API says it. @throws GatewayError always: `INVALID_REQUEST` */
export function noSuchResponse(id: string): never {
  refuse(PATH, `there is no response ${id.slice(0, 64)} to go on from`, "previous_response_not_found");
}

/** Names of the tools whose calls the last answer left open. */
export function openCalls(messages: readonly Message[]): ReadonlyMap<string, string> {
  const at = messages.findLastIndex(({ role }) => role === "assistant");
  const answer = messages[at];
  if (answer?.role !== "assistant") return new Map();
  const answered = new Set(
    messages.slice(at).map((message) => (message.role === "toolResult" ? message.toolCallId : "")),
  );
  const calls = answer.content.filter((block) => block.type === "toolCall" && !answered.has(block.id));
  return new Map(calls.flatMap((block) => (block.type === "toolCall" ? [[block.id, block.name] as const] : [])));
}

function freshKey(agentId: string, { sessions }: ContinuingSources, id: string): string {
  return sessions.canonicalKey(`agent:${agentId}:openresponses:${id}`);
}

/** Place behind the message that answered, and behind the results of tools that the gateway ran beside the caller's. */
function endOf(items: readonly TranscriptItem[], { answeredAt, body }: KeptResponse): number | undefined {
  const at = items.findLastIndex(({ message }) => message.role === "assistant" && message.timestamp === answeredAt);
  if (at < 0) return undefined;
  const pending = new Set(outputOf(body).map(({ call_id }) => call_id));
  const after = items.slice(at + 1).findIndex(({ message }) => {
    return message.role !== "toolResult" || pending.has(message.toolCallId);
  });
  return after < 0 ? items.length : at + 1 + after;
}

function outputOf({ output }: KeptResponse["body"]): readonly { readonly call_id?: unknown }[] {
  return Array.isArray(output) ? (output as { readonly call_id?: unknown }[]) : []; // written by this plugin only
}

const messagesOf = (items: readonly TranscriptItem[]): readonly Message[] => items.map(({ message }) => message);
