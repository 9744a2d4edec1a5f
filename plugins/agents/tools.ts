/** A tool call from the model's wish to the model's answer: hooks, validation, gate, scope, run, bounds. */
import {
  coversScope,
  deepFreeze,
  describeViolations,
  type ExtensionView,
  type HookEmitter,
  HOOKS,
  isGatewayError,
  type Logger,
  matches,
  type Principal,
  withDefaults,
  untilAborted,
} from "@svc/sdk";
import type { Tool, ToolCall, ToolResult, ToolSpec } from "@svc/sdk/services";

/** Choice: characters of text a result may have; more is cut, so that one answer cannot fill the model's window. */
export const MAX_RESULT_CHARS = 100_000;

export interface ToolHooks {
  readonly params: HookEmitter<typeof HOOKS.toolParams>;
  readonly before: HookEmitter<typeof HOOKS.toolBefore>;
  readonly result: HookEmitter<typeof HOOKS.toolResult>;
}

interface ToolSources {
  readonly tools: ExtensionView<Tool>;
  readonly hooks: ToolHooks;
  readonly log: Pick<Logger, "warn">;
}

export class ToolBox {
  readonly #sources: ToolSources;

  constructor(sources: ToolSources) {
    this.#sources = sources;
  }

  /** Choice: a model is only told about tools its run's principal may use. */
  specs(principal: Principal): ToolSpec[] {
    return this.#sources.tools
      .list()
      .filter(({ value }) => coversScope(principal.scopes, value.scope))
      .map(({ id, value }) => ({ name: id, description: value.description, parameters: value.params }));
  }

  /**
   * Refusals and failures are results with `isError`, in words for the model.
   * @throws the signal's reason, and nothing else
   */
  async use(call: ToolCall, principal: Principal, signal: AbortSignal): Promise<ToolResult> {
    try {
      return await untilAborted(this.#use(call, principal, signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (isGatewayError(error)) return failure(error.message);
      this.#sources.log.warn({ err: error, tool: call.name, runId: call.runId }, "a tool failed");
      return failure(`the tool ${call.name} failed`);
    }
  }

  async #use(wish: ToolCall, principal: Principal, signal: AbortSignal): Promise<ToolResult> {
    const { tools, hooks } = this.#sources;
    const contribution = tools.get(wish.name);
    if (!contribution) return failure(`there is no tool called ${wish.name}; use one of those you were offered`);
    const { params, scope } = contribution.value;

    const wished = await hooks.params.emit({ ...wish, arguments: structuredClone(wish.arguments) }, wish.name);
    const args = withDefaults(params, wished.arguments);
    if (!matches(params, args)) return failure(`wrong arguments: ${describeViolations(params, args)}`);
    // Hooks may change the arguments and nothing else of a call.
    const call = deepFreeze({ ...wish, arguments: args as ToolCall["arguments"] }); // matches an object schema by now
    const denial = await hooks.before.emit(call, call.name, signal);
    if (denial) return failure(`not allowed: ${denial.reason}`);
    if (!coversScope(principal.scopes, scope)) return failure(`not allowed: this run lacks the scope ${scope}`);

    signal.throwIfAborted();
    const answer = await tools.call(contribution, (tool) => answerOf(tool, call, principal, signal));
    const { content, isError } = await hooks.result.emit({ ...toResult(answer, call.name), call }, call.name);
    return bounded({ content, ...(isError === undefined ? {} : { isError }) });
  }
}

/** A refusal in the tool's own words, or the end of the run, is no fault of its plugin: it is not charged for it. */
async function answerOf(tool: Tool, call: ToolCall, principal: Principal, signal: AbortSignal) {
  try {
    return await tool.run(call.arguments, { call, principal, signal });
  } catch (error) {
    if (isGatewayError(error)) return failure(error.message);
    if (signal.aborted) return failure("stopped");
    throw error;
  }
}

function toResult(answer: unknown, name: string): ToolResult {
  if (typeof answer === "string") return { content: [{ type: "text", text: answer }] };
  const given = answer as ToolResult | undefined; // a plugin's value: its shape is checked here
  if (Array.isArray(given?.content)) return given;
  return failure(`the tool ${name} gave no readable answer`);
}

function bounded(result: ToolResult): ToolResult {
  let left = MAX_RESULT_CHARS;
  const content = result.content.map((block) => {
    if (block.type !== "text") return block;
    const text = block.text.slice(0, left);
    left -= text.length;
    const cut = block.text.length - text.length;
    return cut === 0 ? block : { type: "text" as const, text: `${text}\n[cut: ${cut} more characters]` };
  });
  return { ...result, content };
}

function failure(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}
