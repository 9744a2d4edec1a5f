/** What the host does of the webhooks of one gateway, put together. */
import { type Clock, HOOKS, type Logger, type Principal } from "@svc/sdk";
import {
  callTransform,
  WebhookAction,
  WebhookPreset,
  type Webhooks,
  type WebhookTransformRef,
  WebhookVerifier,
} from "@svc/sdk/webhooks";
import type { IncomingMessage, ServerResponse } from "node:http";
import { FailureLimiter, HOOK_LIMITER } from "../auth/failure-limiter.ts";
import type { HookBus } from "../hooks/hook-bus.ts";
import type { Hold } from "../hooks/owner.ts";
import type { EarlyReply } from "../net/http/early-reply.ts";
import type { Kinds } from "../kernel/kernel-hooks.ts";
import { points } from "../kernel/kinds/points.ts";
import type { Issue } from "../config/file.ts";
import { type Absence, type Catalogue, noAction } from "./catalogue.ts";
import { HookAttempts } from "./credential.ts";
import { WebhookEngine } from "./engine.ts";
import { Ingress } from "./ingress.ts";
import { Pipeline } from "./pipeline.ts";
import { Recording } from "./recording.ts";
import { createService } from "./service.ts";
import { resolveTransformsDir, transformsRoot, type WebhookSettings } from "./settings.ts";
import { DEFAULT_TIMEOUT_MS } from "./transforms/slots.ts";
import { createTransforms } from "./transforms/transforms.ts";

export interface WebhooksOptions {
  readonly kinds: Kinds;
  readonly hooks: HookBus;
  readonly clock: Clock;
  readonly log: Logger;
  readonly paths: { readonly configDir: string; readonly stateDir: string };
  readonly settings: WebhookSettings;
  /** Names for the hook token's header beside its own. */
  aliases(): readonly string[];
  principalFor(mapping: string): Principal;
  /** What requests wait for while the plugin of an action is replaced. */
  holdFor(action: string): Hold | undefined;
  readonly absence: Absence;
  /** What plugins answer before anything is looked at; `undefined` while none does. */
  early(): EarlyReply | undefined;
  /** Why the configuration file is not what is in force, or `undefined`. */
  configProblem(): string | undefined;
  readonly bodyTimeoutMs?: number;
}

export class HostWebhooks {
  readonly service: Webhooks;
  readonly #options: WebhooksOptions;
  readonly #transforms;
  readonly #recording: Recording;
  readonly #engine: WebhookEngine;
  readonly #ingress: Ingress;
  #transformsReady: Promise<void> = Promise.resolve();
  /** What the transforms were configured with last, and what that was read from. */
  #plan = "";
  #planned: Catalogue | undefined;
  #stopped = false;

  constructor(options: WebhooksOptions) {
    const { kinds, clock, log, paths, principalFor } = options;
    this.#options = options;
    for (const point of [WebhookAction, WebhookPreset, WebhookVerifier]) kinds.provide(points, { point });
    this.#transforms = createTransforms({ stateDir: paths.stateDir, clock, log });
    this.#recording = new Recording(options);
    this.#engine = new WebhookEngine(options.settings, {
      live: kinds,
      pipeline: this.#createPipeline(),
      recording: this.#recording,
      clock,
      holdFor: options.holdFor,
      absence: options.absence,
      transformsReady: () => this.#currentTransforms(),
    });
    const attempts = new HookAttempts(new FailureLimiter(HOOK_LIMITER, clock));
    this.#ingress = new Ingress({ engine: this.#engine, recording: this.#recording, attempts, ...options });
    this.service = createService({
      engine: this.#engine,
      transforms: this.#transforms,
      transformsReady: () => this.#currentTransforms(),
      root: transformsRoot(paths.configDir),
      principalFor,
      configProblem: options.configProblem,
    });
  }

  #createPipeline(): Pipeline {
    const { hooks, clock, principalFor, holdFor, absence } = this.#options;
    return new Pipeline({
      transforms: this.#transforms,
      clock,
      hooks: { transform: hooks.emitter(HOOKS.webhookTransform), before: hooks.emitter(HOOKS.webhookBefore) },
      principalFor,
      holdFor,
      absence: (action) => noAction(action, absence),
      callFunction: async (transform, call) => ({
        kind: "result",
        value: await callTransform(transform, call, DEFAULT_TIMEOUT_MS, clock),
      }),
    });
  }

  /** Why these settings cannot take effect with the plugins that run now. */
  refusals(settings: WebhookSettings): readonly Issue[] {
    return this.#engine.refusals(settings);
  }

  /** What an operator should know about the settings in force. */
  warnings(): string[] {
    const { settings, problems } = this.#engine.catalogue();
    const nobody = settings.enabled ? this.#recording.problem : undefined;
    return [
      ...problems.map(({ path, message }) => `${path}: ${message}`),
      ...(nobody === undefined ? [] : [`plugins.use: ${nobody}`]),
    ];
  }

  /** Takes a request that is for a webhook. @returns whether it did */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    return this.#ingress.handle(request, response);
  }

  /** Once the plugins have started. Does nothing while webhooks are off. */
  start(): void {
    if (this.#engine.catalogue().settings.enabled) void this.#currentTransforms();
  }

  /** Takes a new configuration over, without a request in between. */
  configure(settings: WebhookSettings): void {
    this.#engine.use(settings);
    void this.#currentTransforms();
  }

  /** Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#transforms.stop();
  }

  /** Configures the transforms anew when other ones are asked for: by the configuration, or by a preset of a plugin. */
  #currentTransforms(): Promise<void> {
    const catalogue = this.#engine.catalogue();
    if (catalogue === this.#planned || this.#stopped) return this.#transformsReady;
    this.#planned = catalogue;
    const { settings } = catalogue;
    const mappings = settings.enabled ? catalogue.mappings : []; // what is off keeps no thread and no watch
    const refs = mappings.flatMap(({ transform, path = "" }) => (isRef(transform) ? [{ ...transform, path }] : []));
    const plan = JSON.stringify([settings.transformsDir, refs]);
    if (plan === this.#plan) return this.#transformsReady;
    this.#plan = plan;
    const root = transformsRoot(this.#options.paths.configDir);
    const directory = resolveTransformsDir(root, settings.transformsDir);
    this.#transformsReady = this.#transforms.configure({ root, directory, refs });
    return this.#transformsReady;
  }
}

function isRef(transform: unknown): transform is WebhookTransformRef {
  return typeof transform === "object" && transform !== null;
}
