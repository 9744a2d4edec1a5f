/** Executes a tool call: policy, hooks, validation, scope, gate, run, size limit. */
import {
  coversScope,
  deepFreeze,
  describeViolations,
  type ExtensionView,
  floorOf,
  GatewayError,
  type HookEmitter,
  HOOKS,
  isGatewayError,
  type Logger,
  matches,
  Origin,
  saidAfter,
  untilAborted,
  withDefaults,
} from "@svc/sdk";
import type { Credentials } from "@svc/sdk/gateway";
import {
  type EffectsContext,
  type Tool,
  TOOL_EFFECTS,
  type ToolAttempt,
  type ToolCall,
  type ToolResult,
  type Tools,
  type ToolScene,
} from "@svc/sdk/tools";
import { broughtBy, effectsOf } from "./authority.ts";
import type { OutsideGate } from "./outside-gate.ts";
import type { KnownTool, ToolShelf } from "./shelf.ts";

/** Choice: maximum number of characters of text in a result; longer results are cut, so that none fills the model's window. */
export const MAX_RESULT_CHARS = 100_000;

export interface ToolHooks {
  readonly params: HookEmitter<typeof HOOKS.toolParams>;
  readonly before: HookEmitter<typeof HOOKS.toolBefore>;
  readonly result: HookEmitter<typeof HOOKS.toolResult>;
}

export interface ToolBoxSources {
  readonly shelf: ToolShelf;
  /** Calls contributors, and attributes failures to them. */
  readonly tools: Pick<ExtensionView<Tool>, "call">;
  readonly hooks: ToolHooks;
  readonly gate: Pick<OutsideGate, "check" | "excludes">;
  readonly credentials: Pick<Credentials, "isLive">;
  readonly log: Pick<Logger, "warn">;
}

export class ToolBox implements Tools {
  readonly #sources: ToolBoxSources;

  constructor(sources: ToolBoxSources) {
    this.#sources = sources;
  }

  specs(scene: ToolScene) {
    const { shelf, gate } = this.#sources;
    return shelf
      .allowed(scene)
      .filter(({ tool }) => !gate.excludes(tool, scene.outside))
      .map(({ name, tool: { description, params, independent } }) => ({
        name,
        description,
        parameters: params,
        ...(independent === true ? { independent } : {}),
      }));
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
      this.#sources.log.warn({ err: error, tool: call.name, runId: call.runId }, "a tool call failed");
      return { outcome: "failed" };
    }
  }

  async #use(
    known: KnownTool,
    wish: ToolCall,
    { principal, outside }: ToolScene,
    signal: AbortSignal,
    dryRun: boolean,
  ): Promise<ToolAttempt> {
    const { hooks, gate, credentials } = this.#sources;
    const { tool } = known;
    const { params, scope, ownerOnly } = tool;

    const wished = await hooks.params.emit({ ...wish, arguments: structuredClone(wish.arguments) }, wish.name);
    const args = withDefaults(params, wished.arguments);
    if (!matches(params, args))
      refuse("INVALID_REQUEST", `invalid arguments for the tool ${wish.name}: ${describeViolations(params, args)}`);
    // Hooks may only change the arguments of a call.
    const call = deepFreeze({ ...wish, arguments: args as ToolCall["arguments"] }); // matches an object schema
    if (!coversScope(principal.scopes, scope)) refuse("FORBIDDEN", `not allowed: the scope ${scope} is missing`);
    if (ownerOnly === true && !coversScope(principal.scopes, "operator.admin"))
      refuse("FORBIDDEN", "not allowed: only runs of the gateway's owner may use this tool");
    if (dryRun) return { outcome: "checked", arguments: call.arguments };
    const effects = async (about: EffectsContext) => {
      const found = await this.#charged(known, () => effectsOf(tool, about));
      if (isGatewayError(found)) throw found;
      return found ?? TOOL_EFFECTS;
    };
    const because = await gate.check({ tool, call, outside, effects }, signal);
    const denial = await hooks.before.emit(call, call.name, signal);
    if (denial) refuse("FORBIDDEN", `not allowed: ${denial.reason}`);

    signal.throwIfAborted();
    // Checked last, since hooks and people take time.
    if (!credentials.isLive(principal)) refuse("FORBIDDEN", "not allowed: the credential of this call has ended");
    const words = outside && { origin: saidAfter(outside.origin), text: outside.text };
    const context = { call, principal, signal, ...(words && { outside: words }), ...(because && { because }) };
    const answer = await this.#charged(known, () => tool.run(call.arguments, context), signal);
    const brought = broughtBy(tool, call.name);
    if (isGatewayError(answer)) return { outcome: "refused", error: answer, ...originOf(brought) };
    const given = toResult(answer, call.name);
    const said = matches(Origin, given.origin) ? given.origin : undefined;
    const told = await hooks.result.emit({ ...given, call }, call.name);
    const { call: _asked, ...result } = told;
    // A hook may lower the authority of a result, and cannot raise it.
    const origin = floorOf([said ?? brought, matches(Origin, result.origin) ? result.origin : undefined]);
    return { outcome: "done", result: { ...bounded(result), ...originOf(origin) } };
  }

  /**
   * Attributes failures to the plugin, except a refusal by the tool and the end of the run.
   * @returns the refusal as a value; `undefined`: the run has ended
   */
  #charged<T>(
    known: KnownTool,
    work: () => T | Promise<T>,
    signal?: AbortSignal,
  ): Promise<T | GatewayError | undefined> {
    return this.#sources.tools.call({ ...known.contribution, value: known.tool }, async () => {
      try {
        return await work();
      } catch (error) {
        if (isGatewayError(error)) return error;
        if (signal?.aborted) return undefined;
        throw error;
      }
    });
  }
}

function originOf(origin: Origin | undefined): { readonly origin?: Origin } {
  return origin === undefined ? {} : { origin };
}

function refuse(code: "INVALID_REQUEST" | "FORBIDDEN", message: string): never {
  throw new GatewayError(code, message);
}

function toResult(answer: unknown, name: string): ToolResult {
  if (typeof answer === "string") return { content: [{ type: "text", text: answer }] };
  const given = answer as ToolResult | undefined; // a plugin's value; its shape is checked here
  if (Array.isArray(given?.content)) return given;
  return { content: [{ type: "text", text: `the tool ${name} returned no valid result` }], isError: true };
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
