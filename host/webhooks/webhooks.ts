/** The host's part of webhooks, assembled: authentication of senders, the mapping engine, and recording. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Clock, HOOKS, type Logger } from "@svc/sdk";
import { WebhookAction, WebhookPreset, type Webhooks, WebhookVerifier } from "@svc/sdk/webhooks";
import type { Access } from "../auth/access.ts";
import { FailureLimiter, HOOK_LIMITER } from "../auth/failure-limiter.ts";
import type { Issue } from "../config/file.ts";
import type { HostConfig } from "../config/host-schema.ts";
import type { HookBus } from "../hooks/hook-bus.ts";
import { absentContribution } from "../kernel/absent.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Kinds } from "../kernel/kernel-hooks.ts";
import { contributionName, contributions } from "../kernel/kinds/contributions.ts";
import { points } from "../kernel/kinds/points.ts";
import type { PluginFinder } from "../kernel/load.ts";
import { createEarlyReply } from "../net/http/early-reply.ts";
import { type FindAbsent, noAction } from "./catalogue.ts";
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
  readonly access: Access;
  readonly kernel: Kernel;
  readonly finder: PluginFinder;
  /** The configuration the gateway starts with. */
  readonly config: HostConfig;
  /** The webhook settings of a configuration, and the issues that do not depend on plugins. */
  read(config: HostConfig): { readonly settings: WebhookSettings; readonly issues: readonly Issue[] };
  /** Why the configuration file differs from the configuration in force, or `undefined`. */
  configProblem(): string | undefined;
}

export class HostWebhooks {
  readonly service: Webhooks;
  readonly #options: WebhooksOptions;
  readonly #recording: Recording;
  readonly #engine: WebhookEngine;
  readonly #ingress: Ingress;

  constructor(options: WebhooksOptions) {
    const { kinds, hooks, clock, log, access, kernel, finder, configProblem } = options;
    this.#options = options;
    for (const point of [WebhookAction, WebhookPreset, WebhookVerifier]) kinds.provide(points, { point });
    const principalFor = (mapping: string) => access.authority.webhookPrincipal(mapping);
    const holdFor = (action: string) => kernel.holdFor(contributions, contributionName(WebhookAction.id, action));
    const findAbsent: FindAbsent = (what, point, id) => absentContribution(what, point, id, kernel, finder);
    const emitters = {
      transformFile: hooks.emitter(HOOKS.webhookTransformFile),
      transform: hooks.emitter(HOOKS.webhookTransform),
      before: hooks.emitter(HOOKS.webhookBefore),
    };
    const pipeline = new Pipeline({
      clock,
      hooks: emitters,
      principalFor,
      holdFor,
      absence: (action) => noAction(action, findAbsent),
    });
    const recording = (this.#recording = new Recording({ hooks, clock, log, principalFor }));
    const { settings } = options.read(options.config);
    const engine = (this.#engine = new WebhookEngine(settings, {
      live: kinds,
      pipeline,
      recording,
      clock,
      holdFor,
      findAbsent,
    }));
    this.#ingress = new Ingress({
      engine,
      recording,
      attempts: new HookAttempts(new FailureLimiter(HOOK_LIMITER, clock)),
      early: createEarlyReply(hooks, access),
      aliases: () => access.aliases,
      proxies: () => access.proxies,
      log,
    });
    this.service = createService({ engine, principalFor, configProblem });
  }

  /** Why this configuration cannot be used, regardless of plugins. */
  issues(config: HostConfig): readonly Issue[] {
    return this.#options.read(config).issues;
  }

  /**
   * Why this configuration cannot be used with the plugins that run.
   * Choice: empty while any plugin is neither active nor disabled: it may be the missing one, and one bad plugin must not stop the gateway.
   */
  pluginIssues(config: HostConfig): readonly Issue[] {
    const { kernel, read } = this.#options;
    const areWell = kernel.reports().every(({ state }) => state === "active" || state === "disabled");
    return areWell ? this.#engine.refusals(read(config).settings) : [];
  }

  /** Applies a configuration without issues, synchronously: no request comes between. */
  use(config: HostConfig): void {
    this.#engine.use(this.#options.read(config).settings);
  }

  /** Warnings for the operator about the settings in force. */
  warnings(): string[] {
    const { settings, problems } = this.#engine.catalogue();
    const nobody = settings.enabled ? this.#recording.problem : undefined;
    return [
      ...problems.map(({ path, message }) => `${path}: ${message}`),
      ...(nobody === undefined ? [] : [`plugins.use: ${nobody}`]),
    ];
  }

  /** Handles a request for a webhook. @returns whether the request was one */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    return this.#ingress.handle(request, response);
  }
}
