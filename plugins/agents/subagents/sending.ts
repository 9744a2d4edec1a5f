/** A run sends a message to another session and waits for the reply. Spec: http/sessions-routing.md §6, lane `nested`. */
import { randomUUID } from "node:crypto";
import { SILENT_REPLY, spokenText } from "@svc/kit/runs";
import {
  GatewayError,
  invalidRequest,
  isGatewayError,
  notFound,
  type Origin,
  originOf,
  type Principal,
} from "@svc/sdk";
import type { AgentDirectory, AgentRuns, RunOutcome } from "@svc/sdk/agents";
import { ownSessionKey, type Sessions } from "@svc/sdk/sessions";
import { narrowed, STOPPED_WITH_PARENT } from "./settings.ts";

/** Choice: longest chain of messages from session to session; the spec limits turns between two agents to the same number. */
export const MAX_RELAYED = 5;
/** Source of a run started by a message from another session. */
export const SESSION_MESSAGE = "session";
const LANE = "nested";

/** The chain of messages and sessions that led to a run. */
export interface Trail {
  /** Messages sent from session to session. */
  readonly relayed: number;
  /** Sessions of the run and of the runs that led to it, its own first. */
  readonly sessions: readonly string[];
}

export interface SendingSources {
  readonly sessions: Pick<
    Sessions,
    "canonicalKey" | "agentOf" | "get" | "ensure" | "freshen" | "sendPolicy" | "mayTouch"
  >;
  readonly agents: Pick<AgentDirectory, "has">;
  readonly runs: Pick<AgentRuns, "start" | "wait" | "active" | "abort"> & { trail(runId: string): Trail };
  /** Returns the keys of sessions with this label. */
  readonly labelled: (label: string, principal: Principal) => Promise<readonly string[]>;
}

/** The receiver: exactly one of the two. */
export interface Addressee {
  readonly sessionKey?: string;
  readonly label?: string;
}

/** The run that sends. */
export interface Sender {
  readonly runId: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly principal: Principal;
  /** Least trusted author of the text its model saw; `undefined`: only the owner. */
  readonly origin: Origin | undefined;
  readonly signal: AbortSignal;
}

/** The outcome. `accepted`: the sender did not wait; `timeout`: the run continues. */
export interface SendResult {
  readonly runId: string;
  readonly sessionKey: string;
  readonly status: "accepted" | "ok" | "timeout" | "error" | "aborted";
  readonly reply?: string;
  readonly error?: string;
  /** Author of the text in `reply` and `error`; absent: the owner. */
  readonly origin?: Origin;
}

/**
 * @param timeoutMs how long to wait for the reply; 0: not at all
 * @throws GatewayError `NOT_FOUND` for a session that does not exist or is out of reach; `INVALID_REQUEST` for the sender's own
 * session and for a cycle; `FORBIDDEN` by the send policy; errors of `AgentRuns.start`
 */
export async function sendToSession(
  to: Addressee,
  message: string,
  timeoutMs: number,
  from: Sender,
  sources: SendingSources,
): Promise<SendResult> {
  const { sessions, runs } = sources;
  const sessionKey = await addressed(to, from, sources);
  if (sessionKey === from.sessionKey) invalidRequest("this is your own session; say it in your reply");
  const trail = runs.trail(from.runId);
  refuseCircle(sessionKey, timeoutMs, trail);
  const entry = await sessions.get(sessionKey);
  if (sessions.sendPolicy(sessionKey, entry) === "deny") {
    throw new GatewayError("FORBIDDEN", `session ${sessionKey} accepts no messages: its send policy is "deny"`);
  }
  if (!entry) await sessions.ensure(sessionKey);
  else if (runs.active(sessionKey).length === 0) await sessions.freshen(sessionKey);

  const runId = randomUUID();
  await runs.start({
    runId,
    sessionKey,
    message: `[Message from session ${from.sessionKey}]\n${message}`,
    source: SESSION_MESSAGE,
    lane: LANE,
    parentRunId: from.runId,
    relayed: trail.relayed + 1,
    principal: narrowed(from.principal),
    origin: from.origin ?? originOf(from.principal), // the run itself has fewer scopes than the caller
    extraSystemPrompt: PROMPT,
  });
  const result = { runId, sessionKey };
  const stop = () => void runs.abort(runId, STOPPED_WITH_PARENT);
  if (from.signal.aborted) stop(); // the sender was stopped while the run was being accepted
  if (timeoutMs === 0) return { ...result, status: "accepted" };
  from.signal.addEventListener("abort", stop, { once: true });
  try {
    return { ...result, ...ending(await runs.wait(runId, timeoutMs)) };
  } finally {
    from.signal.removeEventListener("abort", stop);
  }
}

/** Choice: the main session of a configured agent can receive messages even before it exists. */
async function addressed({ sessionKey = "", label = "" }: Addressee, from: Sender, sources: SendingSources) {
  const { sessions, agents } = sources;
  const [wantsKey, wantsLabel] = [sessionKey.trim() !== "", label.trim() !== ""];
  if (wantsKey && wantsLabel) invalidRequest("give sessionKey or label, not both");
  if (!wantsKey && !wantsLabel) invalidRequest("sessionKey or label required");
  const missing = () =>
    notFound(
      `no session ${wantsKey ? `"${sessionKey.trim()}"` : `with the label "${label.trim()}"`} within reach; sessions_list shows the sessions within reach`,
    );
  if (wantsLabel) {
    const keys = await sources.labelled(label.trim(), from.principal);
    const visible = await Promise.all(keys.map((key) => sessions.mayTouch(from.sessionKey, key)));
    const [only, ...others] = keys.filter((_key, index) => visible[index]);
    if (only === undefined) return missing();
    if (others.length === 0) return only;
    return invalidRequest(
      `several sessions have the label "${label.trim()}": ${[only, ...others].join(", ")}; use a key`,
    );
  }
  const key = meantKey(sessionKey, from.agentId, sessions) ?? missing();
  if (!(await sessions.mayTouch(from.sessionKey, key))) return missing();
  const agentId = sessions.agentOf(key);
  const isMain = agents.has(agentId) && key === sessions.canonicalKey(`agent:${agentId}:main`);
  return isMain || (await sessions.get(key)) ? key : missing();
}

/** A key without `agent:` belongs to the sender's agent. `undefined`: malformed. */
function meantKey(text: string, agentId: string, sessions: SendingSources["sessions"]): string | undefined {
  try {
    return sessions.canonicalKey(ownSessionKey(text, agentId));
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return undefined;
  }
}

function refuseCircle(sessionKey: string, timeoutMs: number, { relayed, sessions }: Trail): void {
  if (relayed >= MAX_RELAYED) {
    invalidRequest(`the limit of ${MAX_RELAYED} messages from session to session is reached; say it in your reply`);
  }
  // Prevents a deadlock: the other run could only start after this run, which waits for it.
  if (timeoutMs > 0 && sessions.includes(sessionKey)) {
    invalidRequest(
      `session ${sessionKey} is waiting for this one; say it in your reply, or send it with timeoutSeconds 0`,
    );
  }
}

function ending(outcome: RunOutcome | undefined): Pick<SendResult, "status" | "reply" | "error" | "origin"> {
  if (!outcome) return { status: "timeout" };
  const { status, text, errorMessage, abortReason } = outcome;
  const origin = outcome.origin === undefined ? {} : { origin: outcome.origin };
  if (status === "ok") return { status, reply: spokenText(text), ...origin };
  const error = errorMessage ?? (abortReason === undefined ? "it was stopped" : `it was stopped: ${abortReason}`);
  return { status, error, ...(text === "" ? {} : { reply: text }), ...origin };
}

const PROMPT =
  "The last message comes from an agent in another session, not from a person. Your reply is passed to that agent only: " +
  "make it complete. If there is nothing to say, answer only " +
  `${SILENT_REPLY}.`;
