/** The `Models` service and the `ModelProvider` extension point. */
import { defineExtensionPoint, defineService } from "../service.ts";
import type { KnownModel, ListedModel, ModelChoice } from "./contract.ts";
import type { Message, StopReason, Usage } from "./messages.ts";
import type { QuotaSource } from "../usage/service.ts";

/** A tool as described to the model. `parameters` is the JSON Schema of an object. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: unknown;
}

/** US dollars per million tokens of each kind. */
export type Prices = Readonly<Record<"input" | "output" | "cacheRead" | "cacheWrite", number>>;

/** A usable model, named `<provider>/<id>`. */
export interface ResolvedModel {
  readonly provider: string;
  readonly id: string;
  readonly name: string;
  /** Kind of provider that serves the model, e.g. `openai-completions`. */
  readonly api: string;
  /** tokens */
  readonly contextWindow?: number;
  /** maximum tokens of the answer */
  readonly maxTokens?: number;
  readonly input?: readonly string[];
  readonly reasoning?: boolean;
  /** Absent: unknown. */
  readonly cost?: Prices;
  /** Prices of a request with more than `tokens` prompt tokens. Absent: `cost` applies to all requests. */
  readonly costAbove?: Prices & { readonly tokens: number };
  /** Supports the thinking level `xhigh`. Default false. */
  readonly xhigh?: boolean;
}

/** Reasoning effort of a model. Spec: protocol/methods-sessions.md §5. */
export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "adaptive"] as const;
export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

const THINKING_ALIASES: Readonly<Record<string, ThinkingLevel>> = {
  on: "low",
  enable: "low",
  enabled: "low",
  min: "minimal",
  med: "medium",
  mid: "medium",
  max: "high",
  "x-high": "xhigh",
  auto: "adaptive",
  none: "off",
  disable: "off",
  disabled: "off",
};

/** Parses a thinking level or one of its aliases, in any case; `undefined` if it is neither. */
export function parseThinkingLevel(text: string): ThinkingLevel | undefined {
  const word = text.trim().toLowerCase();
  const alias = Object.hasOwn(THINKING_ALIASES, word) ? THINKING_ALIASES[word] : undefined; // no "constructor"
  return THINKING_LEVELS.find((level) => level === word) ?? alias;
}

/** The thinking levels that change something for this model: `off` alone if it does not think. */
export function thinkingLevelsOf(
  model: Pick<ResolvedModel, "reasoning" | "xhigh">,
): { readonly id: ThinkingLevel; readonly label: string }[] {
  const levels = model.reasoning === true ? THINKING_LEVELS : (["off"] as const);
  return levels.filter((level) => level !== "xhigh" || model.xhigh === true).map((id) => ({ id, label: id }));
}

/** Whether the model must call a tool: `required`: any tool; an object: that tool. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

/** Required format of an answer. */
export type ResponseFormat =
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema";
      readonly name: string;
      readonly description?: string;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly strict?: boolean;
    };

/** Answer settings in the terms most APIs share. Absent values are left to the model. */
export interface AnswerOptions {
  /** Maximum tokens of the answer; the model's own `maxTokens` remains the upper limit. */
  readonly maxTokens?: number;
  /** 0 to 2. */
  readonly temperature?: number;
  /** 0 to 1. */
  readonly topP?: number;
  /** -2 to 2. Ignored if the API does not support it. */
  readonly frequencyPenalty?: number;
  /** -2 to 2. Ignored if the API does not support it. */
  readonly presencePenalty?: number;
  /** Ignored if the API does not support it. */
  readonly seed?: number;
  /** The answer ends before any of these texts. */
  readonly stop?: readonly string[];
  /** False: at most one tool call per answer. */
  readonly parallelToolCalls?: boolean;
  /** A provider without support rejects the request. */
  readonly responseFormat?: ResponseFormat;
}

/** One request to a model. */
export interface ModelRequest {
  readonly model: ResolvedModel;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  /** Default `auto`. */
  readonly toolChoice?: ToolChoice;
  readonly options?: AnswerOptions;
  /**
   * Maximum characters of text, reasoning and tool calls in the answer; a longer answer is cut off with an error.
   * Default 2,000,000.
   */
  readonly maxAnswerChars?: number;
  /** Absent: the model's own default. `adaptive`: the model decides. */
  readonly thinking?: ThinkingLevel;
  /** Groups requests of one conversation, for caches of the provider. */
  readonly sessionKey?: string;
}

/**
 * Streamed parts of an answer; `finish` comes last and exactly once. A provider may yield a text with an empty `delta` when
 * the server sends something that is no part of the answer yet, e.g. a fragment of a tool call. It restarts the idle
 * timeout of the plugin `models`, which does not pass it on. Keep-alives do not count.
 */
export type ModelEvent =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "thinking"; readonly delta: string; readonly signature?: string }
  | {
      readonly type: "toolCall";
      readonly id: string;
      readonly name: string;
      readonly arguments: Readonly<Record<string, unknown>>;
    }
  | { readonly type: "finish"; readonly reason: Exclude<StopReason, "error" | "aborted">; readonly usage?: Usage };

/** A configured account of a provider: `models.providers.<name>`, or one of its `accounts`. */
export interface ProviderAccount {
  /** `<provider>`, or `<provider>:<account>` if there are several. */
  readonly name: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A client for one kind of model server. The contribution id is the value of `models.providers.<name>.api`. */
export interface ModelProvider {
  /** Models that need no configuration, listed with the contribution id as provider name. */
  readonly builtin?: readonly ModelChoice[];
  /**
   * Sends the request to the model and streams the answer. Stops at `signal`.
   * @throws GatewayError `UNAVAILABLE` with a message for people if the server is unavailable or breaks off; `details`
   * is a `ProviderFailure`, which decides about cooldown and the next account
   */
  stream(request: ModelRequest, account: ProviderAccount, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /**
   * Where to query the quota of this account; `undefined`: not available. Sends no request itself. Default: not
   * available.
   */
  quota?(account: ProviderAccount): QuotaSource | undefined;
  /**
   * Asks the server for its models, at most 5,000. `provider` of a choice is ignored. Also used to check a key. Default:
   * not available.
   * @throws GatewayError like `stream`; also if the answer is larger than 10 MB
   */
  listModels?(account: ProviderAccount, signal: AbortSignal): Promise<readonly KnownModel[]>;
}

/**
 * `auth`: the key was rejected. `billing`: no credit. `request`: the request itself was rejected; another account would
 * reject it, too.
 */
export const PROVIDER_FAILURES = [
  "rate_limit",
  "auth",
  "billing",
  "timeout",
  "network",
  "server_error",
  "request",
] as const;

/** Why a provider could not answer; the `details` of its error. */
export interface ProviderFailure {
  readonly kind: (typeof PROVIDER_FAILURES)[number];
  /** HTTP status, if there was one. */
  readonly status?: number;
}

/** Token of the extension point. */
export const ModelProvider = defineExtensionPoint<ModelProvider>("model.provider", {
  summary:
    "Kinds of model servers. Owned by the plugin `models`, which selects accounts and retries; contributed by one plugin per API.",
  remotable: true,
});

/** Resolves and calls language models. */
export interface Models {
  /** All usable models, sorted by provider and name. Models of local servers appear once they were found. */
  list(): readonly ModelChoice[];
  /**
   * The models of `list` as clients show them: with alias, state of the accounts, thinking levels, and the tag `default`.
   * @param agentId agent whose first model is the default; default: the default agent
   * @param all also the models that `ModelPolicy.allowed` excludes. Default false.
   */
  choices(agentId?: string, all?: boolean): readonly ListedModel[];
  /**
   * @param ref `provider/id`, a bare id or an alias; absent: `ModelPolicy.primary`, else `models.default`, else the
   * first model.
   * @param agentId agent whose first model is meant by an absent `ref`; default: the default agent
   * @throws GatewayError `NOT_FOUND` if nothing matches.
   */
  resolve(ref?: string, agentId?: string): ResolvedModel;
  /**
   * Sends a request to `request.model`. Tries the accounts of its provider in turn, recently failed ones last; an
   * account that fails before its first chunk cools down, and the next one is used. Sets `finish.usage.cost`. Same
   * errors as `ModelProvider.stream`; also `UNAVAILABLE` of kind `timeout` for a server that is silent for
   * `models.idleTimeoutSeconds`.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** epoch ms until which all accounts of this model cool down; `undefined` if one is usable now. */
  coolingUntil(model: ResolvedModel): number | undefined;
}

/** The accounts of model servers, for requests other than those of `Models`, e.g. transcription. */
export interface ModelAccounts {
  /**
   * Runs `work` with an account of `models.providers.<provider>`. If it throws a `ProviderFailure` of another kind than
   * `request`, the account cools down, and `work` runs with the next one, as for `Models.stream`.
   * @throws GatewayError `NOT_FOUND` for a provider that is not configured; the error of the last account; the reason of the
   * signal
   */
  use<T>(provider: string, work: (account: ProviderAccount) => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Token of the service. */
export const ModelAccounts = defineService<ModelAccounts>()("model.accounts", "1.0.0", {
  summary:
    "Lends the accounts of model servers, with their keys. Provided by the plugin `models`; used by the plugin `media` for transcription servers.",
});

/** Which models may be used, and their aliases. Spec: protocol/methods-models.md §1. */
export interface ModelPolicy {
  /** `provider/model` -> its alias; `undefined`: every model may be used. */
  allowed(): ReadonlyMap<string, { readonly alias?: string }> | undefined;
  /** Reference of the agent's first model; `undefined` or absent: `models.default` decides. Default: the default agent. */
  primary?(agentId?: string): string | undefined;
}

/** Token of the service. */
export const ModelPolicy = defineService<ModelPolicy>()("model.policy", "1.0.0", {
  summary:
    "Model allowlist (`agents.defaults.models`) and the first model of each agent. Provided by the plugin `agents`; used by the plugin `models`.",
});

/** Token of the service. */
export const Models = defineService<Models>()("models", "1.0.0", {
  summary:
    "Calls language models. Provided by the plugin `models`; used by agents and every plugin that needs a model.",
});
