/** The extension points `Tool` and `ToolSource`: what agents can do beside talking; and the service `Tools`, which uses them. */
import type { GatewayError } from "../gateway-error.ts";
import type { Origin } from "../origin.ts";
import type { Principal, Scope } from "../principal.ts";
import type { Static, TSchema } from "../schema.ts";
import { defineExtensionPoint, defineService } from "../service.ts";
import type { ImageBlock, TextBlock } from "../models/messages.ts";
import type { ToolSpec } from "../models/service.ts";
import type { ToolRules } from "./policy.ts";

/** Where whoever asks is: what tools that send and the rules of groups go by. */
export interface ToolAddress {
  /** Channel id. */
  readonly channel?: string;
  readonly accountId?: string;
  /** Recipient in the channel's own notation. */
  readonly to?: string;
  readonly threadId?: string;
}

/** A tool call on its way. */
export interface ToolCall {
  readonly name: string;
  readonly toolCallId: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Of `/tools/invoke`, where no run is: the same as `toolCallId`. */
  readonly runId: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly address?: ToolAddress;
}

/** The arguments of a call as a model wrote them: JSON, or nothing for `{}`. `undefined`: it is no object. */
export function parseToolArguments(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json.trim() || "{}");
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined; // just checked
  } catch {
    return undefined;
  }
}

/** Words of somebody who may do less than the owner. */
export interface OutsideWords {
  /** With the least authority among the words a model was shown. */
  readonly origin: Origin;
  /** The beginnings of the newest of them, as the model saw them, else of its answer to them; empty: neither is known any more. */
  readonly text: string;
}

/** What a tool is told about a call beside its arguments. */
export interface EffectsContext {
  readonly call: ToolCall;
  /** Arguments that stand word for word in a message to the agent or on a web page of the conversation: the model did not make them up. */
  readonly seen: readonly string[];
}

/** What a tool tells the model. */
export interface ToolResult {
  readonly content: readonly (TextBlock | ImageBlock)[];
  /** Whose words `content` holds. Default: what the tool says of all its results (`Tool.brings`). */
  readonly origin?: Origin;
  /** The same as a value, for programs that call the tool; models never see it. */
  readonly details?: unknown;
  readonly isError?: boolean;
}

/**
 * What a tool can do: it only reads; writes files of the workspace, or what belongs to the conversation; writes files that
 * say who the agent is; tells somebody outside of the conversation; runs programs; costs money or time; changes the gateway,
 * its jobs or devices.
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

/** What a tool runs with. */
export interface ToolContext {
  readonly call: ToolCall;
  readonly principal: Principal;
  /** Aborts with the run. */
  readonly signal: AbortSignal;
  /** `origin`: whose words the arguments are. Absent: the model was shown the owner's words only. */
  readonly outside?: OutsideWords;
  /** Of a tool that asks people itself (`asksItself`): they have to allow this call, and this is what they are told. */
  readonly because?: string;
}

/** A tool. Make one with `defineTool`, contribute it with `gateway.extend(Tool, name, tool)`. */
export interface Tool<P extends TSchema = TSchema> {
  readonly description: string;
  /** Arguments; validated before `run`. */
  readonly params: P;
  /** Scope the run's principal must hold. */
  readonly scope: Scope;
  /** Shown to people. Default: its name. */
  readonly label?: string;
  /** Only for runs of whoever owns this gateway: a principal that holds `operator.admin`. Default false. */
  readonly ownerOnly?: boolean;
  /**
   * What it can do, or what a call with these arguments does: where its model was shown words of somebody who may not ask for
   * that, people are asked first. Absent: all that its scope allows; only with `operator.admin` it may change the gateway or
   * who the agent is.
   */
  readonly effects?:
    | readonly ToolEffect[]
    | ((params: Static<P>, context: EffectsContext) => readonly ToolEffect[] | Promise<readonly ToolEffect[]>);
  /** It asks people itself, with `because` of its context: nobody is asked before it runs. Default false. */
  readonly asksItself?: boolean;
  /** Whose words its results are, unless a result says so itself. `none`: the gateway's and the owner's. Default: nobody's who may do anything. */
  readonly brings?: "none" | Origin["kind"];
  /** Offered only where some policy names it, its plugin or `group:plugins`. Default false. */
  readonly optional?: boolean;
  /** It needs an agent's run around it: `/tools/invoke` does not know it. Default false. */
  readonly runOnly?: boolean;
  /** @throws anything: the model is told the message of a `GatewayError`, else that it failed. */
  run(params: Static<P>, context: ToolContext): ToolResult | string | Promise<ToolResult | string>;
}

/** Ties the type of `params` to `run`. */
export function defineTool<P extends TSchema>(tool: Tool<P>): Tool {
  return tool as unknown as Tool; // the owner validates arguments against `params` before it calls `run`
}

/** Tools; the contribution id is the name. Owner: the plugin `tools`. */
export const Tool = defineExtensionPoint<Tool>("tool", { remotable: true });

/** Tools that come and go while the plugin runs, e.g. those of a server. */
export interface ToolSource {
  /** Those there are now, by name (`^[a-zA-Z0-9_-]{1,64}$`). A name somebody else has is left out and told. */
  tools(): ReadonlyMap<string, Tool>;
}

/** Sources of tools. Owner: the plugin `tools`. */
export const ToolSource = defineExtensionPoint<ToolSource>("tool.source");

/** What a channel's configuration says of the tools of a group; all of a group have the same profile as anybody. */
export type GroupToolRules = Omit<ToolRules, "profile">;

/** Rules of groups, from `channels.<channel>[.accounts.<account>].groups`. Spec: http/tools-invoke.md §7.3. */
export interface GroupToolPolicy {
  /**
   * The first of: those of the group by sender, those of the group, those of all groups (`*`) by sender, those of all
   * groups. Nobody knows the sender here, so of rules by sender only `*` counts.
   * @param group.groupId as in a session key: lower case
   * @returns the same object as long as they are the same; `undefined`: there are none. A throw takes all tools away.
   */
  of(group: {
    readonly channel: string;
    readonly accountId?: string;
    readonly groupId: string;
  }): GroupToolRules | undefined;
}

/** Rules of groups for tools. Provided by the plugin that owns the channels. */
export const GroupToolPolicy = defineService<GroupToolPolicy>()("tool.group-policy", "1.0.0");

/** Who asks for tools, and in what surroundings: what the policy decides on. */
export interface ToolScene {
  /** `http`: `/tools/invoke`, which has deny rules of its own and no run. */
  readonly surface: "run" | "http";
  readonly agentId: string;
  /** Canonical. */
  readonly sessionKey: string;
  readonly principal: Principal;
  /** That answers, where one is known. */
  readonly model?: { readonly provider: string; readonly id: string };
  readonly address?: ToolAddress;
  /** Absent: the model was shown the owner's words only. `saw`: see `EffectsContext.seen`. */
  readonly outside?: OutsideWords & { saw(text: string): boolean };
}

/** What became of a call. */
export type ToolAttempt =
  | { readonly outcome: "done"; readonly result: ToolResult }
  /** There is no such tool here, or the policy has taken it away: nobody is told which. */
  | { readonly outcome: "unknown" }
  /** Wrong arguments, a gate, a missing scope, or the tool's own no. */
  | {
      readonly outcome: "refused";
      readonly error: GatewayError;
      /** Whose words the refusal may hold; absent: the gateway's own. */
      readonly origin?: Origin;
    }
  /** It broke; the log says why and its plugin is charged. */
  | { readonly outcome: "failed" }
  /** Of a dry run: it could be called with these arguments, gates aside. */
  | { readonly outcome: "checked"; readonly arguments: Readonly<Record<string, unknown>> };

/** Which tools there are for whom, and calling them. */
export interface Tools {
  /** What the policy leaves, in the order of the catalogue. `parameters` is the tool's own schema. */
  specs(scene: ToolScene): readonly ToolSpec[];
  /**
   * Policy, hook `toolParams`, validation, scope, `tools.fromOutside`, gate `toolBefore`, the tool, hook `toolResult`, bounds.
   * @param options.dryRun stops before the gate: nobody is asked and nothing runs
   * @throws the signal's reason, and nothing else
   */
  attempt(
    call: ToolCall,
    scene: ToolScene,
    signal: AbortSignal,
    options?: { readonly dryRun?: boolean },
  ): Promise<ToolAttempt>;
}

/** Tools and their policy. Provided by the plugin `tools`. */
export const Tools = defineService<Tools>()("tools", "1.0.0");
