/**
 * From a request to the record to store: match, template, transform, hooks, the action's own check, gate. Changes nothing.
 * Spec: http/webhooks.md §6.2-6.3.
 */
import {
  type Clock,
  deepFreeze,
  GatewayError,
  type HookEmitter,
  type HOOKS,
  type InputOf,
  isGatewayError,
  type Principal,
  unavailable,
} from "@svc/sdk";
import {
  callTransform,
  jsonCopy,
  type PreparedWebhook,
  TRANSFORM_TIMEOUT_MS,
  type TransformCall,
  type TransformOutcome,
  type WebhookAction,
  type WebhookFields,
} from "@svc/sdk/webhooks";
import { refusalOf } from "../hooks/hook-bus.ts";
import type { Hold } from "../hooks/owner.ts";
import type { Absence } from "../kernel/absent.ts";
import type { LiveContribution } from "../kernel/kinds/contributions.ts";
import type { Catalogue } from "./catalogue.ts";
import { type CompiledMapping, fittingFields, renderFields } from "./mapping.ts";
import { createPolicy } from "./policy.ts";
import { type IncomingWebhook, withoutCredentials } from "./request.ts";
import type { TemplateScope } from "./template.ts";

/** Next step for the operator when no plugin records or transforms webhooks. */
export const NEXT = "add webhooks to plugins.use, or see: svc plugins why webhooks";

/** Intermediate results, for `try`. */
export interface Trace {
  rendered?: WebhookFields;
  readonly missing: string[];
  transformed?: unknown;
  readonly warnings: string[];
}

export const newTrace = (): Trace => ({ missing: [], warnings: [] });

/** A webhook ready to be recorded. */
export interface Prepared {
  /** Id of the mapping, or of the action for direct requests. */
  readonly mapping: string;
  readonly action: LiveContribution<WebhookAction>;
  readonly prepared: PreparedWebhook;
  readonly wrapped: boolean;
  readonly contentSource: "webhook" | "email";
  /** Rendered by the mapping; blank counts as absent. */
  readonly idempotencyKey: string | undefined;
}

export interface PipelineOptions {
  readonly clock: Clock;
  readonly hooks: {
    readonly transformFile: HookEmitter<typeof HOOKS.webhookTransformFile>;
    readonly transform: HookEmitter<typeof HOOKS.webhookTransform>;
    readonly before: HookEmitter<typeof HOOKS.webhookBefore>;
  };
  principalFor(mapping: string): Principal;
  /** Pause that a request for this action waits for: its plugin is being replaced. */
  holdFor(action: string): Hold | undefined;
  /** Why no running plugin has the action. */
  absence(action: string | undefined): Absence;
}

/** Intermediate result of a mapping. */
interface Draft {
  readonly action: string;
  readonly fields: WebhookFields;
  readonly wrapped: boolean;
}

/** The mapping engine failed on a request; `cause` is the error of a plugin, if any. The sender gets no details. Spec: http/webhooks.md §6.2 rule 5. */
export class MappingFailed extends Error {
  override readonly name = "MappingFailed";
}

/** The plugin of an action is being replaced: retry after `hold`. */
export class Held extends Error {
  override readonly name = "Held";
  readonly hold: Hold;

  constructor(hold: Hold) {
    super("the plugin of this action is being replaced");
    this.hold = hold;
  }
}

/** The plugin was replaced while the transform ran: a retry finds its replacement. */
const REPLACED: Hold = { passes: () => false, wait: () => new Promise((resolve) => setImmediate(resolve)) };

/** An action that no running plugin has. */
export class Absent extends Error {
  override readonly name = "Absent";
}

/** @throws GatewayError `UNAVAILABLE` if its plugin runs again by itself; Absent */
export function refuseAbsent({ message, retryAfterMs }: Absence): never {
  if (retryAfterMs === undefined) throw new Absent(message);
  return unavailable(message, { retryAfterMs });
}

export class Pipeline {
  readonly #options: PipelineOptions;

  constructor(options: PipelineOptions) {
    this.#options = options;
  }

  /** A request to the path of an action: its body holds the fields. @throws GatewayError; Absent; Held; MappingFailed */
  direct(id: string, payload: object, catalogue: Catalogue): Promise<Prepared> {
    const draft: Draft = { action: id, fields: { ...payload }, wrapped: true };
    return this.#prepare(id, "request", draft, catalogue);
  }

  /** A request to a mapping. @returns `undefined`: the transform skipped it. @throws as `direct` */
  async mapped(
    mapping: CompiledMapping,
    request: IncomingWebhook,
    payload: object,
    catalogue: Catalogue,
    trace: Trace,
  ): Promise<Prepared | undefined> {
    const call = transformCall(request, payload);
    const scope = this.#scope(request, call, trace);
    const base = this.#rendered(mapping, scope, catalogue, trace);
    const draft = await this.#transformed(mapping, base, call, { scope, catalogue, trace });
    if (draft === undefined) return undefined;
    const accepted = await this.#prepare(mapping.id, "mapping", await this.#hooked(mapping, draft, call), catalogue);
    const idempotencyKey = mapping.idempotencyKey?.render(scope).trim() || undefined;
    return { ...accepted, contentSource: mapping.contentSource, idempotencyKey };
  }

  #scope({ query }: IncomingWebhook, { payload, headers, path }: TransformCall, trace: Trace): TemplateScope {
    return {
      payload,
      headers,
      query,
      path,
      now: this.#options.clock.now(),
      missing: (place) => trace.missing.push(place),
    };
  }

  #rendered(mapping: CompiledMapping, scope: TemplateScope, catalogue: Catalogue, trace: Trace): Draft {
    const action = this.#action(mapping.action ?? catalogue.defaultAction, catalogue);
    const fields = renderFields(mapping, action.value, scope);
    trace.rendered = fields;
    return { action: action.id, fields, wrapped: mapping.wrapped };
  }

  async #transformed(
    mapping: CompiledMapping,
    base: Draft,
    call: TransformCall,
    around: Around,
  ): Promise<Draft | undefined> {
    if (mapping.transform === undefined) return base;
    const value = await this.#overrideOf(mapping.id, mapping.transform, call);
    around.trace.transformed = value;
    if (value === null) return undefined;
    if (typeof value !== "object") return base;
    return this.#merged(mapping, base, value as WebhookFields, around); // JSON, as the contract of transforms says
  }

  /** @returns the result of the transform. @throws GatewayError `INVALID_REQUEST`, `UNAVAILABLE`; MappingFailed */
  async #overrideOf(
    mapping: string,
    transform: NonNullable<CompiledMapping["transform"]>,
    call: TransformCall,
  ): Promise<unknown> {
    if (typeof transform === "function")
      return callTransform(transform, call, TRANSFORM_TIMEOUT_MS, this.#options.clock).catch(transformFailed);
    const outcome = await this.#fileOutcome({ mapping, transform, call });
    if (outcome.kind === "result") return outcome.value;
    if (outcome.kind === "failed") throw new MappingFailed(`the transform failed: ${outcome.message}`);
    const [first] = outcome.violations;
    const where = first?.path ? `payload${first.path.replaceAll("/", ".")}` : "payload";
    throw new GatewayError("INVALID_REQUEST", `${where}: ${first?.message ?? "does not match its schema"}`);
  }

  /** @throws GatewayError `UNAVAILABLE`: no running plugin answers; MappingFailed */
  async #fileOutcome(input: InputOf<typeof HOOKS.webhookTransformFile>): Promise<TransformOutcome> {
    const { transformFile } = this.#options.hooks;
    try {
      return (
        (await transformFile.emit(input)) ??
        (await transformFile.emit(input)) ?? // the first call went to a plugin that stopped; this one waits for its replacement
        unavailable(`no running plugin runs transforms, and this mapping needs one; ${NEXT}`, { retryAfterMs: 5_000 })
      );
    } catch (error) {
      if (isGatewayError(error)) throw error;
      return transformFailed(error);
    }
  }

  #merged(mapping: CompiledMapping, base: Draft, override: WebhookFields, { scope, catalogue, trace }: Around): Draft {
    const kind = override["kind"] ?? override["action"] ?? base.action;
    if (typeof kind !== "string")
      throw new MappingFailed(`the transform returned a kind that is not text: ${typeof kind}`);
    const { value: action } = this.#action(kind, catalogue);
    // Texts written for one kind of action are not used for another. Spec: http/webhooks.md §6.3.
    const fields = kind === base.action ? base.fields : renderFields(mapping, action, scope, false);
    const { fitting, left } = fittingFields(override, action);
    trace.warnings.push(
      ...left.map((key) => `the transform returned "${key}", which the action "${kind}" does not accept; ignored`),
    );
    const merged = action.merge?.(fields, fitting) ?? { ...fields, ...fitting };
    const unsafe = override["allowUnsafeExternalContent"];
    return { action: kind, fields: merged, wrapped: typeof unsafe === "boolean" ? !unsafe : base.wrapped };
  }

  async #hooked(mapping: CompiledMapping, draft: Draft, call: TransformCall): Promise<Draft> {
    const { transform } = this.#options.hooks;
    if (!transform.isUsed(mapping.id)) return draft;
    const request = { ...call, url: new URL(call.url) };
    const { action, fields } = await transform.emit(
      { action: draft.action, fields: draft.fields, request },
      mapping.id,
    );
    try {
      return { ...draft, action, fields: jsonCopy(fields, "the fields changed by plugins") as WebhookFields }; // an object stays one
    } catch (error) {
      return transformFailed(error);
    }
  }

  #action(name: string | undefined, { actions }: Catalogue): LiveContribution<WebhookAction> {
    const { holdFor, absence } = this.#options;
    const found = name === undefined ? undefined : actions.get(name);
    const hold = found ? found.owner.hold : name === undefined ? undefined : holdFor(name);
    if (hold && !hold.passes()) throw new Held(hold);
    if (!found) return refuseAbsent(absence(name));
    if (found.owner.signal.aborted) throw new Held(REPLACED);
    if (!found.owner.ready)
      throw new GatewayError("UNAVAILABLE", `plugin ${found.owner.id} is still starting`, { retryAfterMs: 500 });
    return found;
  }

  async #prepare(
    mapping: string,
    source: "request" | "mapping",
    { action: name, fields, wrapped }: Draft,
    catalogue: Catalogue,
  ): Promise<Prepared> {
    const { hooks, principalFor } = this.#options;
    const action = this.#action(name, catalogue);
    const policy = createPolicy(catalogue.settings.policy, source);
    const prepared = await charged(action, () => action.value.prepare(fields, { source, mapping, policy }));
    if (hooks.before.isUsed(mapping)) {
      const input = { mapping, action: name, params: deepFreeze(prepared.params), principal: principalFor(mapping) };
      const denial = await hooks.before.emit(input, mapping);
      if (denial) throw refusalOf(denial, "WEBHOOK_DENIED");
    }
    return { mapping, action, prepared, wrapped, contentSource: "webhook", idempotencyKey: undefined };
  }
}

function transformFailed(cause: unknown): never {
  throw new MappingFailed("the transform failed", { cause });
}

/** Context of the steps for one request. */
interface Around {
  readonly scope: TemplateScope;
  readonly catalogue: Catalogue;
  readonly trace: Trace;
}

/** Runs a plugin's code as the plugin, which is not replaced meanwhile. Unexpected errors are attributed to it, although any sender may provoke them. */
export async function charged<T>(
  { id, owner }: LiveContribution<WebhookAction>,
  work: () => T | Promise<T>,
): Promise<T> {
  owner.enter();
  try {
    return await owner.run(work);
  } catch (error) {
    if (isGatewayError(error)) throw error;
    owner.charge(error, `webhook.action ${id}`, "caller");
    throw new MappingFailed(`plugin ${owner.id} failed at action "${id}"`, { cause: error });
  } finally {
    owner.leave();
  }
}

function transformCall({ headers, target, path }: IncomingWebhook, payload: object): TransformCall {
  return { payload, headers: withoutCredentials(headers), url: `http://localhost${target}`, path };
}
