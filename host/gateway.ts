/** Assembles a gateway from its parts. `running-gateway.ts` starts and stops it. */
import { HOOKS } from "@svc/sdk";
import { isConfigured } from "./config/sections.ts";
import { type ConfigStore, createConfigStore } from "./config/store.ts";
import { createContext, type HostContext } from "./context.ts";
import { provideHostServices } from "./host-services.ts";
import { createEndedElsewhere } from "./auth/ended-elsewhere.ts";
import { StartupRefusal } from "./auth/settings.ts";
import { absentProvider } from "./kernel/absent.ts";
import { methods } from "./kernel/kinds/methods.ts";
import { routes } from "./kernel/kinds/routes.ts";
import { boundedLog } from "./logs/bounded.ts";
import { createHttpHandler } from "./net/http/handler.ts";
import { createPluginSockets } from "./net/http/plugin-sockets.ts";
import { Admission } from "./net/ws/admission.ts";
import { Broadcaster } from "./net/ws/broadcast.ts";
import { CallLimiter } from "./net/ws/call-limiter.ts";
import { Connections } from "./net/ws/connections.ts";
import { Dispatcher } from "./net/ws/dispatch.ts";
import type { Gateway, GatewayOptions } from "./options.ts";
import { Leaving } from "./leaving.ts";
import { CONNECTIONS, HostPeers } from "./peers.ts";
import { createReconfigure } from "./reconfigure.ts";
import { createRestarts } from "./restarts.ts";
import { ConfigReplaced, RunningGateway } from "./running-gateway.ts";
import { Settings } from "./settings.ts";
import { StartupReport } from "./startup-report.ts";
import { VERSION } from "./version.ts";
import { HostWebhooks } from "./webhooks/webhooks.ts";

/** Name of the message to the other gateways that the shared configuration has changed. */
const CONFIG = "host/config";

/**
 * Starts a gateway.
 * @throws StartupRefusal when the configuration is invalid or unsafe, or the port is in use.
 * A failing plugin does not make it throw: see `plugins()`.
 */
export async function createGateway(options: GatewayOptions = {}): Promise<Gateway> {
  try {
    return await startWith(await Settings.read(options));
  } catch (error) {
    if (error instanceof ConfigReplaced) return createGateway(options);
    if (!options.lastGood || !(error instanceof StartupRefusal)) throw error;
    const started = await startWithLastGood(options, error);
    if (!started) throw error;
    return started;
  }
}

/** @returns `undefined` when no other configuration is stored */
async function startWithLastGood(options: GatewayOptions, refusal: StartupRefusal): Promise<Gateway | undefined> {
  try {
    const settings = await Settings.readLastGood(options, refusal);
    return settings && (await startWith(settings));
  } catch (error) {
    if (error instanceof ConfigReplaced) return createGateway(options);
    if (!(error instanceof StartupRefusal)) throw error;
    throw new StartupRefusal(`${refusal.message}\nThe last configuration that worked is refused too: ${error.message}`);
  }
}

async function startWith(settings: Settings): Promise<Gateway> {
  const context = await createContext(settings);
  try {
    const { gateway, config } = assemble(context);
    await gateway.start(config);
    return gateway;
  } catch (error) {
    context.log.close();
    throw error;
  }
}

function assemble(context: HostContext): { gateway: RunningGateway; config: ConfigStore } {
  const { settings, clock, log, hooks, kinds, access, kernel, finder, planner } = context;
  const { options, paths, env } = settings;

  const published = hooks.emitter(HOOKS.eventPublished);
  const broadcaster = new Broadcaster({
    formerlyForAll: () => access.chatEventsToAll,
    heard(event, text, isTargeted) {
      if (!published.isUsed(event)) return;
      const payload: unknown = text === undefined ? undefined : JSON.parse(text);
      published.emit({ event, payload, isTargeted, isForeign: true }, event);
    },
    missed: () => connections.closeAdmitted("events were missed; connect again"),
    noted: (text) => peers.heard(text),
    renewed: () => peers.restart(),
    members: (self, present) => peers.members(self, present),
  });
  const peers = new HostPeers({ send: (text) => broadcaster.note(text), log });
  const dispatcher = new Dispatcher({
    methods: kinds.table(methods),
    hooks,
    log,
    limiter: new CallLimiter(clock),
    isLive: (principal) => access.authority.isLive(principal),
    absentProvider: (method) => absentProvider(method, kernel, finder),
    holdFor: (method) => kernel.holdFor(methods, method),
    checkResults: options.checkResults ?? false,
  });
  const admission = new Admission({ ...context, paths, broadcaster });
  const { handshakeTimeoutMs, maxBufferedBytes } = options;
  const connections = new Connections({
    ...context,
    log: boundedLog(log, clock),
    admission,
    broadcaster,
    dispatcher,
    share: (id, connection) => peers.share(CONNECTIONS, id, connection),
    handshakeTimeoutMs,
    maxBufferedBytes,
  });
  const webhooks = new HostWebhooks({
    ...context,
    config: settings.config,
    read: (current) => settings.webhooks(current),
    configProblem: () => config.problem?.message,
  });
  const http = createHttpHandler({
    ...context,
    routes: kinds.table(routes),
    readiness: () => gateway.readiness(),
    ingress: (request, response) => webhooks.handle(request, response),
  });
  const pluginSockets = createPluginSockets({ routes: kinds.table(routes), access, clock, log });
  const credentialsEnded = hooks.emitter(HOOKS.credentialsEnded);
  const closeDead = async (reason: string) => {
    connections.closeDead(reason);
    http.closeDead();
    void credentialsEnded.emit({ reason });
    endedElsewhere.share();
    await access
      .keepEnded()
      .catch((error: unknown) =>
        log.error(
          { err: error },
          "an ended credential could not be recorded: it is refused only until the gateway stops; once the state directory is writable, revoke it again",
        ),
      );
  };

  const endedElsewhere = createEndedElsewhere({ peers, authority: access.authority, closeDead });
  endedElsewhere.share();

  const leaving = new Leaving(peers);
  const restarts = createRestarts({
    clock,
    log,
    isIdle: () => kernel.busy().length === 0 && leaving.mayRestart(),
    idleWaitMs: options.drainMs,
    ...options.restart,
  });
  const report = new StartupReport(context);
  const gateway = new RunningGateway({
    context,
    admission,
    broadcaster,
    connections,
    dispatcher,
    http,
    pluginSockets,
    leaving,
    restarts,
    webhooks,
    report,
  });
  const reconfigure = createReconfigure({
    ...context,
    restarts,
    restartDelayMs: () => leaving.restartDelayMs,
    webhooks,
    closeDead,
    lookAtCertificate: () => gateway.lookAtCertificate(),
    port: () => gateway.port || settings.port,
  });
  const config = createConfigStore({
    paths,
    env,
    version: VERSION,
    owners: () => kernel.sections(),
    prepare: (file) => kernel.importChecks((plugin) => isConfigured(plugin, file)),
    initial: settings.file,
    given: options.config !== undefined,
    clock,
    log,
    startRefusal: (file) => settings.refusal(file),
    validate: (change) => reconfigure.validate(change),
    async apply(change) {
      await reconfigure.apply(change);
      report.write();
    },
    applied: () => reconfigure.applied(),
    shared: () => peers.tell(CONFIG, {}),
    restart() {
      if (reconfigure.waiting.size === 0) return undefined;
      const delayMs = restarts.pendingMs();
      return { paths: [...reconfigure.waiting], ...(delayMs === undefined ? {} : { delayMs }) };
    },
  });
  peers.answer(CONFIG, () => config.refresh());
  provideHostServices({
    ...context,
    gateway,
    config,
    restarts,
    webhooks: webhooks.service,
    closeDead,
    backplane: broadcaster,
    peers,
    endedElsewhere,
    plan: () => planner.plan(settings.file),
    reloaded: () => report.write(),
  });
  return { gateway, config };
}
