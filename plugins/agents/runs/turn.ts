/**
 * One turn of an agent: call the model, run the tools it requests, and repeat until it answers without a tool call.
 *
 * Independent of storage: it gets the history for the model, and passes on each complete message.
 */
import { SILENT_REPLY } from "@svc/kit/runs";
import { type Clock, isGatewayError, unavailable, untilAborted } from "@svc/sdk";
import type { RunEvent } from "@svc/sdk/agents";
import {
  type AssistantMessage,
  type Cost,
  type Message,
  type ModelEvent,
  type ProviderFailure,
  type ResolvedModel,
  textOf,
  type ToolCallBlock,
  type ToolResultMessage,
  type Usage,
} from "@svc/sdk/models";
import type { ToolResult } from "@svc/sdk/tools";
import { abortedMessage, errorMessage, toolCallsOf, unansweredCall } from "../history/gateway-messages.ts";
import { Pieces, Reply } from "./reply.ts";

export interface TurnSetup {
  readonly runId: string;
  /** Messages of the first request; the last one is the user's. */
  readonly history: readonly Message[];
  /** Maximum number of rounds of tool calls; one more round is an error. */
  readonly maxToolRounds: number;
  readonly signal: AbortSignal;
  /** Why `signal` aborted. */
  readonly abortReason: () => string;
  /** @param isFirst whether the run has no answer yet */
  readonly ask: (messages: readonly Message[], isFirst: boolean) => AsyncIterable<ModelEvent>;
  /** The current model. */
  readonly model: () => Pick<ResolvedModel, "api" | "provider" | "id">;
  /** Rejects only when the signal aborts; anything else is a result for the model. */
  readonly useTool: (call: ToolCallBlock) => Promise<ToolResult>;
  /** Whether calls of this tool may run side by side with others. Default: none may. */
  readonly isIndependent?: (name: string) => boolean;
  /** Whether this is a client tool, which the caller runs: the turn ends with its calls. Default: none. */
  readonly isClients?: (name: string) => boolean;
  /** The first answer must contain a call of a client tool, else the run is an error. Default false. */
  readonly mustCall?: boolean;
  readonly emit: (stream: RunEvent["stream"], data: RunEvent["data"]) => void;
  /** Stores complete messages. */
  readonly record: (messages: readonly Message[]) => Promise<void>;
  /** Returns new messages, already stored; called between a round of tool calls and the next request. Default: none. */
  readonly steer?: () => Promise<readonly Message[]>;
  /**
   * Called at most once, when a request failed before its first piece.
   * @returns messages that replace all so far; `undefined`: the run fails
   */
  readonly shrink?: (error: unknown) => Promise<readonly Message[] | undefined>;
  /** Maximum number of characters of text of all answers of the run. */
  readonly maxAnswerChars: number;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
}

export interface TurnResult {
  readonly status: "ok" | "error" | "aborted";
  /** All text of the run, finished or not; a blank line separates text before and after tool calls. */
  readonly text: string;
  /** Messages not recorded yet, to be stored together with the end of the run. */
  readonly closing: readonly Message[];
  readonly message?: AssistantMessage;
  /** Calls of client tools, which the caller of the run answers. */
  readonly pendingCalls?: readonly ToolCallBlock[];
  readonly errorMessage?: string;
  /** The error to log. */
  readonly cause?: unknown;
  /** Whether a tool was called or about to be called. */
  readonly calledTools: boolean;
  /** Sum of all rounds. */
  readonly usage?: Usage;
  /** Usage of the last round: how full the model's window is. */
  readonly lastUsage?: Usage;
}

/** Choice: calls of independent tools that run at the same time. */
const SIDE_BY_SIDE = 8;

/** A longer text, white space included, is not checked for the silent reply. */
const SILENT_CHARS = 100;

const NOT_CALLED = "the model called no tool, although the request requires a call";

/** Never rejects: errors are results. */
export async function runTurn(setup: TurnSetup): Promise<TurnResult> {
  const turn = new Turn(setup);
  try {
    return await turn.untilAnswered();
  } catch (error) {
    return setup.signal.aborted ? turn.aborted() : turn.failed(error);
  }
}

class Turn {
  readonly #setup: TurnSetup;
  #messages: Message[];
  #shrunk = false;
  #calledTools = false;
  /** The model's tool calls without a recorded result. */
  #open: ToolCallBlock[] = [];
  /** The answer that is being streamed and not yet recorded. */
  #reply = new Reply();
  /** Text of the recorded answers. */
  #said = "";
  #usage: Usage | undefined;
  #lastUsage: Usage | undefined;

  constructor(setup: TurnSetup) {
    this.#setup = setup;
    this.#messages = [...setup.history];
  }

  async untilAnswered(): Promise<TurnResult> {
    const { mustCall = false } = this.#setup;
    for (let toolRounds = 0; ; toolRounds += 1) {
      const message = await this.#askOrShrink(toolRounds === 0);
      const { own, pending } = this.#callsOf(message);
      if (toolRounds === 0 && mustCall && pending.length === 0) return this.#failedWith(NOT_CALLED);
      const fields = { message, ...(pending.length > 0 ? { pendingCalls: pending } : {}) };
      if (own.length === 0) return this.#result("ok", [message], fields);
      if (toolRounds >= this.#setup.maxToolRounds) return this.#limitReached();
      this.#calledTools = true;
      await this.#record(message);
      this.#open = [...own];
      for (const group of this.#groupsOf(own)) await this.#runTools(group);
      if (pending.length > 0) return this.#result("ok", [], fields);
      this.#messages.push(...((await this.#setup.steer?.()) ?? []));
    }
  }

  #callsOf(message: AssistantMessage) {
    const { isClients = () => false } = this.#setup;
    const calls = toolCallsOf(message);
    return {
      own: calls.filter(({ name }) => !isClients(name)),
      pending: calls.filter(({ name }) => isClients(name)),
    };
  }

  /** Neighbouring calls of independent tools form a group, up to `SIDE_BY_SIDE`; any other call is a group of its own. */
  #groupsOf(calls: readonly ToolCallBlock[]): ToolCallBlock[][] {
    const { isIndependent = () => false } = this.#setup;
    const groups: ToolCallBlock[][] = [];
    let open: ToolCallBlock[] = [];
    for (const call of calls) {
      const joins = isIndependent(call.name);
      if (!joins || open.length === 0 || open.length >= SIDE_BY_SIDE) groups.push((open = []));
      open.push(call);
      if (!joins) open = [];
    }
    return groups;
  }

  aborted(): TurnResult {
    const { runId, clock, abortReason } = this.#setup;
    const text = this.#reply.text;
    const message = text === "" ? undefined : abortedMessage(runId, text, abortReason(), clock.now());
    return this.#result("aborted", message ? [message] : [], message ? { message } : {});
  }

  failed(error: unknown): TurnResult {
    const text = isGatewayError(error) ? error.message : "the agent run failed";
    return this.#failedWith(text, { cause: error });
  }

  #limitReached(): TurnResult {
    const limit = this.#setup.maxToolRounds;
    return this.#failedWith(
      `stopped after ${limit} rounds of tools; raise agents.defaults.maxToolRounds to allow more`,
    );
  }

  #failedWith(text: string, fields: Pick<TurnResult, "cause"> = {}): TurnResult {
    const spoken = this.#reply.content.filter(({ type }) => type !== "toolCall");
    const message = errorMessage(text, this.#setup.clock.now(), this.#author(), spoken);
    return this.#result("error", [message], { message, errorMessage: text, ...fields });
  }

  #result(status: TurnResult["status"], last: readonly Message[], fields: Partial<TurnResult>): TurnResult {
    const now = this.#setup.clock.now();
    return {
      status,
      text: this.#textSoFar(),
      calledTools: this.#calledTools,
      closing: [...this.#open.map((call) => unansweredCall(call, now)), ...last],
      ...fields,
      ...(this.#usage ? { usage: this.#usage } : {}),
      ...(this.#lastUsage ? { lastUsage: this.#lastUsage } : {}),
    };
  }

  /** Text only grows within a run: web clients do not show text that shrinks. Spec: protocol/clients.md §3. */
  #textSoFar(): string {
    const { text } = this.#reply;
    if (this.#said === "" || text === "") return this.#said || text;
    const isSilent = text.length < SILENT_CHARS && text.trim() === SILENT_REPLY; // length first: `trim` copies the text
    return isSilent ? text : `${this.#said}\n\n${text}`;
  }

  /** Calls the model; once in a turn, repeats a failed request with a shorter history. */
  async #askOrShrink(isFirst: boolean): Promise<AssistantMessage> {
    try {
      return await this.#askModel(isFirst);
    } catch (error) {
      const { signal, shrink } = this.#setup;
      if (this.#shrunk || this.#reply.content.length > 0 || signal.aborted) throw error;
      this.#shrunk = true;
      const smaller = await shrink?.(error);
      if (!smaller) throw error;
      this.#messages = [...smaller];
      return this.#askModel(isFirst);
    }
  }

  /** One request, streamed to its end. */
  async #askModel(isFirst: boolean): Promise<AssistantMessage> {
    const { signal, emit, ask, clock } = this.#setup;
    this.#reply = new Reply();
    const text = new Pieces(
      (delta) => emit("assistant", { text: this.#textSoFar(), delta }),
      () => this.#said.length + this.#reply.text.length,
      clock,
    );
    const thinking = new Pieces(
      (delta) => emit("thinking", { text: this.#reply.thinking, delta }),
      () => this.#reply.thinking.length,
      clock,
    );
    const stream = ask(this.#messages, isFirst)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const piece = await untilAborted(stream.next(), signal);
        if (piece.done) throw new Error("the model's stream ended without a finish");
        const event = piece.value;
        if (event.type === "finish") return this.#finished(event);
        this.#reply.add(event);
        if (event.type === "text") text.add(event.delta);
        this.#checkSize();
        if (event.type === "thinking" && event.delta !== "") thinking.add(event.delta);
      }
    } finally {
      thinking.flush();
      text.flush();
      // Not awaited: a stream that ignores the signal would block the run.
      stream.return?.().catch(() => undefined);
    }
  }

  /** Limits the text of all answers of the run, which its events contain; a single answer is limited where it is read. */
  #checkSize(): void {
    const { maxAnswerChars } = this.#setup;
    if (this.#said.length + this.#reply.text.length <= maxAnswerChars) return;
    const details: ProviderFailure = { kind: "request" };
    unavailable(
      `the reply was cut off after ${maxAnswerChars} characters (agents.defaults.maxAnswerChars); ask for a shorter reply`,
      { details },
    );
  }

  #finished(event: Extract<ModelEvent, { type: "finish" }>): AssistantMessage {
    const { content, hasToolCalls } = this.#reply;
    if (event.usage) {
      this.#usage = addUsage(this.#usage, event.usage);
      this.#lastUsage = event.usage;
    }
    return {
      role: "assistant",
      content,
      ...this.#author(),
      ...(event.usage ? { usage: event.usage } : {}),
      stopReason: hasToolCalls ? "toolUse" : event.reason,
      timestamp: this.#setup.clock.now(),
    };
  }

  /** Runs calls side by side. Their results are recorded in the order of the calls, each as soon as those before it are. */
  async #runTools(group: readonly ToolCallBlock[]): Promise<void> {
    const results = group.map((call) => this.#runTool(call));
    const ends = Promise.allSettled(results); // the other calls of a failed group end before the turn does
    try {
      for (const [index, call] of group.entries()) {
        const result = await results[index];
        if (result) await this.#record(result);
        this.#open = this.#open.filter((open) => open !== call);
      }
    } finally {
      await ends;
    }
  }

  async #runTool(call: ToolCallBlock): Promise<ToolResultMessage> {
    const { emit, useTool, clock, signal } = this.#setup;
    signal.throwIfAborted();
    const { id: toolCallId, name } = call;
    emit("tool", { phase: "start", name, toolCallId, args: call.arguments });
    const { content, isError = false, origin } = await useTool(call);
    emit("tool", { phase: "result", name, toolCallId, isError, result: { content } });
    const result = { toolCallId, toolName: name, content, isError, timestamp: clock.now() };
    return { role: "toolResult", ...result, ...(origin === undefined ? {} : { origin }) };
  }

  async #record(message: Message): Promise<void> {
    await this.#setup.record([message]);
    this.#messages.push(message);
    if (message.role !== "assistant") return;
    this.#said = [this.#said, textOf(message)].filter(Boolean).join("\n\n");
    this.#reply = new Reply();
  }

  #author(): Pick<AssistantMessage, "api" | "provider" | "model"> {
    const { api, provider, id } = this.#setup.model();
    return { api, provider, model: id };
  }
}

function addUsage(sum: Usage | undefined, more: Usage): Usage {
  if (!sum) return more;
  return {
    input: sum.input + more.input,
    output: sum.output + more.output,
    cacheRead: sum.cacheRead + more.cacheRead,
    cacheWrite: sum.cacheWrite + more.cacheWrite,
    totalTokens: sum.totalTokens + more.totalTokens,
    ...(sum.cost && more.cost ? { cost: addCost(sum.cost, more.cost) } : {}),
  };
}

function addCost(sum: Cost, more: Cost): Cost {
  return {
    input: sum.input + more.input,
    output: sum.output + more.output,
    cacheRead: sum.cacheRead + more.cacheRead,
    cacheWrite: sum.cacheWrite + more.cacheWrite,
    total: sum.total + more.total,
  };
}
