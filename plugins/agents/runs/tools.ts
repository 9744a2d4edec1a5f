/** The tools of one run: those of the gateway allowed by the policy, and client tools that the caller runs itself. */
import type { Live } from "@svc/sdk";
import type { RunRequest } from "@svc/sdk/agents";
import type { ResolvedModel, ToolCallBlock, ToolChoice, ToolSpec } from "@svc/sdk/models";
import type { ToolAttempt, ToolResult, Tools, ToolScene } from "@svc/sdk/tools";
import type { Heard } from "./heard.ts";

/** The tools that one request offers to the model. */
export interface Offer {
  readonly tools: readonly ToolSpec[];
  readonly toolChoice?: ToolChoice;
}

export class RunTools {
  readonly #request: RunRequest;
  readonly #agentId: string;
  readonly #tools: Live<Tools>;
  readonly #heard: Heard;
  readonly #clients: readonly ToolSpec[];
  /** Names of the last offer. */
  #independent: ReadonlySet<string> = new Set();

  constructor(request: RunRequest, agentId: string, tools: Live<Tools>, heard: Heard) {
    this.#request = request;
    this.#agentId = agentId;
    this.#tools = tools;
    this.#heard = heard;
    this.#clients = request.toolChoice === "none" ? [] : (request.clientTools ?? []);
  }

  /** Whether the first answer has to call a client tool. */
  get isForced(): boolean {
    const { toolChoice = "auto" } = this.#request;
    return toolChoice !== "auto" && toolChoice !== "none";
  }

  /** @param isFirst whether this is the run's first request, to which `toolChoice` applies */
  offer(model: ResolvedModel, isFirst: boolean): Offer {
    const { toolChoice } = this.#request;
    if (isFirst && this.isForced && toolChoice !== undefined) return { tools: this.#clients, toolChoice };
    const offered = this.#tools.get()?.specs(this.#scene(model)) ?? [];
    const own = offered.filter(({ name }) => !this.isClients(name));
    this.#independent = new Set(own.flatMap(({ name, independent }) => (independent ? [name] : [])));
    return {
      tools: [...this.#clients, ...own.map(({ name, description, parameters }) => ({ name, description, parameters }))],
    };
  }

  isIndependent(name: string): boolean {
    return this.#independent.has(name);
  }

  isClients(name: string): boolean {
    return this.#clients.some((tool) => tool.name === name);
  }

  /** Returns refusals and failures as results with `isError` and a text for the model. @throws only the signal's reason */
  async use(
    { id, name, arguments: args }: ToolCallBlock,
    model: ResolvedModel,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const { runId, sessionKey, toolAddress } = this.#request;
    const agentId = this.#agentId;
    const address = toolAddress === undefined ? {} : { address: toolAddress };
    const call = { name, toolCallId: id, arguments: args, runId, sessionKey, agentId, ...address };
    const attempt = await this.#tools.get()?.attempt(call, this.#scene(model), signal);
    return attempt ? inWords(attempt, name) : failure("no tools are available: the plugin `tools` is not running");
  }

  #scene({ provider, id }: ResolvedModel): ToolScene {
    const { sessionKey, principal, toolAddress } = this.#request;
    const { outside } = this.#heard;
    return {
      surface: "run",
      agentId: this.#agentId,
      sessionKey,
      principal,
      model: { provider, id },
      ...(toolAddress === undefined ? {} : { address: toolAddress }),
      ...(outside === undefined ? {} : { outside }),
    };
  }
}

function inWords(attempt: ToolAttempt, name: string): ToolResult {
  switch (attempt.outcome) {
    case "done":
      return attempt.result;
    case "unknown":
      return failure(`there is no tool called ${name}; use one of those you were offered`);
    case "refused":
      return { ...failure(attempt.error.message), ...(attempt.origin && { origin: attempt.origin }) };
    default:
      return failure(`the tool ${name} failed`);
  }
}

function failure(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}
