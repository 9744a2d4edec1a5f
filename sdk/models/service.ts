/** The `Models` service and the `ModelProvider` extension point. */
import { defineExtensionPoint, defineService } from "../service.ts";
import type { ModelChoice } from "./contract.ts";
import type { Message, StopReason, Usage } from "./messages.ts";
import type { QuotaSource } from "../usage/service.ts";

/** A tool as the model is told about it. `parameters` is JSON Schema of an object. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: unknown;
}

/** A model that can be used: `<provider>/<id>` names it. */
export interface ResolvedModel {
  readonly provider: string;
  readonly id: string;
  readonly name: string;
  /** Kind of provider that serves it, e.g. `openai-completions`. */
  readonly api: string;
  /** tokens */
  readonly contextWindow?: number;
  /** tokens the answer may have */
  readonly maxTokens?: number;
  readonly input?: readonly string[];
  readonly reasoning?: boolean;
  /** US dollars for a million tokens of each kind; absent: unknown. */
  readonly cost?: Readonly<Record<"input" | "output" | "cacheRead" | "cacheWrite", number>>;
  /** It takes the thinking level `xhigh`. Default false. */
  readonly xhigh?: boolean;
}

/** How hard a model thinks before it speaks. Spec: protocol/methods-sessions.md §5. */
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

/** The level a person meant, in any case, with its aliases; `undefined` for no level. */
export function parseThinkingLevel(text: string): ThinkingLevel | undefined {
  const word = text.trim().toLowerCase();
  const alias = Object.hasOwn(THINKING_ALIASES, word) ? THINKING_ALIASES[word] : undefined; // no "constructor"
  return THINKING_LEVELS.find((level) => level === word) ?? alias;
}

/** Whether the model has to call a tool: `required` any of them, an object that one. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

/** The form an answer has to have. */
export type ResponseFormat =
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema";
      readonly name: string;
      readonly description?: string;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly strict?: boolean;
    };

/** How an answer is to be made, in the words most APIs share. What is absent is left to the model. */
export interface AnswerOptions {
  /** Tokens the answer may have; the model's own `maxTokens` stays the upper limit. */
  readonly maxTokens?: number;
  /** 0 to 2. */
  readonly temperature?: number;
  /** 0 to 1. */
  readonly topP?: number;
  /** -2 to 2. Without effect where the API knows none. */
  readonly frequencyPenalty?: number;
  /** -2 to 2. Without effect where the API knows none. */
  readonly presencePenalty?: number;
  /** Without effect where the API knows none. */
  readonly seed?: number;
  /** The answer ends before any of these texts. */
  readonly stop?: readonly string[];
  /** False: at most one tool call an answer. */
  readonly parallelToolCalls?: boolean;
  /** A provider that cannot do it refuses the question. */
  readonly responseFormat?: ResponseFormat;
}

/** One question to a model. */
export interface ModelRequest {
  readonly model: ResolvedModel;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  /** Default `auto`. */
  readonly toolChoice?: ToolChoice;
  readonly options?: AnswerOptions;
  /** Characters of text, thoughts and tool calls the answer may have; a longer one is cut by a refusal. Default 2,000,000. */
  readonly maxAnswerChars?: number;
  /** Absent: the model's own default. `adaptive`: the model decides. */
  readonly thinking?: ThinkingLevel;
  /** Groups requests of one conversation, for provider-side caches. */
  readonly sessionKey?: string;
}

/** What a model answers, piece by piece; `finish` is the last piece and comes exactly once. */
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
  /** `<provider>`, or `<provider>:<account>` where there are several. */
  readonly name: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How one kind of model server is spoken to. Contribution id = the `api` value of `models.providers.<name>.api`. */
export interface ModelProvider {
  /** Models that need no configuration, listed under provider name = contribution id. */
  readonly builtin?: readonly ModelChoice[];
  /**
   * Asks the model. Stops at `signal`.
   * @throws GatewayError `UNAVAILABLE` with a message for people when the server cannot be used or breaks off;
   * `details` is a `ProviderFailure`, which decides about cooldown and the next account.
   */
  stream(request: ModelRequest, account: ProviderAccount, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** Where the quota of this account can be asked; `undefined`: nowhere. Asks nothing itself. Default: nowhere. */
  quota?(account: ProviderAccount): QuotaSource | undefined;
}

/** `auth`: the key is refused. `billing`: no credit. `request`: the question itself is refused, another account would refuse it too. */
export const PROVIDER_FAILURES = [
  "rate_limit",
  "auth",
  "billing",
  "timeout",
  "network",
  "server_error",
  "request",
] as const;

/** Why a provider could not answer; the `details` of its refusal. */
export interface ProviderFailure {
  readonly kind: (typeof PROVIDER_FAILURES)[number];
  /** HTTP status where there was one. */
  readonly status?: number;
}

/** Kinds of model servers. Owner: the plugin `models`. */
export const ModelProvider = defineExtensionPoint<ModelProvider>("model.provider", { remotable: true });

/** Finds and asks language models. */
export interface Models {
  /** All usable models, by provider then name. */
  list(): readonly ModelChoice[];
  /**
   * @param ref `provider/id`, a bare id or an alias; absent: what `ModelPolicy.primary` says, else `models.default`, else the first there is.
   * @throws GatewayError `NOT_FOUND` when nothing matches.
   */
  resolve(ref?: string): ResolvedModel;
  /**
   * Asks `request.model`: the accounts of its provider in turn, those that failed lately last; an account that fails
   * before its first piece cools down and the next one is asked. `finish.usage.cost` is filled in.
   * Same errors as `ModelProvider.stream`.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** epoch ms until which every account of this model cools down; `undefined` when one can be asked now. */
  coolingUntil(model: ResolvedModel): number | undefined;
}

/** Which models may be used, and their short names. Spec: protocol/methods-models.md §1. */
export interface ModelPolicy {
  /** `provider/model` -> its alias; `undefined`: every model may be used. */
  allowed(): ReadonlyMap<string, { readonly alias?: string }> | undefined;
  /** What the default agent asks first, by any reference; `undefined` or absent: `models.default` decides. */
  primary?(): string | undefined;
}

/** `agents.defaults.models` and the model of the default agent. Provided by the plugin `agents`. */
export const ModelPolicy = defineService<ModelPolicy>()("model.policy", "1.0.0");

/** Language models. Provided by the plugin `models`. */
export const Models = defineService<Models>()("models", "1.0.0");
