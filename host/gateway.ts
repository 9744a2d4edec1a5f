/**
 * Puts a gateway together: configuration, credentials, plugins, port. Every other file of the host has one of these
 * as its subject; this one only says what is connected to what, and in which order it starts and stops.
 */
import {
  type Audience,
  type Clock,
  type ConnectionInfo,
  type EventSpec,
  GatewayError,
  HOOKS,
  type Logger,
  type Principal,
} from "@svc/sdk";
import { Approver } from "@svc/sdk/gateway";
import type { PluginReport, ReloadReport } from "@svc/sdk/plugins";
import { CLOSE, shutdown, tick, TICK_INTERVAL_MS } from "@svc/sdk/protocol";
import { Access } from "./auth/access.ts";
import { type AuthSettings, resolveAuth, resolveBind, startRefusal, StartupRefusal } from "./auth/mode.ts";
import { actingFor, pluginPrincipal } from "./auth/principal.ts";
import { writeLocalKey } from "./auth/local-key.ts";
import { isLoopback } from "./auth/locality.ts";
import { keepToken } from "./auth/secret.ts";
import { settled, systemClock } from "./clock.ts";
import { type ConfigFile, givenConfig, type Issue, readConfigFile } from "./config/file.ts";
import { followConfig } from "./config/follow.ts";
import type { HostConfig } from "./config/host-schema.ts";
import { type Environment, type Paths, preparePaths, resolvePaths } from "./config/paths.ts";
import { secretTexts } from "./config/secret-places.ts";
import { hostConfig, isConfigured, pluginSection, unownedKeys } from "./config/sections.ts";
import { type ConfigStore as LiveConfig, createConfigStore } from "./config/store.ts";
import { HookBus } from "./hooks/hook-bus.ts";
import { createQuestions } from "./hooks/questions.ts";
import { provideHostServices } from "./host-services.ts";
import { unloadedProvider } from "./kernel/absent.ts";
import { Kernel } from "./kernel/kernel.ts";
import { createPluginFinder, type PluginFinder } from "./kernel/load.ts";
import { carryAsleep } from "./carriers/asleep.ts";
import { carryElsewhere } from "./carriers/isolated-plugin.ts";
import { Kinds } from "./kernel/kernel-hooks.ts";
import type { AnyKind } from "./kernel/kind.ts";
import { loadKinds } from "./kernel/load-kinds.ts";
import { methods } from "./kernel/kinds/methods.ts";
import { routes } from "./kernel/kinds/routes.ts";
import { services } from "./kernel/kinds/services.ts";
import type { Gateway, GatewayOptions, StopOptions } from "./options.ts";
import { createReconfigure, type Reconfigure } from "./reconfigure.ts";
import { createRestarts, type HostRestarts } from "./restarts.ts";
import { createPlanner, type Planner } from "./plugin-plan.ts";
import { configRefusal, portFrom } from "./startup.ts";
import { writeStartupReport } from "./startup-report.ts";
import { WebhookWiring } from "./webhook-wiring.ts";
import { type WebhookSettings, webhookSettings } from "./webhooks/settings.ts";
import { createLogger, type RootLogger } from "./log.ts";
import { levelFrom, type LogSettings, logSettings } from "./logs/settings.ts";
import { Broadcaster } from "./net/broadcast.ts";
import { CallLimiter } from "./net/call-limiter.ts";
import { Dispatcher } from "./net/dispatch.ts";
import { Door } from "./net/door.ts";
import { createHttpHandler, type HttpHandler } from "./net/http.ts";
import { listen, type Listener } from "./net/listen.ts";
import { VERSION } from "./version.ts";

/**
 * Starts a gateway.
 * @throws StartupRefusal the configuration of the host is wrong, the combination is unsafe or the port is taken.
 * A plugin that fails is no reason to throw: see `plugins()`.
 */
export async function createGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const env = options.env ?? process.env;
  const paths = resolvePaths(options.stateDir === undefined ? env : { ...env, SVC_STATE_DIR: options.stateDir });
  preparePaths(paths);
  const file = options.config
    ? givenConfig(paths.configPath, options.config)
    : await readConfigFile(paths.configPath, env);
  const { config, issues } = hostConfig(file);
  if (issues.length > 0) throw new StartupRefusal(configRefusal(file, issues));
  const authOf: Parts["authOf"] = (section) =>
    resolveAuth(section, env, () => keepToken(paths.credentialsDir), options.auth);
  const auth = authOf(config.gateway);
  const hooks = webhookSettings(config.hooks, { gatewayToken: auth.token, configDir: paths.configDir });
  if (hooks.issues.length > 0) throw new StartupRefusal(configRefusal(file, hooks.issues));
  const logging: Parts["logging"] = (section) => logSettings(section, paths, options.logLevel ?? levelFrom(env));
  const log = createLogger(logging(config.logging), options.clock);
  log.secrets.know([auth.token ?? "", auth.password ?? "", ...secretTexts(file, [])]);
  const port = options.port ?? portFrom(env, config);
  const webhooks = hooks.settings;
  const kinds = await loadKinds(options.kinds ?? [], paths.cacheDir);
  const gateway = new RunningGateway({
    options,
    env,
    paths,
    file,
    config,
    auth,
    authOf,
    log,
    logging,
    port,
    webhooks,
    kinds,
  });
  try {
    await gateway.start();
  } catch (error) {
    log.close();
    throw error;
  }
  return gateway;
}

interface Parts {
  readonly options: GatewayOptions;
  readonly env: Environment;
  readonly paths: Paths;
  readonly file: ConfigFile;
  readonly config: HostConfig;
  readonly auth: AuthSettings;
  /** @throws StartupRefusal */
  readonly authOf: (section: HostConfig["gateway"]) => AuthSettings;
  readonly log: RootLogger;
  readonly logging: (section: HostConfig["logging"]) => LogSettings;
  readonly port: number;
  readonly webhooks: WebhookSettings;
  readonly kinds: readonly AnyKind[];
}

class RunningGateway implements Gateway {
  readonly paths: Paths;
  readonly warnings: string[] = [];
  readonly #parts: Parts;
  readonly #clock: Clock;
  readonly #hooks = new HookBus();
  readonly #kinds: Kinds;
  readonly #broadcaster = new Broadcaster();
  readonly #published = this.#hooks.emitter(HOOKS.eventPublished);
  readonly #access: Access;
  readonly #dispatcher: Dispatcher;
  readonly #kernel: Kernel;
  readonly #finder: PluginFinder;
  readonly #planner: Planner;
  readonly #door: Door;
  readonly #http: HttpHandler;
  readonly #webhooks: WebhookWiring;
  readonly #restarts: HostRestarts;
  readonly #config: LiveConfig;
  readonly #startedAt: number;
  readonly #internalSignal = new AbortController();
  /** What plugins are set up with. */
  #file: ConfigFile;
  #listener: Listener | undefined;
  readonly #stops: (() => void | Promise<void>)[] = [];
  #stopped: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { options, auth, paths, log, file, env, config, port } = parts;
    this.#parts = parts;
    this.#file = file;
    this.paths = paths;
    this.#kinds = new Kinds(this.#hooks, parts.kinds);
    this.#clock = options.clock ?? systemClock;
    this.#finder = createPluginFinder(paths);
    this.#planner = createPlanner({ ...options, finder: this.#finder, paths });
    this.#startedAt = this.#clock.now();
    this.#access = new Access(auth, config.gateway, port, this.#clock);
    this.#dispatcher = new Dispatcher({
      methods: this.#kinds.table(methods),
      hooks: this.#hooks,
      log,
      limiter: new CallLimiter(this.#clock),
      isLive: (principal) => this.#access.authority.isLive(principal),
      absentProvider: (method) => this.#kernel.absentProvider(method),
      holdFor: (method) => this.#kernel.holdFor(methods, method),
      checkResults: options.checkResults ?? false,
    });
    this.#kernel = this.#createKernel();
    this.#hooks.askPeople = createQuestions(
      () => this.#kinds.table(services).get(Approver.id)?.value as Approver | undefined, // typed by the token
      (error, plugin) => log.warn({ err: error, plugin }, "people could not be asked"),
    );
    const shared = { hooks: this.#hooks, kinds: this.#kinds, log, access: this.#access };
    this.#webhooks = new WebhookWiring({
      ...shared,
      clock: this.#clock,
      kernel: this.#kernel,
      finder: this.#finder,
      paths,
      settings: parts.webhooks,
      authOf: parts.authOf,
      plugins: () => this.plugins(),
      configProblem: () => this.#config.problem?.message,
    });
    this.#http = createHttpHandler({
      ...shared,
      routes: this.#kinds.table(routes),
      ingress: (request, response) => this.#webhooks.host.handle(request, response),
    });
    this.#door = new Door({
      ...shared,
      live: this.#kinds,
      broadcaster: this.#broadcaster,
      dispatcher: this.#dispatcher,
      paths,
      handshakeTimeoutMs: options.handshakeTimeoutMs,
      maxBufferedBytes: options.maxBufferedBytes,
    });
    this.#restarts = createRestarts({
      clock: this.#clock,
      log,
      isIdle: () => !this.#kernel.isBusy(),
      ...options.restart,
    });
    const reconfigure = this.#createReconfigure();
    this.#config = createConfigStore({
      paths,
      env,
      version: VERSION,
      owners: () => this.#kernel.sections(),
      initial: file,
      given: options.config !== undefined,
      clock: this.#clock,
      log,
      startRefusal: (current) => this.#refusal(current),
      validate: (change) => reconfigure.validate(change),
      apply: async (change) => {
        await reconfigure.apply(change);
        this.#writeReport();
      },
    });
    provideHostServices({
      ...shared,
      kernel: this.#kernel,
      config: this.#config,
      restarts: this.#restarts,
      webhooks: this.#webhooks.host.service,
      gateway: this,
      logFile: () => log.file,
      hide: (values) => log.secrets.know(values),
      finder: this.#finder,
      env,
      startedAt: this.#startedAt,
      running: () => this.#file,
      closeDead: (reason) => this.#closeDead(reason),
      plan: () => this.#planner.plan(this.#file),
      reloaded: () => this.#writeReport(),
    });
  }

  #createKernel(): Kernel {
    const { log, paths } = this.#parts;
    const logs = new Map<string, Logger>();
    const { kinds = [], tap } = this.#parts.options;
    carryElsewhere(this.#kinds.hooks, { ...paths, kinds });
    carryAsleep(this.#kinds.hooks, {
      kinds: this.#kinds.all,
      cacheDir: paths.cacheDir,
      isConfigured: (plugin) => isConfigured(plugin, this.#file),
    });
    tap?.(this.#kinds.hooks);
    return new Kernel({
      log,
      clock: this.#clock,
      kinds: this.#kinds,
      host: {
        clock: this.#clock,
        stateDir: paths.stateDir,
        publish: (event, payload, audience) => this.#publish(event, payload, audience),
        forward: (event, payload, connections) =>
          this.#broadcaster.publish({ ...event, snapshot: false }, payload, { connections }),
        actingFor,
        invoke: (method, params, principal) => this.#invoke(method, params, principal),
      },
      configure: (plugin) => pluginSection(plugin, this.#file),
      isConfigured: (plugin) => isConfigured(plugin, this.#file),
      logFor: (id) => {
        const known = logs.get(id) ?? log.child({ plugin: id });
        logs.set(id, known);
        return known;
      },
      principalFor: pluginPrincipal,
      unloaded: (method) => unloadedProvider(method, this.#kernel, this.#finder),
    });
  }

  /** Why a gateway would not start with this file, though every key of it is right. */
  #refusal(file: ConfigFile): Issue | undefined {
    const { env, options } = this.#parts;
    const { config, issues } = hostConfig(file);
    if (issues.length > 0) return undefined; // told key by key
    const message = startRefusal(config.gateway, env, options.auth);
    return message === undefined ? this.#webhooks.issues(config)[0] : { path: "gateway", message };
  }

  #createReconfigure(): Reconfigure {
    const { authOf, log, logging, port } = this.#parts;
    return createReconfigure({
      authOf,
      access: this.#access,
      kernel: this.#kernel,
      hooks: this.#hooks,
      log,
      restarts: this.#restarts,
      port: () => this.#listener?.port ?? port,
      plan: (file) => this.#planner.plan(file),
      use: (file) => {
        this.#file = file;
        this.#learnSecrets();
      },
      webhooks: this.#webhooks,
      useLogging: (section) => log.use(logging(section)),
      closeDead: (reason) => this.#closeDead(reason),
    });
  }

  #closeDead(reason: string): void {
    this.#door.closeDead(reason);
    this.#http.closeDead();
  }

  async start(): Promise<void> {
    const { options, config, auth, port, log } = this.#parts;
    const addresses = resolveBind(config.gateway, auth);
    await this.#kernel.boot(this.#planner.plan(this.#file));
    this.#learnSecrets();
    const refusals = this.#webhooks.pluginIssues(this.#parts.config);
    if (refusals.length > 0) {
      await this.#kernel.stop();
      throw new StartupRefusal(configRefusal(this.#file, refusals));
    }
    this.warnings.push(...this.#webhooks.host.warnings());
    const unused = unownedKeys(this.#file, this.#kernel.sections());
    this.warnings.push(...unused.map(({ path, message }) => `${path}: ${message}`), ...this.#access.warnings());
    try {
      this.#listener = await listen({
        addresses,
        port,
        onRequest: (request, response) => this.#http.handle(request, response),
        onSocket: (ws, socket, request) => this.#door.open(ws, socket, request),
      });
    } catch (error) {
      await this.#kernel.stop();
      throw error;
    }
    this.#access.configure(auth, config.gateway, this.port);
    writeLocalKey(this.paths.credentialsDir, this.#access.localKey);
    this.#stops.push(
      this.#clock.setInterval(() => this.#publish(tick, { ts: this.#clock.now() }), TICK_INTERVAL_MS),
      () => this.#restarts.stop(),
    );
    this.#webhooks.host.start();
    this.#writeReport();
    const { configPath } = this.paths;
    if (options.config === undefined)
      this.#stops.push(followConfig(this.#config, { configPath, clock: this.#clock, log }));
    log.info({ version: VERSION, url: this.url, pid: process.pid }, "the gateway is up");
    void this.#hooks.emitter(HOOKS.hostReady).emit({ url: this.url });
  }

  /** What the configuration holds of secrets is in no log from now on. */
  #learnSecrets(): void {
    const { log, authOf } = this.#parts;
    const { token = "", password = "" } = authOf(hostConfig(this.#file).config.gateway);
    log.secrets.know([token, password, ...secretTexts(this.#file, this.#kernel.sections())]);
  }

  crashed(error: unknown): string {
    return this.#parts.log.crashed(error);
  }

  get auth(): AuthSettings {
    return this.#access.authority.settings;
  }
  get aliases(): readonly string[] {
    return this.#access.aliases;
  }
  get port(): number {
    return this.#listener?.port ?? 0;
  }
  get isOpen(): boolean {
    return this.#listener?.addresses.some((address) => !isLoopback(address)) ?? false;
  }
  get url(): string {
    const [address = "127.0.0.1"] = this.#listener?.addresses ?? [];
    return `ws://${address === "0.0.0.0" ? "127.0.0.1" : address}:${this.port}`;
  }
  plugins(): readonly PluginReport[] {
    return this.#kernel.reports();
  }
  connections(): readonly ConnectionInfo[] {
    return this.#door.connections();
  }
  async reload(id: string): Promise<ReloadReport> {
    const report = await this.#kernel.reload(id, this.#planner.developed(id, this.#file));
    this.#writeReport();
    return report;
  }
  holdings(): Readonly<Record<string, number>> {
    return { ...this.#kinds.sizes(), taps: this.#hooks.taps().length };
  }

  #publish(event: EventSpec, payload: unknown, audience: Audience = {}): void {
    this.#broadcaster.publish(event, payload, audience);
    if (!this.#published.isUsed(event.name)) return;
    this.#published.emit({ event: event.name, payload, isTargeted: audience.connections !== undefined }, event.name);
  }

  /** A call from inside: the same pipeline as from a socket. */
  async #invoke(method: string, params: unknown, principal: Principal): Promise<unknown> {
    const accept = () => undefined;
    return this.#dispatcher.call({
      method,
      params,
      principal,
      connection: undefined,
      signal: this.#internalSignal.signal,
      accept,
    });
  }

  #writeReport(): void {
    writeStartupReport({
      path: this.paths.startupReport,
      startedAt: this.#startedAt,
      url: this.url,
      plugins: this.#kernel.inventory(),
      warnings: this.warnings,
      file: this.#file,
      owners: this.#kernel.sections(),
      log: this.#parts.log,
    });
  }

  stop(reason = "gateway stopping", options: StopOptions = {}): Promise<void> {
    return (this.#stopped ??= this.#shutDown(reason, options));
  }

  async #shutDown(reason: string, { restartExpectedMs }: StopOptions): Promise<void> {
    const { log, options } = this.#parts;
    const { drainMs = 5_000 } = options;
    log.info({ reason }, "the gateway stops");
    this.#listener?.refuse();
    this.#door.refuse();
    this.#broadcaster.publish(shutdown, { reason, restartExpectedMs: restartExpectedMs ?? null });
    void this.#hooks.emitter(HOOKS.hostStopping).emit({ reason });
    for (const stop of this.#stops.reverse()) await stop();
    const refusal = new GatewayError("UNAVAILABLE", "the gateway is stopping", { retryAfterMs: 1_000 });
    this.#dispatcher.close(refusal);
    this.#http.close(refusal);
    await settled(drainMs, this.#clock, Promise.all([this.#dispatcher.idle(), this.#http.idle()]));
    await this.#webhooks.host.stop();
    await this.#kernel.stop();
    this.#internalSignal.abort();
    this.#door.closeAll(CLOSE.restart, "service restart");
    await this.#listener?.close();
    log.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
