/**
 * Continues an earlier response: in its session if no message followed the response, else in a new session that has the
 * conversation up to the response. Choice: one response can thus be continued several times, as in the public API. A
 * session named in the request must be the session of the response.
 */
import { type AgentAddress, headerOf } from "@svc/kit/agent-address";
import type { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import type { Message } from "@svc/sdk/models";
import type { Sessions, TranscriptItem } from "@svc/sdk/sessions";
import { type Path, refuse } from "./check.ts";
import type { KeptResponse } from "./store.ts";

/** Services for continuing. */
export interface ContinuingSources {
  readonly sessions: Pick<Sessions, "get" | "transcript" | "canonicalKey" | "agentOf">;
  readonly runs: Pick<AgentRuns, "active">;
  readonly agents: Pick<AgentDirectory, "has">;
  readonly newId: () => string;
}

/** Where a request continues. */
export interface Continuation {
  readonly address: AgentAddress;
  /** Messages up to the continued response; passed to the model as `history` if the session is new. */
  readonly before: readonly Message[];
}

/** Choice: latest messages that are searched for the response before the whole transcript is read. */
const TAIL = 20;
/** Choice: maximum number of messages that a new session copies. */
const BRANCH = 1_000;

const PATH: Path = ["previous_response_id"];

/** @throws GatewayError `INVALID_REQUEST`; the error is the same for every response that cannot be continued */
export async function continueFrom(
  kept: KeptResponse,
  headers: Parameters<typeof headerOf>[0],
  sources: ContinuingSources,
): Promise<Continuation> {
  const { sessions, runs, agents, newId } = sources;
  const { sessionKey, sessionId, answeredAt } = kept;
  const named = headerOf(headers, "x-svc-session-key");
  if (named !== undefined && sessions.canonicalKey(named) !== sessionKey) {
    refuse(PATH, "the response belongs to another session than x-svc-session-key names; remove one of them");
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
    refuse(PATH, "its session has newer messages; remove previous_response_id to continue after them");
  }
  const all = end === undefined || tail.length === TAIL ? await sessions.transcript(sessionKey, BRANCH) : tail;
  const branchAt = endOf(all, kept) ?? noSuchResponse(kept.id);
  const address = { agentId, sessionKey: freshKey(agentId, sources, newId()), isFresh: true };
  return { address, before: messagesOf(all.slice(0, branchAt)) };
}

/** Same error as in the public API. @throws GatewayError always: `INVALID_REQUEST` */
export function noSuchResponse(id: string): never {
  refuse(PATH, `no response ${id.slice(0, 64)} that can be continued`, "previous_response_not_found");
}

/** Open calls of the last answer: id -> name of the tool. */
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

/** Index after the answering message and after the results of tools that the gateway itself ran in the same turn. */
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
