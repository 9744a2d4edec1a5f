/** The `Models` service and the `ModelProvider` extension point. */
import { defineExtensionPoint, defineService } from "../service.ts";
import type { Static } from "../schema.ts";
import type { ModelChoice } from "../contracts/models.ts";
import type { Message, StopReason, Usage } from "./messages.ts";

export type ModelChoice = Static<typeof ModelChoice>;

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
}

/** One question to a model. */
export interface ModelRequest {
  readonly model: ResolvedModel;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly thinking?: string;
  /** Groups requests of one conversation, for provider-side caches. */
  readonly sessionKey?: string;
}

/** What a model answers, piece by piece; `finish` is the last piece and comes exactly once. */
export type ModelEvent =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "thinking"; readonly delta: string }
  | {
      readonly type: "toolCall";
      readonly id: string;
      readonly name: string;
      readonly arguments: Readonly<Record<string, unknown>>;
    }
  | { readonly type: "finish"; readonly reason: Exclude<StopReason, "error" | "aborted">; readonly usage?: Usage };

/** A configured account of a provider: `models.providers.<name>`. */
export interface ProviderAccount {
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
   * @throws GatewayError `UNAVAILABLE` with a message for people when the server cannot be used or breaks off.
   */
  stream(request: ModelRequest, account: ProviderAccount, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** Kinds of model servers. Owner: the plugin `models`. */
export const ModelProvider = defineExtensionPoint<ModelProvider>("model.provider");

/** Finds and asks language models. */
export interface Models {
  /** All usable models, by provider then name. */
  list(): readonly ModelChoice[];
  /**
   * @param ref `provider/id` or a bare id; absent: the configured default, else the built-in one.
   * @throws GatewayError `NOT_FOUND` when nothing matches.
   */
  resolve(ref?: string): ResolvedModel;
  /** Asks `request.model`. Same errors as `ModelProvider.stream`. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** Language models. Provided by the plugin `models`. */
export const Models = defineService<Models>()("models", "1.0.0");
