/**
 * Webhooks: what plugins contribute to the mapping engine of the host (actions, presets, verifiers), and the service that
 * reports on it and runs its actions. Spec: §4.5, §5.2, http/webhooks.md.
 */
import type { Principal } from "../principal.ts";
import type { TObject } from "../schema.ts";
import { defineExtensionPoint, defineService } from "../service.ts";
import type { Transform } from "../transform.ts";
import type { Statement } from "../storage/service.ts";
import type { WebhookMappingInfo, WebhookProblem, WebhookTrial, WebhookTrialReport } from "./contract.ts";
import type { TransformPlan, WebhookTransformRef } from "./transforms.ts";

/** Values of an action by name; JSON only. */
export type WebhookFields = Readonly<Record<string, unknown>>;

/** The operator's restrictions on agents and sessions that a sender, a template or a transform chooses. */
export interface WebhookPolicy {
  /** @param agentId the agent that will run: the requested one, or the default. @throws GatewayError `INVALID_REQUEST` naming `hooks.allowedAgentIds` */
  checkAgentId(agentId: string): void;
  /**
   * The session key to use: the requested one, else `hooks.defaultSessionKey`, else `hook:<uuid>`.
   * @throws GatewayError `INVALID_REQUEST` naming the setting that forbids it. Spec: http/webhooks.md §5.3
   */
  sessionKey(asked: string | undefined): string;
}

/** Origin of the fields that an action checks. */
export interface WebhookActionContext {
  /** `request`: a sender posted the fields to `{hooks.path}/<action>`. `mapping`: a template or a transform produced them. */
  readonly source: "request" | "mapping";
  /** Id of the mapping, or of the action for direct requests. */
  readonly mapping: string;
  readonly policy: WebhookPolicy;
}

/** Fields that an action accepted. */
export interface PreparedWebhook {
  /** Stored, and passed to `commit` or `run`; JSON only. */
  readonly params: WebhookFields;
  /** Further keys of the 200 body, in addition to `ok` and `runId`. */
  readonly reply?: WebhookFields;
  /** For reports. */
  readonly sessionKey?: string;
}

/** An accepted webhook. External texts are marked as such unless the mapping says otherwise. */
export interface WebhookJob {
  /** Never reused. */
  readonly runId: string;
  /** From 1; increases with each retry. */
  readonly attempt: number;
  /** Id of the mapping, or of the action for direct requests. */
  readonly mapping: string;
  readonly params: WebhookFields;
  /** False: the operator allowed the texts to stay unmarked. */
  readonly wrapped: boolean;
  /** epoch ms */
  readonly acceptedAt: number;
  /** Has fewer scopes than an operator. */
  readonly principal: Principal;
}

/** Outcome of a job. */
export interface WebhookResult {
  /** One sentence for people. */
  readonly summary?: string;
  /** JSON for `svc hooks runs --json`. */
  readonly details?: WebhookFields;
}

/**
 * What a webhook can trigger. Contribution id = the mapping's `action`, and the path of `direct` actions.
 * Has `commit` or `run`.
 */
export interface WebhookAction {
  readonly summary: string;
  /**
   * Fields by name. Mark an external text with `external: true`: it reaches `commit` and `run` wrapped.
   * `prepare` checks required fields, since it can explain what is missing.
   */
  readonly fields: TObject;
  /** Serves `POST {hooks.path}/<id>`: the body holds its fields. Default false. */
  readonly direct?: boolean;
  /** Action of mappings that name none. Default false; the first such action counts. */
  readonly isDefault?: boolean;
  /** Mapping keys for fields of another name: `{ message: "messageTemplate" }`. A field named like a key of every mapping (`id`, `match`) needs one. */
  readonly mappingKeys?: Readonly<Record<string, string>>;
  /**
   * Keys that its mappings may have in addition to those of every mapping, as written in the configuration. Texts are templates;
   * with `template: false` in its schema, a text is used literally. Default: `fields` under the names of `mappingKeys`, each with a
   * value that its field accepts, or a template. Forms, redaction and `svc config validate` know the keys of plugins that claim them:
   * `sections: { "hooks.mappings[<action>]": <the same schema> }` in `definePlugin`.
   */
  readonly mappingFields?: TObject;
  /** Merges the result of a transform into `fields`. Default: the values of `override` that match their field win. */
  merge?(fields: WebhookFields, override: WebhookFields): WebhookFields;
  /**
   * Completes the fields, or refuses them. Must not change anything.
   * @throws GatewayError `INVALID_REQUEST`: the sender gets 400 with its message
   */
  prepare(fields: WebhookFields, context: WebhookActionContext): PreparedWebhook | Promise<PreparedWebhook>;
  /**
   * The whole effect as statements, run in the transaction that records the webhook. Statements without `expectChanges` may be written with
   * `Storage.append`, so no data may refuse them.
   */
  commit?(job: WebhookJob): readonly Statement[];
  /** Called after the statements of `commit` are durable. Not called if the process dies in between. */
  committed?(job: WebhookJob): void;
  /**
   * Runs the action in the background. Called again with the same `runId` and a higher `attempt` after a crash and after a
   * transient failure: it must detect what it did before.
   * @param signal aborts when the gateway or a plugin involved stops: leave a state in which the next attempt can go on
   * @throws GatewayError with a retryable code (`UNAVAILABLE`): retried later, `retryAfterMs` at the earliest;
   * any other `GatewayError`: failed for good; any other error is attributed to the plugin and retried
   */
  run?(job: WebhookJob, signal: AbortSignal): Promise<WebhookResult | void>;
}

/** Token of the extension point. */
export const WebhookAction = defineExtensionPoint<WebhookAction>("webhook.action", {
  summary: "Actions that webhooks trigger. Owned by the host; contributed by plugins such as `webhook-agent`.",
});

/** Which requests a mapping accepts. Every given condition must hold. */
export interface WebhookMatch {
  /** Sub-path; leading and trailing slashes are ignored. Absent, blank or `/`: every path. */
  readonly path?: string;
  /** Value of `payload.source`. */
  readonly source?: string;
  /** Header name -> value, or one of several values. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Place in the payload (`a.b[0].c`) -> value, one of several values, `{ exists }` or `{ not }`. */
  readonly when?: Readonly<Record<string, unknown>>;
}

/** An entry of `hooks.mappings` or of a preset's mappings. Templates: `{{path.to[0].value}}`. */
export interface WebhookMapping {
  readonly id?: string;
  readonly match?: WebhookMatch;
  /** Contribution id of an action. Default: the one with `isDefault`. */
  readonly action?: string;
  /** Who may post: see `WebhookVerifier`. Default: any sender with the hook token. */
  readonly verify?: WebhookVerify;
  /** Template of the idempotency key; blank after rendering: none. */
  readonly idempotencyKey?: string;
  /** A module of the transforms directory; a preset may use a function. */
  readonly transform?: WebhookTransformRef | Transform;
  readonly allowUnsafeExternalContent?: boolean;
  /** Origin of the texts, for the wrapper. Default `webhook`. */
  readonly contentSource?: "webhook" | "email";
  /** Keys of its action: see `WebhookAction.mappingFields`. */
  readonly [key: string]: unknown;
}

/** Mappings provided by a plugin. Contribution id = the name in `hooks.presets`. */
export interface WebhookPreset {
  readonly summary: string;
  /** Tried in order, after `hooks.mappings`. An `id` defaults to that of the preset. */
  readonly mappings: readonly WebhookMapping[];
}

/** Token of the extension point. */
export const WebhookPreset = defineExtensionPoint<WebhookPreset>("webhook.preset", {
  summary:
    "Named sets of webhook mappings (`hooks.presets`). Owned by the host; contributed by one plugin per service.",
  remotable: true,
});

/** How a mapping authenticates its sender. */
export interface WebhookVerify {
  /** Contribution id of a verifier, or `bearer`. */
  readonly type: string;
  /** Several while one replaces another. */
  readonly secret?: string | readonly string[];
  /** Seconds by which a signed time may deviate. Default: the verifier's. */
  readonly toleranceSeconds?: number;
}

/** The parts of a request that a verifier checks. */
export interface SignedRequest {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** As received. */
  readonly rawBody: Uint8Array;
  /** epoch ms */
  readonly now: number;
}

/** Outcome of a signature check. */
export type SignatureVerdict =
  /** @param replayKey identifies this delivery: another one with the same key within 24 h starts nothing new */
  | { readonly ok: true; readonly replayKey: string }
  /** @param reason for the log; the sender only gets 401 */
  | { readonly ok: false; readonly reason: string };

/** Authenticates a sender by a signature. Contribution id = `verify.type`. */
export interface WebhookVerifier {
  readonly summary: string;
  /** Why this secret is invalid, or `undefined`. Called when the configuration is loaded. */
  secretProblem?(secret: string): string | undefined;
  /** Must be pure, compare secrets in constant time, and never throw. */
  verify(request: SignedRequest, secrets: readonly string[], toleranceSeconds: number | undefined): SignatureVerdict;
}

/** Token of the extension point. */
export const WebhookVerifier = defineExtensionPoint<WebhookVerifier>("webhook.verifier", {
  summary:
    "Ways to authenticate a sender of webhooks other than the hook token. Owned by the host; contributed by `webhook-signatures`.",
});

/** The job for an action, before external texts are marked. */
export interface WebhookWork extends Omit<WebhookJob, "principal"> {
  /** Origin of the texts, for the wrapper. */
  readonly contentSource: "webhook" | "email";
}

/** A key under which only one webhook may be recorded. */
export interface WebhookKey {
  readonly key: string;
  /** Digest of the request; another digest under the same key is a conflict. `""`: any request. */
  readonly digest: string;
}

/** An accepted request, to be recorded. */
export interface AcceptedWebhook extends Omit<WebhookWork, "attempt" | "params"> {
  readonly action: string;
  readonly prepared: PreparedWebhook;
  /** The first key used before decides: the request counts as a repetition, or is refused with `CONFLICT`. */
  readonly keys: readonly WebhookKey[];
  /** The whole effect of an action with `commit`, for the transaction that records it; then the run is done. Absent: the action is to be run. */
  readonly effect?: readonly Statement[];
}

/** The response to the sender. */
export interface WebhookReceipt {
  readonly runId: string;
  readonly reply: WebhookFields;
  /** The request was accepted before; nothing new was started. */
  readonly repeated: boolean;
}

/** An action of a running plugin. */
export interface ServedWebhookAction {
  /** The plugin has started and is not being replaced. */
  readonly isServing: boolean;
  /** Aborts when this generation of its plugin stops. */
  readonly signal: AbortSignal;
  /**
   * Makes one attempt, as the plugin. The result can be stored as JSON.
   * @throws any error of the action: all except a `GatewayError` are attributed to its plugin, unless the signal has aborted
   */
  run(work: WebhookWork, signal: AbortSignal): Promise<WebhookResult>;
}

/** A mapping or a direct path in the host. */
export interface WebhookMappingRow extends Omit<WebhookMappingInfo, "transform"> {
  /** Also absent for a function of a preset. */
  readonly transform?: WebhookTransformRef;
}

/** The host's part of webhooks: ingress and mappings. */
export interface Webhooks {
  readonly enabled: boolean;
  /** Base path, e.g. `/hooks`. */
  readonly path: string;
  /** The same object until the configuration or a plugin changes. */
  readonly transforms: TransformPlan;
  /** In the order they are tried. */
  list(): readonly WebhookMappingRow[];
  /** Problems of the configuration with the plugins that run, except those of transform files. */
  check(): readonly WebhookProblem[];
  /** Runs a request up to the point where it would be recorded. @throws GatewayError `NOT_FOUND` */
  try(trial: WebhookTrial): Promise<WebhookTrialReport>;
  /** @returns `undefined` while no running plugin has the action */
  action(id: string): ServedWebhookAction | undefined;
}

/** Token of the service. */
export const Webhooks = defineService<Webhooks>()("webhooks", "1.0.0", {
  summary:
    "Mappings, trials and actions of webhooks. Provided by the host; used by the plugin `webhooks`, which records and runs them.",
});
