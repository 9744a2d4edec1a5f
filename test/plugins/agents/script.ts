/** Models and messages as tests write them. */
import { type Call, type Principal, Strict } from "@svc/sdk";
import type { RunRequest } from "@svc/sdk/agents";
import type { ImageBlock, Message, ModelEvent, ModelRequest, Usage } from "@svc/sdk/models";
import { defineTool, type Tool } from "@svc/sdk/tools";

/** What a scripted model says to one request. */
export type Answer = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>;

export const usage = (input: number, output: number): Usage => ({
  input,
  output,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: input + output,
});

/** Says the pieces and finishes. */
export function says(...pieces: (string | ModelEvent)[]): Answer {
  return async function* () {
    let asked = false;
    for (const piece of pieces) {
      asked ||= typeof piece !== "string" && piece.type === "toolCall";
      yield typeof piece === "string" ? { type: "text", delta: piece } : piece;
    }
    yield { type: "finish", reason: asked ? "toolUse" : "stop", usage: usage(10, 5) };
  };
}

/** Says the pieces, then nothing more, and ignores its signal. */
export function hangsAfter(...pieces: string[]): Answer {
  return async function* () {
    for (const delta of pieces) yield { type: "text", delta };
    await new Promise(() => undefined);
  };
}

export function failsWith(error: Error, ...pieces: string[]): Answer {
  return async function* () {
    for (const delta of pieces) yield { type: "text", delta };
    throw error;
  };
}

/** Answers request after request; the last answer stays. */
export function inTurn(...answers: Answer[]): Answer {
  let next = 0;
  return (request, signal) => {
    const answer = answers[Math.min(next, answers.length - 1)];
    next += 1;
    if (!answer) throw new Error("the script is empty");
    return answer(request, signal);
  };
}

/** Answers as `answer` does, and keeps the questions. */
export function watched(answer: Answer): { answer: Answer; asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    asked,
    answer: (question, signal) => {
      asked.push({ ...question, messages: [...question.messages] }); // the run goes on writing to its own
      return answer(question, signal);
    },
  };
}

/** Says half a sentence and finishes after `release`; later answers are those of `then`. */
export function held(then: Answer = says("fine")): { answer: Answer; release: () => void } {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const first: Answer = async function* () {
    yield { type: "text", delta: "Half" };
    await released;
    yield { type: "finish", reason: "stop" };
  };
  return { answer: inTurn(first, then), release: () => release() };
}

/** A tool without arguments that everybody may use. */
export const plainTool = (run: Tool["run"]): Tool =>
  defineTool({
    description: "-",
    params: Strict({}),
    scope: "operator.read",
    effects: ["reads"],
    brings: "none",
    run: (params, context) => run(params, context),
  });

export const calls = (name: string, args: Record<string, unknown> = {}, id = `call-${name}`): ModelEvent => ({
  type: "toolCall",
  id,
  name,
  arguments: args,
});

export const user = (text: string, images: ImageBlock[] = [], timestamp = 1): Message => ({
  role: "user",
  content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...images],
  timestamp,
});

export const principal: Principal = {
  id: "token",
  role: "operator",
  scopes: ["operator.write"],
  provenance: "token",
  epoch: 1,
};

export const MAIN = "agent:main:main";

/** A request that is accepted; each case changes one thing. */
export const request = (runId: string, changes: Partial<RunRequest> = {}): RunRequest => ({
  runId,
  sessionKey: MAIN,
  message: `hello from ${runId}`,
  source: "test",
  principal,
  ...changes,
});

/** A call of a method, without a connection. */
export const callOf = <P>(params: P, changes: Partial<Call<P>> = {}): Call<P> => ({
  params,
  principal,
  connection: undefined,
  signal: new AbortController().signal,
  accept: () => undefined,
  ...changes,
});
