/** `POST /v1/responses`: reads a request, finds its session, runs the agent, and answers as a whole or as a stream. */
import { agentAddress, headerOf } from "@svc/kit/agent-address";
import { persist } from "@svc/kit/persist";
import type { AnswerStep, AskedRuns } from "@svc/kit/runs";
import {
  type Clock,
  floorOf,
  type Live,
  type Logger,
  type Origin,
  originOf,
  outsideOrigin,
  parseJsonBody,
  type Principal,
  type RouteReply,
  Turns,
  unavailable,
} from "@svc/sdk";
import type { AgentDirectory, AgentRuns, RunOutcome, RunRequest } from "@svc/sdk/agents";
import type { GatewayInfo } from "@svc/sdk/gateway";
import type { Documents } from "@svc/sdk/media";
import type { Models } from "@svc/sdk/models";
import type { Sessions } from "@svc/sdk/sessions";
import type { OutboundFetch } from "@svc/sdk/web";
import type { ResponsesConfig } from "./config.ts";
import { type Continuation, continueFrom, noSuchResponse, openCalls } from "./continuing.ts";
import { turnOf } from "./conversation.ts";
import { createEventWriter } from "./events.ts";
import { type LoadedItem, loadItems } from "./media.ts";
import { resolveReferences } from "./references.ts";
import { readRequest, type ResponsesRequest } from "./request.ts";
import { type Ending, endingOf, type ResponseBase, responseBase } from "./response.ts";
import type { KeptResponse, ResponseStore } from "./store.ts";

/** Services and settings for answering. */
export interface AnsweringSources {
  readonly config: () => ResponsesConfig;
  readonly services: {
    readonly agents: AgentDirectory;
    readonly runs: AgentRuns;
    readonly sessions: Sessions;
    readonly info: GatewayInfo;
    readonly models: Live<Models>;
    readonly documents: Live<Documents>;
    readonly outbound: Live<OutboundFetch>;
  };
  readonly asked: AskedRuns;
  /** Aborts when the plugin stops. */
  readonly stopping: AbortSignal;
  readonly store: ResponseStore;
  readonly clock: Clock;
  readonly log: Pick<Logger, "error">;
  readonly newId: () => string;
}

/** An incoming request. */
export interface Asked {
  readonly headers: Parameters<typeof headerOf>[0];
  readonly rawBody: Uint8Array;
  readonly principal: Principal;
  readonly signal: AbortSignal;
}

/** A request that is being answered. */
interface Answering {
  readonly asked: Asked;
  readonly request: ResponsesRequest;
  readonly items: readonly LoadedItem[];
  readonly base: ResponseBase;
}

/** Part of the key of unnamed sessions. Spec: http/responses.md §1. */
const WORD = "openresponses";
/** Latest messages of a session that are searched for open calls. */
const TAIL = 20;

const STREAM_HEADERS = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-cache",
  Connection: "keep-alive",
};

/** @returns a function that answers one request and throws GatewayError for an invalid one */
export function createAnswering(sources: AnsweringSources): (asked: Asked) => Promise<RouteReply> {
  const { clock, store, newId } = sources;
  const turns = new Turns();

  return async (asked) => {
    const { principal, headers } = asked;
    const request = readRequest(parseJsonBody(asked.rawBody));
    const { previous_response_id: previous, stream = false } = request.body;
    requireModel(headerOf(headers, "x-svc-model"), sources);
    const kept = previous === undefined ? undefined : await store.find(previous, principal.id);
    if (previous !== undefined && !kept) noSuchResponse(previous);
    const base = responseBase(newId(), request, clock.now());
    const items = await load(request, asked, sources);
    const answering: Answering = { asked, request, items, base };
    const begin = () => beginRun(answering, kept, sources);
    // Requests are accepted one after the other: of two requests that continue the same response, the second sees the
    // first.
    const steps = await (kept ? turns.take(kept.sessionKey, begin) : begin());
    const settle = (outcome = stoppedOutcome(base.id, clock)) => settled(answering, outcome, sources);
    if (stream) return { headers: STREAM_HEADERS, body: streamed(steps, base, settle) };
    const outcome = await lastOutcome(steps);
    return wholeReply(await settle(outcome), outcome);
  };
}

/**
 * Refuses a model that does not exist. A run would fall back to other models, but a caller that names a model expects
 * that model.
 */
function requireModel(name: string | undefined, { services }: AnsweringSources): void {
  if (name !== undefined) services.models.get()?.resolve(name);
}

async function load(
  { items }: ResponsesRequest,
  { principal, signal }: Asked,
  { config, services, store }: AnsweringSources,
): Promise<readonly LoadedItem[]> {
  const { documents, outbound } = services;
  const named = await resolveReferences(items, store, principal.id);
  return loadItems(named, { config: config(), documents: documents.get(), outbound: outbound.get() }, signal);
}

async function beginRun(answering: Answering, kept: KeptResponse | undefined, sources: AnsweringSources) {
  const { request, items, asked, base } = answering;
  const { clock, stopping } = sources;
  const { address, before } = await placeOf(answering, kept, sources);
  const { instructions } = request.body;
  const turn = turnOf(items, {
    instructions,
    continues: kept !== undefined,
    calls: openCalls(before),
    now: clock.now(),
  });
  const history = kept && address.isFresh ? before : turn.history;
  const model = headerOf(asked.headers, "x-svc-model");
  const run: RunRequest = {
    runId: base.id,
    sessionKey: address.sessionKey,
    message: turn.message,
    images: turn.images,
    toolResults: turn.toolResults,
    clientTools: request.tools,
    toolChoice: request.choice,
    answerOptions: request.options,
    lane: "http",
    source: "http-responses",
    toolAddress: { channel: "webchat" },
    principal: asked.principal,
    origin: floorOf([originOf(asked.principal), ...items.flatMap(outsideOf)]) ?? originOf(asked.principal),
    ...(history === undefined ? {} : { history }),
    ...(turn.system === undefined ? {} : { extraSystemPrompt: turn.system }),
    ...(request.thinking === undefined ? {} : { thinking: request.thinking }),
    ...(model === undefined ? {} : { model }),
  };
  if (stopping.aborted) unavailable("the gateway is stopping; try again", { retryAfterMs: 2_000 });
  return sources.asked.ask(run, asked.signal, kept === undefined ? {} : { session: "goesOn" });
}

/** Files and fetched content count as external, regardless of the sender. */
function outsideOf(item: LoadedItem): readonly Origin[] {
  if (!("parts" in item)) return [];
  return item.parts.flatMap((part) => {
    if (part.kind === "file") return [outsideOrigin("file", part.name)];
    return part.kind === "image" && part.isFetched ? [outsideOrigin("web", "a picture")] : [];
  });
}

/** The session, and its latest messages, which show the open calls. */
async function placeOf(
  { asked, request, items }: Answering,
  kept: KeptResponse | undefined,
  { services, newId }: AnsweringSources,
): Promise<Continuation> {
  const { agents, sessions, runs, info } = services;
  if (kept) return continueFrom(kept, asked.headers, { sessions, runs, agents, newId });
  const { model, user } = request.body;
  const sources = { agents, sessions, aliases: info.aliases, word: WORD, newId };
  const address = agentAddress({ headers: asked.headers, model, user }, sources);
  const mayAnswer = !address.isFresh && items.some(({ kind }) => kind === "output");
  const tail = mayAnswer ? await sessions.transcript(address.sessionKey, TAIL) : [];
  return { address, before: tail.map(({ message }) => message) };
}

/** The final response; stored unless the request says `store: false`. */
async function settled(
  { base, request, asked: { principal, signal } }: Answering,
  outcome: RunOutcome,
  { store, clock, log, stopping }: AnsweringSources,
): Promise<Ending> {
  const ending = endingOf(base, outcome);
  const isGone = signal.aborted || stopping.aborted;
  if (request.body.store === false || isGone) return ending;
  const kept: KeptResponse = {
    id: base.id,
    principal: principal.id,
    sessionKey: outcome.sessionKey,
    sessionId: outcome.sessionId ?? "",
    answeredAt: outcome.status === "ok" ? (outcome.message?.timestamp ?? 0) : 0,
    createdAt: clock.now(),
    body: ending.response,
  };
  try {
    await persist(() => store.keep(kept), { clock, signal });
    return ending;
  } catch (error) {
    if (!signal.aborted) log.error({ err: error, runId: base.id }, "a response could not be stored");
    const errorMessage = "the response could not be stored; send store: false to skip storing";
    return endingOf(base, { ...outcome, status: "error", errorMessage, calledTools: true });
  }
}

/** @param settle called with the outcome of the run; `undefined`: the plugin stopped before the run ended */
async function* streamed(
  steps: AsyncIterable<AnswerStep>,
  base: ResponseBase,
  settle: (outcome: RunOutcome | undefined) => Promise<Ending>,
): AsyncGenerator<string, void, undefined> {
  const writer = createEventWriter(base);
  yield writer.begin();
  for await (const step of steps) {
    if (step.type === "end") {
      yield writer.end(await settle(step.outcome));
      return;
    }
    const text = writer.text(step.delta);
    if (text !== "") yield text;
  }
  yield writer.end(await settle(undefined));
}

async function lastOutcome(steps: AsyncIterable<AnswerStep>): Promise<RunOutcome | undefined> {
  for await (const step of steps) if (step.type === "end") return step.outcome;
  return undefined;
}

/** Outcome of a run whose end is unknown, because the plugin stops. */
function stoppedOutcome(runId: string, clock: Clock): RunOutcome {
  return { runId, sessionKey: "", status: "aborted", abortReason: "restart", endedAt: clock.now(), text: "" };
}

/**
 * Choice: clients retry a 500 automatically; the header forbids a retry that could have an effect twice or cannot help.
 */
function wholeReply(
  { type, response }: Ending,
  { retryable = false, calledTools = true }: Partial<RunOutcome> = {},
): RouteReply {
  if (type !== "response.failed") return { body: response };
  return { status: 500, headers: { "x-should-retry": String(retryable && !calledTools) }, body: response };
}
