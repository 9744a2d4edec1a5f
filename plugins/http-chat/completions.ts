/** `POST /v1/chat/completions`: turns a request into a run of an agent, and the outcome of the run into a response. */
import { agentAddress, headerOf, toolAddressOf } from "@svc/kit/agent-address";
import { type AnswerStep, type AskedRuns, outcomeOf } from "@svc/kit/runs";
import { outsideOrigin, type Principal, type RouteReply, type RouteRequest, unavailable } from "@svc/sdk";
import type { AgentDirectory, RunRequest } from "@svc/sdk/agents";
import type { GatewayInfo } from "@svc/sdk/gateway";
import type { Documents } from "@svc/sdk/media";
import type { Models } from "@svc/sdk/models";
import type { Sessions } from "@svc/sdk/sessions";
import type { OutboundFetch } from "@svc/sdk/web";
import type { ChatCompletionsConfig } from "./config.ts";
import { type AnswerHead, completion, createFrames } from "./frames.ts";
import { loadConversation } from "./images.ts";
import { answerOf, failureOfRun, STOPPING } from "./outcome.ts";
import { namedResults } from "./pending-calls.ts";
import { failureReply } from "./refusals.ts";
import { type Question, readQuestion } from "./request.ts";
import { STREAM_HEADERS, streamAnswer } from "./stream.ts";

export interface CompletionSources {
  /** Current settings. */
  readonly config: () => ChatCompletionsConfig;
  readonly asked: AskedRuns;
  readonly agents: AgentDirectory;
  readonly sessions: Pick<Sessions, "canonicalKey" | "agentOf" | "transcript">;
  readonly models: Pick<Models, "resolve">;
  readonly info: Pick<GatewayInfo, "aliases">;
  readonly outbound: () => OutboundFetch | undefined;
  readonly documents: () => Documents | undefined;
  readonly clock: { now(): number };
  readonly newId: () => string;
}

type Request = Pick<RouteRequest<unknown>, "rawBody" | "headers" | "principal" | "signal">;

/** @throws GatewayError for an invalid request, or if its run is not accepted */
export async function complete(request: Request, sources: CompletionSources): Promise<RouteReply> {
  const question = readQuestion(request.rawBody);
  const { signal } = request;
  const head: AnswerHead = {
    id: `chatcmpl_${sources.newId()}`,
    created: Math.floor(sources.clock.now() / 1_000),
    model: question.model,
  };
  const { run, isFresh } = await runRequest(head.id, question, request, sources);
  const steps = await sources.asked.ask(run, signal, isFresh ? { session: "fresh" } : {});
  const headers = { "x-request-id": head.id };
  if (question.isStream) {
    const frames = createFrames(head, question.includeUsage);
    return { headers: { ...STREAM_HEADERS, ...headers }, body: streamAnswer(steps, frames) };
  }
  const reply = await wholeReply(steps, head);
  return { ...reply, headers: { ...reply.headers, ...headers } };
}

async function wholeReply(steps: AsyncIterable<AnswerStep>, head: AnswerHead): Promise<RouteReply> {
  const outcome = await outcomeOf(steps).catch(() => undefined); // `outcomeOf` rejects only if the run has no outcome
  if (!outcome) return failureReply(STOPPING);
  const failure = failureOfRun(outcome);
  return failure ? failureReply(failure) : { body: completion(head, answerOf(outcome)) };
}

async function runRequest(
  runId: string,
  { model, user, conversation, tools, toolChoice, options, thinking }: Question,
  { headers, principal, signal }: Request,
  sources: CompletionSources,
): Promise<{ readonly run: RunRequest; readonly isFresh: boolean }> {
  const { agents, sessions, newId, clock, info } = sources;
  const { aliases } = info;
  const address = agentAddress({ headers, model, user }, { agents, sessions, aliases, word: "openai", newId });
  const { sessionKey, isFresh } = address;
  const backend = headerOf(headers, "x-svc-model");
  if (backend !== undefined) sources.models.resolve(backend); // the error names the model; a run would try fallbacks first
  const { images, isFetched, history } = await loadConversation(conversation, {
    settings: sources.config().images,
    outbound: sources.outbound(),
    documents: sources.documents(),
    signal,
  });
  const toolResults = await namedResults(conversation.results, sessionKey, sessions, clock.now());
  const toolAddress = toolAddressOf(headers);
  const run: RunRequest = {
    runId,
    sessionKey,
    message: conversation.message,
    lane: "http",
    source: "chat-completions",
    principal: caller(principal),
    answerOptions: options,
    clientTools: tools,
    ...(images.length > 0 ? { images } : {}),
    ...(isFetched ? { origin: outsideOrigin("web", "a picture") } : {}),
    ...(history.length > 0 ? { history } : {}),
    ...(toolResults.length > 0 ? { toolResults } : {}),
    ...(conversation.system === "" ? {} : { extraSystemPrompt: conversation.system }),
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(backend === undefined ? {} : { model: backend }),
    ...(toolAddress === undefined ? {} : { toolAddress }),
  };
  return { run, isFresh };
}

function caller(principal: Principal | undefined): Principal {
  return principal ?? unavailable("the gateway did not identify the caller");
}
