/**
 * Applies a new configuration to a running gateway: the host's own keys immediately, plugins by passing them their section
 * or by a reload, the rest by a restart. Spec: protocol/methods-config.md §4-5, http/config.md §5.
 */
import { type Denial, HOOKS, type Logger } from "@svc/sdk";
import type { Restarts } from "@svc/sdk/gateway";
import type { Access } from "./auth/access.ts";
import { resolveBind, StartupRefusal } from "./auth/mode.ts";
import type { HostOnly } from "./carriers/host-only.ts";
import type { ConfigFile, Issue } from "./config/file.ts";
import type { HostConfig } from "./config/host-schema.ts";
import { redact } from "./config/redact.ts";
import { secretHintsOf, hostConfig } from "./config/sections.ts";
import type { ConfigTransition } from "./config/store.ts";
import type { HookBus } from "./hooks/hook-bus.ts";
import type { Kernel } from "./kernel/kernel.ts";
import type { RootLogger } from "./logs/log.ts";
import { tlsRefusal } from "./net/tls/certificate.ts";
import type { Planner } from "./plugin-plan.ts";
import { DEFAULT_DELAY } from "./restarts.ts";
import type { Settings } from "./settings.ts";
import type { HostWebhooks } from "./webhooks/webhooks.ts";

export interface ReconfigureOptions {
  readonly settings: Pick<Settings, "auth" | "keepAsLastGood" | "log" | "paths" | "secrets" | "use">;
  readonly planner: Pick<Planner, "plan">;
  readonly access: Access;
  readonly hostOnly: HostOnly;
  readonly kernel: Kernel;
  readonly hooks: HookBus;
  readonly log: Logger & Pick<RootLogger, "secrets" | "use">;
  readonly restarts: Restarts;
  /** Milliseconds between the restart for a change of the file, or of another gateway, and the usual time. */
  restartDelayMs(): number;
  /** The port the gateway listens on. */
  port(): number;
  /** Applies changes of `gateway.tls`. */
  lookAtCertificate(): Promise<void>;
  readonly webhooks: Pick<HostWebhooks, "issues" | "pluginIssues" | "use">;
  /** Closes connections with ended credentials. The end of the credentials is on disk when it resolves. Never rejects. */
  closeDead(reason: string): Promise<void>;
}

export interface Reconfigure {
  /** Why the new configuration cannot be used, or `undefined`. */
  validate(change: ConfigTransition): Promise<Denial | undefined>;
  apply(change: ConfigTransition): Promise<void>;
  /** Dotted paths that take effect at the next restart. */
  readonly waiting: ReadonlySet<string>;
  /** Stores the active configuration as the last one that worked, unless a part of it waits for a restart. */
  applied(): Promise<void>;
}

export function createReconfigure(options: ReconfigureOptions): Reconfigure {
  const { settings, planner, access, kernel, hooks, log, port, closeDead } = options;
  const validateHook = hooks.emitter(HOOKS.configValidate);
  const changedHook = hooks.emitter(HOOKS.configChanged);
  /** Dotted paths that take effect at the next restart; until then it is unknown whether they work. */
  const waiting = new Set<string>();
  const wait = (paths: readonly string[]) => {
    for (const path of paths) waiting.add(path);
  };

  const shown = (file: ConfigFile) => redact(file.resolved, secretHintsOf(kernel.sections()));

  /** Conflicts with the running plugins are reported only if the same change does not also change the plugins. */
  function webhookIssues(config: HostConfig, changed: readonly string[]): readonly Issue[] {
    const issues = options.webhooks.issues(config);
    const judgesPlugins = issues.length === 0 && touches(changed, "hooks") && !touches(changed, "plugins");
    return judgesPlugins ? options.webhooks.pluginIssues(config) : issues;
  }

  async function applyHot({ next, changed, kinds }: ConfigTransition): Promise<void> {
    const { config } = hostConfig(next);
    settings.use(next);
    log.secrets.know(settings.secrets(kernel.sections()));
    if (touches(changed, "gateway")) {
      const gone = access.configure(settings.auth(config.gateway), config.gateway, port());
      if (gone) await closeDead("unauthorized: the gateway's credential was changed; connect with the new one");
    }
    if (touches(changed, "gateway.tls")) await options.lookAtCertificate();
    if (touches(changed, "hooks") || touches(changed, "gateway")) options.webhooks.use(config);
    log.use(settings.log(config.logging));
    const aligned = touches(changed, "plugins") ? await kernel.reconcile(planner.plan(next)) : [];
    const done = new Set(aligned.map(({ id }) => id)); // already set up with the new configuration
    const { ids, hot } = pluginsConcerned(kernel, changed, kinds);
    const reloaded = await kernel.reconfigure(
      ids.filter((id) => !done.has(id)),
      hot,
    );
    for (const { id, ok, reason } of [...aligned, ...reloaded]) {
      if (!ok) log.warn({ plugin: id, reason }, `plugin ${id} did not accept the new configuration`);
    }
    if (changedHook.isUsed()) await changedHook.emit({ changed });
  }

  return {
    waiting,

    async validate({ next, previous, changed }) {
      const { gateway } = hostConfig(next).config;
      try {
        resolveBind(gateway, settings.auth(gateway)); // refuse now what a start would refuse
      } catch (error) {
        if (error instanceof StartupRefusal) return { allow: false, reason: error.message };
        throw error;
      }
      const tls = touches(changed, "gateway.tls") && tlsRefusal(gateway.tls ?? {}, settings.paths, Date.now());
      if (tls) return { allow: false, reason: tls };
      const entriesOf = (file: ConfigFile) => hostConfig(file).config.plugins.entries ?? {};
      const misplaced = options.hostOnly.refusal(entriesOf(next), entriesOf(previous));
      if (misplaced !== undefined) return { allow: false, reason: misplaced };
      const [issue] = webhookIssues(hostConfig(next).config, changed);
      if (issue) return { allow: false, reason: `${issue.path} ${issue.message}` };
      if (!validateHook.isUsed()) return undefined;
      return validateHook.emit({ config: shown(next), previous: shown(previous), changed });
    },

    async apply(change) {
      const { next, kinds, author, restartsItself } = change;
      const { mode = "hybrid" } = hostConfig(next).config.gateway.reload ?? {};
      const strong = [...kinds].filter(([, kind]) => kind === "restart").map(([path]) => path);
      const byHand = author === undefined; // the file was edited by hand
      if (byHand && (mode === "off" || mode === "restart")) wait(change.changed);
      if (byHand && mode === "off") {
        log.info(
          { changed: change.changed },
          "the configuration file changed, but gateway.reload.mode is off; the change takes effect after a restart",
        );
        return;
      }
      if (byHand && mode === "restart") return restart(options, change.changed, true);
      await applyHot(change);
      wait(strong);
      if (strong.length === 0 || restartsItself) return;
      if (mode === "hot") {
        log.warn(
          { changed: strong },
          `gateway.reload.mode is hot; these keys take effect at the next restart: ${strong.join(", ")}`,
        );
        return;
      }
      restart(options, strong, byHand);
    },

    async applied() {
      if (waiting.size === 0) await settings.keepAsLastGood(log);
    },
  };
}

function touches(changed: readonly string[], section: string): boolean {
  return changed.some((path) => path === section || path.startsWith(`${section}.`));
}

function restart(
  { restarts, log, restartDelayMs }: Pick<ReconfigureOptions, "restarts" | "log" | "restartDelayMs">,
  changed: readonly string[],
  byHand: boolean,
): void {
  const extraMs = byHand ? restartDelayMs() : 0;
  const delay = extraMs > 0 ? { delayMs: DEFAULT_DELAY + extraMs } : {};
  if (restarts.possible) restarts.schedule({ reason: `configuration: ${changed.join(", ")}`, ...delay });
  else log.warn({ changed }, `these keys take effect after a restart of the gateway: ${changed.join(", ")}`);
}

/** Ids of plugins whose sections changed, and those whose changes are all in hot keys. */
function pluginsConcerned(
  kernel: Kernel,
  changed: readonly string[],
  kinds: ConfigTransition["kinds"],
): { ids: string[]; hot: Set<string> } {
  const ids = new Set<string>();
  const notHot = new Set<string>();
  for (const { section, plugin } of kernel.sections()) {
    for (const path of changed) {
      const within = `${path}.`.startsWith(`${section}.`) || section.startsWith(`${path}.`);
      if (!within) continue;
      ids.add(plugin);
      if (kinds.get(path) !== "hot") notHot.add(plugin);
    }
  }
  return { ids: [...ids], hot: new Set([...ids].filter((id) => !notHot.has(id))) };
}
