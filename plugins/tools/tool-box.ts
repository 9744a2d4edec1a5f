/** A tool call from a wish to its answer: policy, hooks, validation, scope, gate, run, bounds. */
import {
  coversScope,
  deepFreeze,
  describeViolations,
  type ExtensionView,
  GatewayError,
  type HookEmitter,
  HOOKS,
  isGatewayError,
  type Logger,
  matches,
  untilAborted,
  withDefaults,
} from "@svc/sdk";
import type { Tool, ToolAttempt, ToolCall, ToolResult, Tools, ToolScene } from "@svc/sdk/tools";
import type { KnownTool, ToolShelf } from "./shelf.ts";

/** Choice: characters of text a result may have; more is cut, so that one answer cannot fill the model's window. */
export const MAX_RESULT_CHARS = 100_000;

export interface ToolHooks {
  readonly params: HookEmitter<typeof HOOKS.toolParams>;
  readonly before: HookEmitter<typeof HOOKS.toolBefore>;
  readonly result: HookEmitter<typeof HOOKS.toolResult>;
}

export interface ToolBoxSources {
  readonly shelf: ToolShelf;
  /** Contributors of tools, to charge them. */
  readonly tools: Pick<ExtensionView<Tool>, "call">;
  readonly hooks: ToolHooks;
  readonly log: Pick<Logger, "warn">;
}

export class ToolBox implements Tools {
  readonly #sources: ToolBoxSources;

  constructor(sources: ToolBoxSources) {
    this.#sources = sources;
  }

  specs(scene: ToolScene) {
    return this.#sources.shelf
      .allowed(scene)
      .map(({ name, tool }) => ({ name, description: tool.description, parameters: tool.params }));
  }

  async attempt(
    call: ToolCall,
    scene: ToolScene,
    signal: AbortSignal,
    options: { readonly dryRun?: boolean } = {},
  ): Promise<ToolAttempt> {
    const known = this.#sources.shelf.find(call.name, scene);
    if (!known) return { outcome: "unknown" };
    try {
      return await untilAborted(this.#use(known, call, scene, signal, options.dryRun === true), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (isGatewayError(error)) return { outcome: "refused", error };
      this.#sources.log.warn({ err: error, tool: call.name, runId: call.runId }, "a tool failed");
      return { outcome: "failed" };
    }
  }

  async #use(
    known: KnownTool,
    wish: ToolCall,
    { principal }: ToolScene,
    signal: AbortSignal,
    dryRun: boolean,
  ): Promise<ToolAttempt> {
    const { hooks } = this.#sources;
    const { params, scope, ownerOnly } = known.tool;

    const wished = await hooks.params.emit({ ...wish, arguments: structuredClone(wish.arguments) }, wish.name);
    const args = withDefaults(params, wished.arguments);
    if (!matches(params, args)) refuse("INVALID_REQUEST", `wrong arguments: ${describeViolations(params, args)}`);
    // Hooks may change the arguments and nothing else of a call.
    const call = deepFreeze({ ...wish, arguments: args as ToolCall["arguments"] }); // matches an object schema by now
    if (!coversScope(principal.scopes, scope)) refuse("FORBIDDEN", `not allowed: the scope ${scope} is missing`);
    if (ownerOnly === true && !coversScope(principal.scopes, "operator.admin"))
      refuse("FORBIDDEN", "not allowed: this tool is for runs of whoever owns this gateway");
    if (dryRun) return { outcome: "checked", arguments: call.arguments };
    const denial = await hooks.before.emit(call, call.name, signal);
    if (denial) refuse("FORBIDDEN", `not allowed: ${denial.reason}`);

    signal.throwIfAborted();
    const answer = await this.#run(known, call, { principal, signal });
    const told = await hooks.result.emit({ ...toResult(answer, call.name), call }, call.name);
    const { call: _asked, ...result } = told;
    return { outcome: "done", result: bounded(result) };
  }

  /** A refusal in the tool's own words, or the end of the run, is no fault of its plugin: it is not charged for it. */
  async #run({ contribution, tool }: KnownTool, call: ToolCall, context: Omit<Parameters<Tool["run"]>[1], "call">) {
    const answer = await this.#sources.tools.call({ ...contribution, value: tool }, async () => {
      try {
        return await tool.run(call.arguments, { call, ...context });
      } catch (error) {
        if (isGatewayError(error)) return error;
        if (context.signal.aborted) return "stopped";
        throw error;
      }
    });
    if (isGatewayError(answer)) throw answer;
    return answer;
  }
}

function refuse(code: "INVALID_REQUEST" | "FORBIDDEN", message: string): never {
  throw new GatewayError(code, message);
}

function toResult(answer: unknown, name: string): ToolResult {
  if (typeof answer === "string") return { content: [{ type: "text", text: answer }] };
  const given = answer as ToolResult | undefined; // a plugin's value: its shape is checked here
  if (Array.isArray(given?.content)) return given;
  return { content: [{ type: "text", text: `the tool ${name} gave no readable answer` }], isError: true };
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
