/** What the host does of the webhooks of one gateway, put together. */
import { type Clock, HOOKS, type Logger, type Principal } from "@svc/sdk";
import { WebhookAction, WebhookPreset, type Webhooks, WebhookVerifier } from "@svc/sdk/webhooks";
import type { IncomingMessage, ServerResponse } from "node:http";
import { FailureLimiter, HOOK_LIMITER } from "../auth/failure-limiter.ts";
import type { HookBus } from "../hooks/hook-bus.ts";
import type { Hold } from "../hooks/owner.ts";
import type { EarlyReply } from "../net/http/early-reply.ts";
import type { Kinds } from "../kernel/kernel-hooks.ts";
import { points } from "../kernel/kinds/points.ts";
import type { Issue } from "../config/file.ts";
import { type Absence, noAction } from "./catalogue.ts";
import { HookAttempts } from "./credential.ts";
import { WebhookEngine } from "./engine.ts";
import { Ingress } from "./ingress.ts";
import { Pipeline } from "./pipeline.ts";
import { Recording } from "./recording.ts";
import { createService } from "./service.ts";
import type { WebhookSettings } from "./settings.ts";

export interface WebhooksOptions {
  readonly kinds: Kinds;
  readonly hooks: HookBus;
  readonly clock: Clock;
  readonly log: Logger;
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
  readonly #recording: Recording;
  readonly #engine: WebhookEngine;
  readonly #ingress: Ingress;

  constructor(options: WebhooksOptions) {
    const { kinds, clock, principalFor, configProblem } = options;
    this.#options = options;
    for (const point of [WebhookAction, WebhookPreset, WebhookVerifier]) kinds.provide(points, { point });
    this.#recording = new Recording(options);
    this.#engine = new WebhookEngine(options.settings, {
      live: kinds,
      pipeline: this.#createPipeline(),
      recording: this.#recording,
      clock,
      holdFor: options.holdFor,
      absence: options.absence,
    });
    const attempts = new HookAttempts(new FailureLimiter(HOOK_LIMITER, clock));
    this.#ingress = new Ingress({ engine: this.#engine, recording: this.#recording, attempts, ...options });
    this.service = createService({ engine: this.#engine, principalFor, configProblem });
  }

  #createPipeline(): Pipeline {
    const { hooks, clock, principalFor, holdFor, absence } = this.#options;
    return new Pipeline({
      clock,
      hooks: {
        transformFile: hooks.emitter(HOOKS.webhookTransformFile),
        transform: hooks.emitter(HOOKS.webhookTransform),
        before: hooks.emitter(HOOKS.webhookBefore),
      },
      principalFor,
      holdFor,
      absence: (action) => noAction(action, absence),
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

  /** Takes a new configuration over, without a request in between. */
  configure(settings: WebhookSettings): void {
    this.#engine.use(settings);
  }
}
