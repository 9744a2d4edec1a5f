/**
 * The extension points `Tool` and `ToolSource`: what agents can do in addition to answering; and the service `Tools`,
 * which runs them.
 */
import type { GatewayError } from "../gateway-error.ts";
import type { Origin } from "../origin.ts";
import type { Principal, Scope } from "../principal.ts";
import type { Static, TSchema } from "../schema.ts";
import { defineExtensionPoint, defineService } from "../service.ts";
import type { ImageBlock, TextBlock } from "../models/messages.ts";
import type { ToolSpec } from "../models/service.ts";
import type { ToolRules } from "./policy.ts";

/** Address of the caller: used by tools that send messages and by group rules. */
export interface ToolAddress {
  /** Channel id. */
  readonly channel?: string;
  readonly accountId?: string;
  /** Recipient in the channel's own notation. */
  readonly to?: string;
  readonly threadId?: string;
  /** The network's id of the message that the run answers. */
  readonly messageId?: string;
}

/** A tool call in progress. */
export interface ToolCall {
  readonly name: string;
  readonly toolCallId: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** For `/tools/invoke`, which has no run: same as `toolCallId`. */
  readonly runId: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly address?: ToolAddress;
}

/** Parses the arguments of a call as written by a model: JSON, or empty text for `{}`. `undefined`: not an object. */
export function parseToolArguments(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json.trim() || "{}");
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined; // just checked
  } catch {
    return undefined;
  }
}

/** External content: text from a sender with less authority than the owner. */
export interface OutsideWords {
  /** The origin with the least authority among the texts the model saw. */
  readonly origin: Origin;
  /**
   * Beginning of the newest such texts as the model saw them, otherwise of its answer to them; empty: no longer known.
   */
  readonly text: string;
}

/** Context for deciding the effects of a call, in addition to its arguments. */
export interface EffectsContext {
  readonly call: ToolCall;
  /**
   * Arguments that appear verbatim in a message to the agent or on a web page of the conversation: the model did not
   * invent them.
   */
  readonly seen: readonly string[];
}

/** What a tool returns to the model. */
export interface ToolResult {
  readonly content: readonly (TextBlock | ImageBlock)[];
  /** Origin of `content`. Default: the origin declared for all results of the tool (`Tool.brings`). */
  readonly origin?: Origin;
  /** The result as a value, for programs that call the tool; never shown to models. */
  readonly details?: unknown;
  readonly isError?: boolean;
}

/**
 * What a tool can do: only read; write workspace files or data of the conversation; write files that define the agent's
 * identity; send to someone outside the conversation; run programs; cost money or time; change the gateway, its jobs or
 * devices.
 */
export const TOOL_EFFECTS = [
  "reads",
  "writes-workspace",
  "writes-identity",
  "sends-out",
  "runs-code",
  "spends",
  "changes-gateway",
] as const;
export type ToolEffect = (typeof TOOL_EFFECTS)[number];

/** Context of a tool run. */
export interface ToolContext {
  readonly call: ToolCall;
  readonly principal: Principal;
  /** Aborts with the run. */
  readonly signal: AbortSignal;
  /**
   * External content the model saw; its `origin` is the origin of the arguments. Absent: the model saw only texts of
   * the owner.
   */
  readonly outside?: OutsideWords;
  /** Only for tools that ask people themselves (`asksItself`): this call needs approval, and this reason is shown. */
  readonly because?: string;
}

/** A tool. Create it with `defineTool` and contribute it with `gateway.extend(Tool, name, tool)`. */
export interface Tool<P extends TSchema = TSchema> {
  readonly description: string;
  /** Schema of the arguments; validated before `run`. */
  readonly params: P;
  /** Scope that the principal of the run must hold. */
  readonly scope: Scope;
  /** Shown to people. Default: its name. */
  readonly label?: string;
  /** Only for runs of the owner of this gateway: a principal that holds `operator.admin`. Default false. */
  readonly ownerOnly?: boolean;
  /**
   * What the tool, or a call with these arguments, can do. If the model saw text from a sender who may not request such
   * an effect, approval is required first. Absent: everything its scope allows; only with `operator.admin` may it
   * change the gateway or the agent's identity.
   */
  readonly effects?:
    | readonly ToolEffect[]
    | ((params: Static<P>, context: EffectsContext) => readonly ToolEffect[] | Promise<readonly ToolEffect[]>);
  /**
   * The tool asks people itself and shows `because` of its context; no approval is requested before it runs. Default
   * false.
   */
  readonly asksItself?: boolean;
  /**
   * Origin of its results, unless a result sets its own. `none`: the gateway and the owner. Default: an origin without
   * any authority.
   */
  readonly brings?: "none" | Origin["kind"];
  /** Offered only if a policy names the tool, its plugin or `group:plugins`. Default false. */
  readonly optional?: boolean;
  /**
   * Calls in one answer of a model run side by side with other independent ones: they change nothing that another call
   * reads, and their order does not matter. Default false: a call waits for all before it.
   */
  readonly independent?: boolean;
  /** Requires an agent run; not available through `/tools/invoke`. Default false. */
  readonly runOnly?: boolean;
  /** @throws any error: the model receives the message of a `GatewayError`, otherwise only that the tool failed */
  run(params: Static<P>, context: ToolContext): ToolResult | string | Promise<ToolResult | string>;
}

/** Ties the type of `params` to `run`. */
export function defineTool<P extends TSchema>(tool: Tool<P>): Tool {
  return tool as unknown as Tool; // the owner validates arguments against `params` before it calls `run`
}

/** Token of the extension point. */
export const Tool = defineExtensionPoint<Tool>("tool", {
  summary:
    "Tools of agents; the contribution id is the tool name. Owned by the plugin `tools`, which applies policy, validation and approvals; contributed by every plugin that offers tools.",
  remotable: true,
});

/** Tools that can change while the plugin runs, e.g. the tools of a server. */
export interface ToolSource {
  /** The current tools, by name (`^[a-zA-Z0-9_-]{1,64}$`). A name that is already in use is skipped and reported. */
  tools(): ReadonlyMap<string, Tool>;
}

/** Token of the extension point. */
export const ToolSource = defineExtensionPoint<ToolSource>("tool.source", {
  summary:
    "Changing sets of tools. Owned by the plugin `tools`; contributed by plugins such as `mcp`, whose tools come from servers.",
});

/** Tool rules for a group in the configuration of a channel; groups cannot set a profile. */
export type GroupToolRules = Omit<ToolRules, "profile">;

/** Tool rules of groups, from `channels.<channel>[.accounts.<account>].groups`. Spec: http/tools-invoke.md §7.3. */
export interface GroupToolPolicy {
  /**
   * Returns the first match of: rules of the thread by sender, rules of the thread, and the same for the group and for all
   * groups (`*`). Rules by sender name the id of a sender, or `*`.
   * @param group.groupId as in a session key: lower case
   * @param group.principalId of the run; its sender is known only if the message came through a channel
   * @returns the same object as long as the rules are unchanged; `undefined`: no rules. A throw removes all tools.
   */
  of(group: {
    readonly channel: string;
    readonly accountId?: string;
    readonly groupId: string;
    readonly threadId?: string;
    readonly principalId?: string;
  }): GroupToolRules | undefined;
}

/** Token of the service. */
export const GroupToolPolicy = defineService<GroupToolPolicy>()("tool.group-policy", "1.0.0", {
  summary: "Tool rules of groups. Provided by the plugin that owns the channels; used by the plugin `tools`.",
});

/** The caller and its context, on which the tool policy decides. */
export interface ToolScene {
  /** `http`: `/tools/invoke`, which has its own deny rules and no run. */
  readonly surface: "run" | "http";
  readonly agentId: string;
  /** Canonical. */
  readonly sessionKey: string;
  readonly principal: Principal;
  /** The answering model, if known. */
  readonly model?: { readonly provider: string; readonly id: string };
  readonly address?: ToolAddress;
  /** Absent: the model saw only texts of the owner. `saw`: see `EffectsContext.seen`. */
  readonly outside?: OutsideWords & { saw(text: string): boolean };
}

/** Outcome of a call. */
export type ToolAttempt =
  | { readonly outcome: "done"; readonly result: ToolResult }
  /** The tool does not exist, or the policy removed it; the caller does not learn which. */
  | { readonly outcome: "unknown" }
  /** Invalid arguments, a denying gate, a missing scope, or a refusal by the tool itself. */
  | {
      readonly outcome: "refused";
      readonly error: GatewayError;
      /** Origin of text that the refusal may contain; absent: only texts of the gateway. */
      readonly origin?: Origin;
    }
  /** The tool failed; the error is logged and attributed to its plugin. */
  | { readonly outcome: "failed" }
  /** Dry run: the call would be accepted with these arguments, apart from gates. */
  | { readonly outcome: "checked"; readonly arguments: Readonly<Record<string, unknown>> };

/** A tool that a caller may use. */
export interface OfferedTool extends ToolSpec {
  /** As `Tool.independent`; not for the model. */
  readonly independent?: true;
}

/** Lists and calls the tools available to a caller. */
export interface Tools {
  /** The tools allowed by the policy, in catalog order. `parameters` is the tool's own schema. */
  specs(scene: ToolScene): readonly OfferedTool[];
  /**
   * Order of steps: policy, hook `toolParams`, validation, scope, `tools.fromOutside`, gate `toolBefore`, the tool,
   * hook `toolResult`, size limits.
   * @param options.dryRun stops before the gate: nobody is asked and nothing runs
   * @throws only the reason of the signal
   */
  attempt(
    call: ToolCall,
    scene: ToolScene,
    signal: AbortSignal,
    options?: { readonly dryRun?: boolean },
  ): Promise<ToolAttempt>;
}

/** Token of the service. */
export const Tools = defineService<Tools>()("tools", "1.0.0", {
  summary:
    "Lists and runs tools under the tool policy. Provided by the plugin `tools`; used by agents and `/tools/invoke`.",
});
