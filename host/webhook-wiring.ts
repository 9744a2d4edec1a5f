/** Ties the webhooks to the rest of a gateway, and judges what of its configuration they read. */
import type { Clock, Logger } from "@svc/sdk";
import type { PluginReport } from "@svc/sdk/plugins";
import { WebhookAction } from "@svc/sdk/webhooks";
import type { Access } from "./auth/access.ts";
import type { AuthSettings } from "./auth/settings.ts";
import type { Issue } from "./config/file.ts";
import type { HostConfig } from "./config/host-schema.ts";
import type { HookBus } from "./hooks/hook-bus.ts";
import { absentContribution } from "./kernel/absent.ts";
import type { Kernel } from "./kernel/kernel.ts";
import type { PluginFinder } from "./kernel/load.ts";
import type { Kinds } from "./kernel/kernel-hooks.ts";
import { contributionName, contributions } from "./kernel/kinds/contributions.ts";
import { createEarlyReply } from "./net/http/early-reply.ts";
import { type WebhookSettings, webhookSettings } from "./webhooks/settings.ts";
import { HostWebhooks } from "./webhooks/webhooks.ts";

export interface WebhookParts {
  readonly kinds: Kinds;
  readonly hooks: HookBus;
  readonly clock: Clock;
  readonly log: Logger;
  readonly access: Access;
  readonly kernel: Kernel;
  readonly finder: PluginFinder;
  readonly paths: { readonly configDir: string };
  /** What it starts with. */
  readonly settings: WebhookSettings;
  authOf(section: HostConfig["gateway"]): AuthSettings;
  plugins(): readonly PluginReport[];
  /** Why the configuration file is not what is in force, or `undefined`. */
  configProblem(): string | undefined;
}

export class WebhookWiring {
  readonly host: HostWebhooks;
  readonly #parts: WebhookParts;

  constructor(parts: WebhookParts) {
    const { kinds, hooks, clock, log, settings, access, kernel, finder } = parts;
    this.#parts = parts;
    this.host = new HostWebhooks({
      kinds,
      hooks,
      clock,
      log,
      settings,
      aliases: () => access.aliases,
      principalFor: (mapping) => access.authority.webhookPrincipal(mapping),
      holdFor: (action) => kernel.holdFor(contributions, contributionName(WebhookAction.id, action)),
      early: createEarlyReply(hooks, access),
      configProblem: () => parts.configProblem(),
      absence: (what, point, id) => absentContribution(what, point, id, kernel, finder),
    });
  }

  /** Why this configuration cannot be used, whatever plugins there are. */
  issues(config: HostConfig): readonly Issue[] {
    return this.#read(config).issues;
  }

  /**
   * The same given the plugins that run.
   * Choice: nothing while one of them is not well: it may be what is missing, and one bad plugin must not cost the gateway.
   */
  pluginIssues(config: HostConfig): readonly Issue[] {
    const areWell = this.#parts.plugins().every(({ state }) => state === "active" || state === "disabled");
    return areWell ? this.host.refusals(this.#read(config).settings) : [];
  }

  /** Takes a configuration over that has no issues. */
  use(config: HostConfig): void {
    this.host.configure(this.#read(config).settings);
  }

  #read({ gateway, hooks }: HostConfig): ReturnType<typeof webhookSettings> {
    const { authOf, paths } = this.#parts;
    return webhookSettings(hooks, { gatewayToken: authOf(gateway).token, configDir: paths.configDir });
  }
}
