/**
 * Webhooks: what plugins add to the mapping engine of the host (actions, presets, verifiers), and the service that
 * shows and steers it. Spec: §4.5, §5.2, http/webhooks.md.
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

/** What the operator allows, applied to what a sender, a template or a transform asks for. */
export interface WebhookPolicy {
  /** @param agentId the agent that will run: the one asked for, or the default one. @throws GatewayError `INVALID_REQUEST` naming `hooks.allowedAgentIds` */
  checkAgentId(agentId: string): void;
  /**
   * The session key to use: the one asked for, `hooks.defaultSessionKey`, else `hook:<uuid>`.
   * @throws GatewayError `INVALID_REQUEST` naming the setting that forbids it. Spec: http/webhooks.md §5.3
   */
  sessionKey(asked: string | undefined): string;
}

/** Who asks an action to look at its fields. */
export interface WebhookActionContext {
  /** `request`: a sender posted the fields to `{hooks.path}/<action>`. `mapping`: a template or a transform made them. */
  readonly source: "request" | "mapping";
  /** Id of the mapping, or of the action for direct requests. */
  readonly mapping: string;
  readonly policy: WebhookPolicy;
}

/** Fields an action agreed to. */
export interface PreparedWebhook {
  /** What is stored and handed to `commit` or `run`; JSON only. */
  readonly params: WebhookFields;
  /** Further keys of the 200 body, beside `ok` and `runId`. */
  readonly reply?: WebhookFields;
  /** For reports. */
  readonly sessionKey?: string;
}

/** An accepted webhook. Texts from outside are marked as such unless the mapping says otherwise. */
export interface WebhookJob {
  /** Unique for ever. */
  readonly runId: string;
  /** From 1; grows when it is tried again. */
  readonly attempt: number;
  /** Id of the mapping, or of the action for direct requests. */
  readonly mapping: string;
  readonly params: WebhookFields;
  /** False: the operator let the texts through unmarked. */
  readonly wrapped: boolean;
  /** epoch ms */
  readonly acceptedAt: number;
  /** May do less than an operator. */
  readonly principal: Principal;
}

/** What became of a job. */
export interface WebhookResult {
  /** One sentence for people. */
  readonly summary?: string;
  /** JSON for `svc hooks runs --json`. */
  readonly details?: WebhookFields;
}

/**
 * What a webhook can be made into. Contribution id = the mapping's `action`, and the path for `direct` ones.
 * Has `commit` or `run`.
 */
export interface WebhookAction {
  readonly summary: string;
  /**
   * Fields by name. Mark a text from outside with `external: true`: it reaches `commit` and `run` wrapped.
   * Required fields are checked by `prepare`, which knows what to say.
   */
  readonly fields: TObject;
  /** Serves `POST {hooks.path}/<id>`: the body is its fields. Default false. */
  readonly direct?: boolean;
  /** What a mapping means that names no action. Default false; the first one counts. */
  readonly isDefault?: boolean;
  /** Keys of a mapping that fill a field of another name: `{ message: "messageTemplate" }`. A field called like a key of every mapping (`id`, `match`) needs one. */
  readonly mappingKeys?: Readonly<Record<string, string>>;
  /**
   * Keys its mappings may have beside those of every mapping, as they stand in the configuration. Texts are templates; a schema
   * with `template: false` takes its text as it stands. Default: `fields` under the names of `mappingKeys`, each with a value
   * that its field takes or with a template. Forms, redaction and `svc config validate` know the keys of plugins that claim them:
   * `sections: { "hooks.mappings[<action>]": <the same schema> }` in `definePlugin`.
   */
  readonly mappingFields?: TObject;
  /** `fields` with what a transform returned. Default: the values of `override` that fit their field win. */
  merge?(fields: WebhookFields, override: WebhookFields): WebhookFields;
  /**
   * Completes the fields, or refuses them. Must not change anything.
   * @throws GatewayError `INVALID_REQUEST`: the sender gets 400 with its message
   */
  prepare(fields: WebhookFields, context: WebhookActionContext): PreparedWebhook | Promise<PreparedWebhook>;
  /** The whole effect as statements, run in the very transaction that records the webhook: done when the sender hears of it. */
  commit?(job: WebhookJob): readonly Statement[];
  /** After `commit`'s statements are durable. May be missed when the process dies in between. */
  committed?(job: WebhookJob): void;
  /**
   * Does it, in the background. Called again with the same `runId` and a higher `attempt` after a crash and after a
   * failure that may pass: it must notice what it did before.
   * @param signal aborts when the gateway or a plugin on the way stops: leave things so that the next attempt can go on
   * @throws GatewayError with a code that may be retried (`UNAVAILABLE`): tried again later, `retryAfterMs` at the earliest;
   * any other `GatewayError`: failed for good; anything else is charged to the plugin and tried again
   */
  run?(job: WebhookJob, signal: AbortSignal): Promise<WebhookResult | void>;
}

/** What webhooks can be made into. Owner: the host. */
export const WebhookAction = defineExtensionPoint<WebhookAction>("webhook.action");

/** Which requests a mapping takes. All that is said must hold. */
export interface WebhookMatch {
  /** Sub-path; slashes around it do not count. Absent, blank or `/`: every path. */
  readonly path?: string;
  /** Value of `payload.source`. */
  readonly source?: string;
  /** Header name -> value, or one of several values. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Place in the payload (`a.b[0].c`) -> value, one of several values, `{ exists }` or `{ not }`. */
  readonly when?: Readonly<Record<string, unknown>>;
}

/** One of `hooks.mappings`, and of the mappings a preset brings. Templates: `{{path.to[0].value}}`. */
export interface WebhookMapping {
  readonly id?: string;
  readonly match?: WebhookMatch;
  /** Contribution id of an action. Default: the one with `isDefault`. */
  readonly action?: string;
  /** Who may post: see `WebhookVerifier`. Default: whoever has the hook token. */
  readonly verify?: WebhookVerify;
  /** Template of the idempotency key; blank after rendering: none. */
  readonly idempotencyKey?: string;
  /** A module of the transforms directory; a preset may bring a function. */
  readonly transform?: WebhookTransformRef | Transform;
  readonly allowUnsafeExternalContent?: boolean;
  /** Where the texts come from, for the wrapper. Default `webhook`. */
  readonly contentSource?: "webhook" | "email";
  /** Keys of its action: see `WebhookAction.mappingFields`. */
  readonly [key: string]: unknown;
}

/** Mappings that come with a plugin. Contribution id = the name in `hooks.presets`. */
export interface WebhookPreset {
  readonly summary: string;
  /** Tried in order, after `hooks.mappings`. An `id` defaults to that of the preset. */
  readonly mappings: readonly WebhookMapping[];
}

/** Named sets of mappings. Owner: the host. */
export const WebhookPreset = defineExtensionPoint<WebhookPreset>("webhook.preset", { remotable: true });

/** How a mapping knows its sender. */
export interface WebhookVerify {
  /** Contribution id of a verifier, or `bearer`. */
  readonly type: string;
  /** Several while one is being replaced by another. */
  readonly secret?: string | readonly string[];
  /** Seconds a signed time may be off. Default: the verifier's. */
  readonly toleranceSeconds?: number;
}

/** What a verifier looks at. */
export interface SignedRequest {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** As it came. */
  readonly rawBody: Uint8Array;
  /** epoch ms */
  readonly now: number;
}

/** What a signature came to. */
export type SignatureVerdict =
  /** @param replayKey what makes this delivery unique: a second one with the same key starts nothing new for 24 h */
  | { readonly ok: true; readonly replayKey: string }
  /** @param reason for the log; the sender only hears 401 */
  | { readonly ok: false; readonly reason: string };

/** Knows a sender by a signature. Contribution id = `verify.type`. */
export interface WebhookVerifier {
  readonly summary: string;
  /** Why this secret cannot be one, or `undefined`. Asked when the configuration is loaded. */
  secretProblem?(secret: string): string | undefined;
  /** Pure, and in constant time where secrets are compared. Must not throw for any input. */
  verify(request: SignedRequest, secrets: readonly string[], toleranceSeconds: number | undefined): SignatureVerdict;
}

/** Ways to know a sender beside the hook token. Owner: the host. */
export const WebhookVerifier = defineExtensionPoint<WebhookVerifier>("webhook.verifier");

/** What an action is to do, before texts from outside are marked. */
export interface WebhookWork extends Omit<WebhookJob, "principal"> {
  /** Where the texts come from, for the wrapper. */
  readonly contentSource: "webhook" | "email";
}

/** Something that may be there only once. */
export interface WebhookKey {
  readonly key: string;
  /** Of the request; another one under the same key is a conflict. `""`: any request. */
  readonly digest: string;
}

/** What the host made of a request, to be recorded. */
export interface AcceptedWebhook extends Omit<WebhookWork, "attempt" | "params"> {
  readonly action: string;
  readonly prepared: PreparedWebhook;
  /** The first key that was used before decides: the request was accepted then, or is refused with `CONFLICT`. */
  readonly keys: readonly WebhookKey[];
  /** The whole effect of an action that has `commit`, for the transaction that records it: it is done then. Absent: it is to be run. */
  readonly effect?: readonly Statement[];
}

/** The answer to the sender. */
export interface WebhookReceipt {
  readonly runId: string;
  readonly reply: WebhookFields;
  /** The request was accepted before; nothing new was started. */
  readonly repeated: boolean;
}

/** An action as a running plugin serves it now. */
export interface ServedWebhookAction {
  /** Its plugin has started and is not being replaced. */
  readonly isServing: boolean;
  /** Aborts when this generation of its plugin stops. */
  readonly signal: AbortSignal;
  /**
   * Makes one attempt, as its plugin. What the attempt returns can be stored as JSON.
   * @throws what the action throws: anything but a `GatewayError` is charged to its plugin, unless the signal has aborted
   */
  run(work: WebhookWork, signal: AbortSignal): Promise<WebhookResult>;
}

/** A mapping or a direct path as the host knows it. */
export interface WebhookMappingRow extends Omit<WebhookMappingInfo, "transform"> {
  /** Absent for a function of a preset, too. */
  readonly transform?: WebhookTransformRef;
}

/** What the host does of webhooks: ingress and mappings. */
export interface Webhooks {
  readonly enabled: boolean;
  /** Base path, e.g. `/hooks`. */
  readonly path: string;
  /** The same object until the configuration or a plugin changes. */
  readonly transforms: TransformPlan;
  /** In the order they are tried. */
  list(): readonly WebhookMappingRow[];
  /** What is wrong with the configuration, given the plugins that run; the files of transforms aside. */
  check(): readonly WebhookProblem[];
  /** Runs a request up to the point where it would be recorded. @throws GatewayError `NOT_FOUND` */
  try(trial: WebhookTrial): Promise<WebhookTrialReport>;
  /** `undefined` while no running plugin has it. */
  action(id: string): ServedWebhookAction | undefined;
}

/** Webhooks, without their records. Provided by the host. */
export const Webhooks = defineService<Webhooks>()("webhooks", "1.0.0");
