/** Implements the services that the host itself provides to plugins. */
import type { ConnectionInfo } from "@svc/sdk";
import type { Backplane, Credentials, EventLoopOwners, GatewayInfo, Peers, Restarts } from "@svc/sdk/gateway";
import type { PluginControl } from "@svc/sdk/plugins";
import type { Webhooks } from "@svc/sdk/webhooks";
import type { EndedElsewhere } from "./auth/ended-elsewhere.ts";
import { revocableDevice } from "./auth/principal.ts";
import { createSecretPlaces } from "./config/secret-places.ts";
import type { ConfigStore } from "./config/store.ts";
import type { HostContext } from "./context.ts";
import { CONNECTIONS } from "./peers.ts";
import { currentOwner } from "./kernel/current-owner.ts";
import type { PluginPlan } from "./kernel/plan.ts";
import { markMemory, markOf, ownerOf, tellMarks } from "./kernel/marks.ts";
import { services } from "./kernel/kinds/services.ts";
import { HOST_SERVICES, type HostServices } from "./host-service-tokens.ts";
import type { Gateway } from "./options.ts";
import { plannedFacts } from "./plugin-plan.ts";
import { HOST_PACKAGE, VERSION } from "./version.ts";

export interface HostServiceParts extends HostContext {
  readonly config: ConfigStore;
  readonly restarts: Restarts;
  readonly webhooks: Webhooks;
  readonly gateway: Gateway;
  readonly backplane: Backplane;
  readonly peers: Peers;
  readonly endedElsewhere: EndedElsewhere;
  /** Closes connections with ended credentials. The end of the credentials is on disk when it resolves. Never rejects. */
  closeDead(reason: string): Promise<void>;
  /** The plugin plan from the current configuration and the installed plugins. */
  plan(): PluginPlan;
  /** Called after a plugin was reloaded. */
  reloaded(): void;
}

export function provideHostServices(parts: HostServiceParts): void {
  const { settings, kinds, kernel, log, config, restarts, webhooks } = parts;
  const given: HostServices = {
    Backplane: parts.backplane,
    ConfigStore: config,
    Credentials: credentialsOf(parts),
    EventLoopOwners: eventLoopOf(parts),
    GatewayInfo: infoOf(parts),
    Peers: parts.peers,
    PluginControl: controlOf(parts),
    Restarts: restarts,
    SecretPlaces: createSecretPlaces(
      () => [settings.file, kernel.sections()],
      (secrets) => log.secrets.know(secrets),
    ),
    SharedConfig: config.sharedText,
    Webhooks: webhooks,
  };
  for (const name of Object.keys(HOST_SERVICES) as (keyof HostServices)[])
    // Object.keys loses the key type
    kinds.provide(services, { token: HOST_SERVICES[name], value: given[name] });
}

function controlOf({ settings, kernel, gateway, finder, plan, reloaded }: HostServiceParts): PluginControl {
  return {
    reports: () => gateway.plugins(),
    inspect: (id) => kernel.inspect(id),
    measures: () => kernel.measures(),
    reload: (id) => gateway.reload(id),
    align: async () => {
      const reports = await kernel.reconcile(plan());
      reloaded();
      return reports;
    },
    planned: () => ({
      ...plannedFacts(plan(), finder, settings.config.plugins.entries),
      sections: kernel.sections().map(({ section, plugin }) => ({ section, plugin })),
    }),
  };
}

function eventLoopOf({ kernel, log }: HostServiceParts): EventLoopOwners {
  return {
    running: markMemory(),
    get logsErrors() {
      return log.isLevelEnabled("error");
    },
    current: () => markOf(currentOwner()),
    follow: tellMarks,
    attribute(mark, block) {
      const owner = ownerOf(mark);
      if (owner && kernel.blocked(owner, block)) return;
      const who = owner ? `plugin ${owner.id} (no longer running)` : "code outside plugins";
      log.warn({ blockedMs: block.ms, stack: block.stack }, `the event loop was blocked by ${who}`);
    },
  };
}

function infoOf({ gateway, settings, kernel, startedAt, log, access, peers }: HostServiceParts): GatewayInfo {
  const { stateDir, configPath } = gateway.paths;
  return {
    version: VERSION,
    ...(HOST_PACKAGE ? { hostDirectory: HOST_PACKAGE.directory } : {}),
    startedAt,
    stateDir,
    configPath,
    get authMode() {
      return gateway.auth.mode;
    },
    get aliases() {
      return gateway.aliases;
    },
    get panel() {
      return access.panel.place;
    },
    get url() {
      return gateway.port === 0 ? undefined : gateway.url;
    },
    get fileRefusal() {
      return settings.fileRefusal;
    },
    get tlsFingerprint() {
      return gateway.tlsFingerprint;
    },
    logFile: () => log.file,
    plugins: () => gateway.plugins(),
    missingPlugins: () => kernel.missing(),
    busy: () => kernel.busy(),
    connections: () => gateway.connections(),
    connectionsElsewhere: () => peers.shared(CONNECTIONS).map(({ value }) => value as ConnectionInfo), // shared by `Connections`
  };
}

function credentialsOf({ access: { authority }, closeDead, endedElsewhere }: HostServiceParts): Credentials {
  const revoke = (id: string, reason: string) => {
    authority.revoke(id);
    endedElsewhere.tell(id, reason);
    return closeDead(reason);
  };
  return {
    revoke,
    revokeDevice: (deviceId, reason) => revoke(revocableDevice(deviceId), reason),
    isLive: (principal) => authority.isLive(principal),
  };
}
