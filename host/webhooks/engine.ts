/** The mapping engine of a gateway: selects the mapping for a request and records the result. */
import { type Clock, invalidRequest } from "@svc/sdk";
import { WebhookAction, type WebhookKey, type WebhookReceipt } from "@svc/sdk/webhooks";
import type { Issue } from "../config/file.ts";
import type { Hold } from "../hooks/owner.ts";
import type { LiveTables } from "../kernel/kind.ts";
import { contributions } from "../kernel/kinds/contributions.ts";
import { buildCatalogue, type Catalogue, type FindAbsent } from "./catalogue.ts";
import { type Prepared, Held, newTrace, refuseAbsent, type Pipeline, type Trace } from "./pipeline.ts";
import type { Recording } from "./recording.ts";
import { digestOf, type IncomingWebhook } from "./request.ts";
import type { CompiledMapping } from "./mapping.ts";
import type { WebhookSettings } from "./settings.ts";
import { Verdicts } from "./verdicts.ts";

export interface EngineOptions {
  readonly live: LiveTables;
  readonly pipeline: Pipeline;
  readonly recording: Recording;
  readonly clock: Clock;
  /** Pause that a request for this action waits for: its plugin is being replaced. */
  holdFor(action: string): Hold | undefined;
  /** Finds the plugin that has a contribution but does not run. */
  readonly findAbsent: FindAbsent;
}

/** Target of a request. */
type Target =
  | { readonly kind: "direct"; readonly id: string }
  | { readonly kind: "mapping"; readonly mapping: CompiledMapping }
  | { readonly kind: "none" };

/** Mappings that were skipped, for `try`. */
export type Passed = { readonly id: string; readonly why: string }[];

/** Characters of an idempotency key in a header: short enough to be stored for a day. */
const MAX_KEY = 256;

export class WebhookEngine {
  readonly #options: EngineOptions;
  #settings: WebhookSettings;
  #built: { readonly version: number; readonly catalogue: Catalogue } | undefined;

  constructor(settings: WebhookSettings, options: EngineOptions) {
    this.#settings = settings;
    this.#options = options;
  }

  use(settings: WebhookSettings): void {
    this.#settings = settings;
    this.#built = undefined;
  }

  /** Why these settings cannot take effect with the plugins that run now. */
  refusals(settings: WebhookSettings): readonly Issue[] {
    return buildCatalogue(settings, this.#options.live, this.#options.findAbsent).refusals;
  }

  /** From the current plugins and configuration. */
  catalogue(): Catalogue {
    const { live, findAbsent } = this.#options;
    const { version } = live.table(contributions);
    if (this.#built?.version !== version)
      this.#built = { version, catalogue: buildCatalogue(this.#settings, live, findAbsent) };
    return this.#built.catalogue;
  }

  /** Checks the signatures for the mappings that may accept this request. */
  verdicts(request: IncomingWebhook, catalogue: Catalogue): Verdicts {
    return new Verdicts(request, catalogue, this.#options.clock.now());
  }

  /** @returns `undefined`: no mapping or action accepts it. @throws GatewayError; Absent; Held; MappingFailed */
  async accept(
    request: IncomingWebhook,
    payload: object,
    verdicts: Verdicts,
    catalogue: Catalogue,
  ): Promise<WebhookReceipt | "skipped" | "unauthorized" | undefined> {
    const target = this.target(request, payload, catalogue);
    if (target.kind === "none") return undefined;
    const isAllowed = target.kind === "direct" ? request.trusted : verdicts.allows(target.mapping);
    if (!isAllowed) return "unauthorized";
    const accepted = await this.evaluate(target, request, payload, catalogue, newTrace());
    if (!accepted) return "skipped";
    const replayKey = target.kind === "direct" ? undefined : verdicts.replayKey(target.mapping);
    return this.#options.recording.record(accepted, uniqueKeys(accepted, request, replayKey));
  }

  /**
   * The first target that accepts the request. A direct path never reaches the mappings, unless its plugin does not run and a
   * mapping has exactly that path. @throws Absent; Held
   */
  target(request: IncomingWebhook, payload: object, catalogue: Catalogue, passed: Passed = []): Target {
    const { literalPath: id, path, headers } = request;
    const { actions, mappings, settings } = catalogue;
    if (actions.get(id)?.value.direct) return settings.disabled.has(id) ? { kind: "none" } : { kind: "direct", id };
    if (!mappings.some((mapping) => mapping.path === path)) this.#refuseAbsent(id);
    for (const mapping of mappings) {
      const why = mapping.enabled ? mapping.refusal({ path, headers, payload }) : "it is disabled";
      if (why === undefined) return { kind: "mapping", mapping };
      passed.push({ id: mapping.id, why });
    }
    return { kind: "none" };
  }

  /** @throws Held, Absent; GatewayError `UNAVAILABLE` when this is an action whose plugin does not run */
  #refuseAbsent(id: string): void {
    const { holdFor, findAbsent } = this.#options;
    const hold = holdFor(id);
    if (hold && !hold.passes()) throw new Held(hold);
    const absence = findAbsent("action", WebhookAction.id, id);
    if (absence) refuseAbsent(absence);
  }

  /** @returns the webhook to record; `undefined`: the transform skipped it. @throws as the pipeline does */
  async evaluate(
    target: Exclude<Target, { kind: "none" }>,
    request: IncomingWebhook,
    payload: object,
    catalogue: Catalogue,
    trace: Trace,
  ): Promise<Prepared | undefined> {
    const { pipeline } = this.#options;
    if (target.kind === "direct") return pipeline.direct(target.id, payload, catalogue);
    return pipeline.mapped(target.mapping, request, payload, catalogue, trace);
  }
}

/** The keys under which this request may be recorded only once. @throws GatewayError `INVALID_REQUEST` a malformed key */
export function uniqueKeys(
  { mapping, idempotencyKey }: Prepared,
  { headers, path, rawBody }: IncomingWebhook,
  replayKey: string | undefined,
): WebhookKey[] {
  const given = headers["idempotency-key"] ?? headers["x-svc-idempotency-key"];
  if (given !== undefined && (given.trim() === "" || given.length > MAX_KEY))
    invalidRequest(`Idempotency-Key must be 1 to ${MAX_KEY} characters`);
  const key = (kind: string, value: string) => digestOf(kind, mapping, value);
  const digest = given === undefined && idempotencyKey === undefined ? "" : digestOf(path, rawBody);
  return [
    ...(given === undefined ? [] : [{ key: key("header", given.trim()), digest }]),
    ...(idempotencyKey === undefined ? [] : [{ key: key("mapping", idempotencyKey), digest }]),
    ...(replayKey === undefined ? [] : [{ key: key("signature", replayKey), digest: "" }]),
  ];
}
