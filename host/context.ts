/** The objects shared by the parts of one gateway, created in the order of their dependencies. */
import type { Clock, Logger } from "@svc/sdk";
import { Approver } from "@svc/sdk/gateway";
import { Access } from "./auth/access.ts";
import { openEnded } from "./auth/ended.ts";
import { pluginPrincipal } from "./auth/principal.ts";
import { carryAsleep } from "./carriers/asleep.ts";
import { type HostOnly, watchHostOnly } from "./carriers/host-only.ts";
import { carryElsewhere } from "./carriers/isolated-plugin.ts";
import { systemClock } from "./clock.ts";
import { isConfigured, pluginSection } from "./config/sections.ts";
import { HookBus } from "./hooks/hook-bus.ts";
import { createQuestions } from "./hooks/questions.ts";
import { Kernel } from "./kernel/kernel.ts";
import { Kinds } from "./kernel/kernel-hooks.ts";
import type { PluginFacts } from "./kernel/kind.ts";
import { services } from "./kernel/kinds/services.ts";
import { createPluginFinder, type PluginFinder } from "./kernel/load.ts";
import { loadKinds } from "./kernel/load-kinds.ts";
import { createLogger, type RootLogger } from "./logs/log.ts";
import { createPlanner, type Planner } from "./plugin-plan.ts";
import type { Settings } from "./settings.ts";

export interface HostContext {
  readonly settings: Settings;
  readonly clock: Clock;
  /** epoch ms */
  readonly startedAt: number;
  readonly log: RootLogger;
  readonly hooks: HookBus;
  readonly kinds: Kinds;
  readonly hostOnly: HostOnly;
  readonly access: Access;
  readonly finder: PluginFinder;
  readonly planner: Planner;
  readonly kernel: Kernel;
}

export async function createContext(settings: Settings): Promise<HostContext> {
  const { options, paths, config, port } = settings;
  const clock = options.clock ?? systemClock;
  const log = createLogger(settings.log(), options.clock);
  log.secrets.know(settings.secrets([]));
  const hooks = new HookBus();
  const kinds = new Kinds(hooks, await loadKinds(options.kinds ?? [], paths.cacheDir));
  hooks.askPeople = createQuestions(
    () => kinds.table(services).get(Approver.id)?.value as Approver | undefined, // the token determines the type
    (error, plugin) => log.warn({ err: error, plugin }, "a question could not be sent to people"),
  );
  const finder = createPluginFinder(paths);
  const endedFile = openEnded(paths.credentialsDir, settings.auth(), clock.now());
  return {
    settings,
    clock,
    startedAt: clock.now(),
    log,
    hooks,
    kinds,
    hostOnly: watchHostOnly(kinds.hooks, kinds.all),
    access: new Access(settings.auth(), config.gateway, port, clock, endedFile),
    finder,
    planner: createPlanner({ ...options, finder, paths }),
    kernel: createKernel(settings, kinds, clock, log),
  };
}

function createKernel(settings: Settings, kinds: Kinds, clock: Clock, log: RootLogger): Kernel {
  const { options, paths } = settings;
  const setUpWithMore = (plugin: PluginFacts) => isConfigured(plugin, settings.file);
  carryAsleep(kinds.hooks, { kinds: kinds.all, cacheDir: paths.cacheDir, isConfigured: setUpWithMore });
  carryElsewhere(kinds.hooks, { ...paths, kinds: options.kinds ?? [] });
  options.tap?.(kinds.hooks);
  const logs = new Map<string, Logger>();
  return new Kernel({
    log,
    clock,
    kinds,
    configOf: (plugin) => pluginSection(plugin, settings.file),
    isConfigured: setUpWithMore,
    logFor(id) {
      const known = logs.get(id) ?? log.child({ plugin: id });
      logs.set(id, known);
      return known;
    },
    principalFor: pluginPrincipal,
  });
}
