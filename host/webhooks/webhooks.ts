/** Puts the webhooks of one gateway together, and starts and stops them. */
import { type Clock, HOOKS, type Logger, type Principal, unavailable } from "@svc/sdk";
import { Storage } from "@svc/sdk/storage";
import {
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
import { services } from "../kernel/kinds/services.ts";
import type { Issue } from "../config/file.ts";
import { Acceptance } from "./acceptance.ts";
import { type Absence, type Catalogue, noAction } from "./catalogue.ts";
import { HookAttempts } from "./credential.ts";
import { WebhookEngine } from "./engine.ts";
import { Ingress } from "./ingress.ts";
import { Pipeline } from "./pipeline.ts";
import { WebhookQueue } from "./queue.ts";
import { RunStore } from "./run-store.ts";
import { createService } from "./service.ts";
import { resolveTransformsDir, transformsRoot, type WebhookSettings } from "./settings.ts";
import { invoke } from "./transforms/invoke.ts";
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

/** Choice: milliseconds for which done and failed webhooks can be asked for. */
const KEEP_DONE_MS = 7 * 24 * 3_600_000;
const KEEP_FAILED_MS = 30 * 24 * 3_600_000;
/** Choice: milliseconds between two sweeps; records one step of it deletes, so that it never holds up the storage, and its steps. */
const SWEEP_MS = 60_000;
const SWEEP_LIMIT = 500;
const SWEEP_STEPS = 200;
/** Choice: milliseconds until a queue that could not start is tried again. */
const RETRY_START_MS = 5_000;

export class HostWebhooks {
  readonly service: Webhooks;
  readonly #options: WebhooksOptions;
  readonly #transforms;
  readonly #store: RunStore;
  readonly #queue: WebhookQueue;
  readonly #engine: WebhookEngine;
  readonly #ingress: Ingress;
  #transformsReady: Promise<void> = Promise.resolve();
  /** What the transforms were configured with last, and what that was read from. */
  #plan = "";
  #planned: Catalogue | undefined;
  #started = false;
  #stopped = false;
  readonly #timers = new Set<() => void>();

  constructor(options: WebhooksOptions) {
    const { kinds, hooks, clock, log, paths, principalFor } = options;
    this.#options = options;
    for (const point of [WebhookAction, WebhookPreset, WebhookVerifier]) kinds.provide(points, { point });
    this.#transforms = createTransforms({ stateDir: paths.stateDir, clock, log });
    const storage = () => kinds.table(services).get(Storage.id)?.value as Storage | undefined; // typed by the token
    this.#store = new RunStore(() => storage() ?? noStorage());
    const finished = hooks.emitter(HOOKS.webhookFinished);
    const tell = (run: Parameters<typeof finished.emit>[0]) => {
      if (finished.isUsed()) void finished.emit(run);
    };
    const shared = { store: this.#store, clock, principalFor, finished: tell };
    this.#queue = new WebhookQueue({ ...shared, log, action: (id) => this.#engine.catalogue().actions.get(id) });
    const acceptance = new Acceptance({ ...shared, log, queued: (action) => this.#queue.accepted(action) });
    this.#engine = new WebhookEngine(options.settings, {
      live: kinds,
      pipeline: this.#createPipeline(),
      acceptance,
      store: this.#store,
      clock,
      holdFor: options.holdFor,
      absence: options.absence,
      transformsReady: () => this.#currentTransforms(),
    });
    const attempts = new HookAttempts(new FailureLimiter(HOOK_LIMITER, clock));
    this.#ingress = new Ingress({ engine: this.#engine, attempts, ...options });
    this.service = createService({
      engine: this.#engine,
      store: this.#store,
      queue: this.#queue,
      transforms: this.#transforms,
      transformsReady: () => this.#currentTransforms(),
      root: transformsRoot(paths.configDir),
      clock,
      principalFor,
      configProblem: options.configProblem,
      storageProblem: () =>
        storage() === undefined ? "no running plugin provides storage; requests get 503" : undefined,
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
      callFunction: (transform, call) =>
        invoke({ transform, payload: undefined, examples: [] }, call, DEFAULT_TIMEOUT_MS, clock),
    });
  }

  /** Why these settings cannot take effect with the plugins that run now. */
  refusals(settings: WebhookSettings): readonly Issue[] {
    return this.#engine.refusals(settings);
  }

  /** What an operator should know about the settings in force. */
  warnings(): string[] {
    return this.#engine.catalogue().problems.map(({ path, message }) => `${path}: ${message}`);
  }

  /** Takes a request that is for a webhook. @returns whether it did */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    return this.#ingress.handle(request, response);
  }

  /** Whether a planned restart would cut something off. */
  get isBusy(): boolean {
    return this.#queue.isBusy;
  }

  /** Once the plugins have started. Does nothing while webhooks are off. */
  start(): void {
    if (!this.#engine.catalogue().settings.enabled || this.#stopped) return;
    void this.#currentTransforms();
    if (this.#started) return;
    this.#started = true;
    void this.#startQueue();
    this.#timers.add(this.#options.clock.setInterval(() => void this.#sweep(), SWEEP_MS));
  }

  /** Takes a new configuration over, without a request in between. */
  configure(settings: WebhookSettings): void {
    this.#engine.use(settings);
    void this.#currentTransforms();
    this.start();
  }

  /** Takes nothing more, and lets go of what is under way. Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    await Promise.all([this.#queue.stop(), this.#transforms.stop()]);
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

  async #startQueue(): Promise<void> {
    const { clock, log } = this.#options;
    try {
      await this.#queue.start();
    } catch (err) {
      if (this.#stopped) return;
      log.warn({ err }, "accepted webhooks cannot be carried on yet; tried again soon");
      const cancel = clock.setTimeout(() => {
        this.#timers.delete(cancel);
        void this.#startQueue();
      }, RETRY_START_MS);
      this.#timers.add(cancel);
    }
  }

  async #sweep(): Promise<void> {
    const { clock, log } = this.#options;
    const now = clock.now();
    try {
      let hasMore = true;
      for (let step = 0; hasMore && step < SWEEP_STEPS && !this.#stopped; step++)
        hasMore = await this.#store.prune(now, now - KEEP_DONE_MS, now - KEEP_FAILED_MS, SWEEP_LIMIT);
    } catch (err) {
      log.debug({ err }, "old webhooks could not be cleared away; tried again in a minute");
    }
  }
}

function isRef(transform: unknown): transform is WebhookTransformRef {
  return typeof transform === "object" && transform !== null;
}

function noStorage(): never {
  unavailable("no running plugin provides storage, and an accepted webhook must be kept; add one to plugins.use", {
    retryAfterMs: 5_000,
  });
}
