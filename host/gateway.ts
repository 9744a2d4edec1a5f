/**
 * Puts a gateway together: configuration, credentials, plugins, port. Every other file of the host has one of these
 * as its subject; this one only says what is connected to what, and in which order it starts and stops.
 */
import { writeFileSync } from "node:fs";
import {
  type Clock,
  CLOSE,
  type ConnectionInfo,
  GatewayError,
  HOOKS,
  type Plugin,
  type Principal,
  shutdown,
  tick,
  TICK_INTERVAL_MS,
} from "@svc/sdk";
import { ConfigStore, GatewayInfo, type PluginReport } from "@svc/sdk/services";
import type { OriginPolicy } from "./auth/locality.ts";
import { type AuthSettings, resolveAuth, resolveBind, StartupRefusal } from "./auth/mode.ts";
import { pluginPrincipal } from "./auth/principal.ts";
import { keepToken } from "./auth/secret.ts";
import { systemClock } from "./clock.ts";
import { type ConfigFile, readConfigFile } from "./config/file.ts";
import type { HostConfig } from "./config/host-schema.ts";
import { type Environment, type Paths, preparePaths, resolvePaths } from "./config/paths.ts";
import { hostConfig, pluginSection, unownedKeys } from "./config/sections.ts";
import { createConfigStore } from "./config/store.ts";
import { HookBus } from "./hooks/hook-bus.ts";
import { Kernel } from "./kernel/kernel.ts";
import { createPluginFinder, type PluginFinder } from "./kernel/load.ts";
import { servesMethod } from "./kernel/manifest.ts";
import { Registry } from "./kernel/registry.ts";
import { configRefusal, planPlugins, portFrom } from "./startup.ts";
import { createLogger, type LogLevel, type RootLogger } from "./log.ts";
import { Broadcaster } from "./net/broadcast.ts";
import { Dispatcher } from "./net/dispatch.ts";
import { Door } from "./net/door.ts";
import { createHttpHandler } from "./net/http.ts";
import { listen, type Listener } from "./net/listen.ts";
import { VERSION } from "./version.ts";

export interface GatewayOptions {
  /** Exactly these plugins: values, ids, package names or paths. Default: `plugins.use` of the configuration, else the full bundle. */
  readonly plugins?: readonly (Plugin | string)[];
  /** Used instead of the configuration file, which is not read then. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Default: `SVC_GATEWAY_PORT`, `gateway.port`, 18789. 0 picks a free port. */
  readonly port?: number;
  /** Default: `SVC_STATE_DIR`, else `~/.svc`. */
  readonly stateDir?: string;
  /** Default: the process environment. */
  readonly env?: Environment;
  readonly clock?: Clock;
  /** Default: `logging.level`, else `info`. */
  readonly logLevel?: LogLevel;
  /** Compare every result with its schema. Default false; on in tests. */
  readonly checkResults?: boolean;
  /** Milliseconds a stop waits for calls in flight. Default 5000. */
  readonly drainMs?: number;
  /** Milliseconds a socket has for `connect`. Default 10000. */
  readonly handshakeTimeoutMs?: number;
  /** Bytes a slow reader may leave unread. Default 52428800. */
  readonly maxBufferedBytes?: number;
}

export interface Gateway {
  /** `ws://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
  readonly auth: AuthSettings;
  readonly paths: Paths;
  plugins(): readonly PluginReport[];
  connections(): readonly ConnectionInfo[];
  /** Things an operator should know about the start. */
  readonly warnings: readonly string[];
  /** Drains, tells clients, stops plugins in reverse, closes. Safe to call twice. */
  stop(reason?: string): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a gateway.
 * @throws StartupRefusal the configuration of the host is wrong, the combination is unsafe or the port is taken.
 * A plugin that fails is no reason to throw: see `plugins()`.
 */
export async function createGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const env = options.env ?? process.env;
  const paths = resolvePaths(options.stateDir === undefined ? env : { ...env, SVC_STATE_DIR: options.stateDir });
  preparePaths(paths);
  const file = options.config ? inlineConfig(paths, options.config) : await readConfigFile(paths.configPath, env);
  const { config, issues } = hostConfig(file);
  if (issues.length > 0) throw new StartupRefusal(configRefusal(file, issues));
  const auth = resolveAuth(config.gateway, env, () => keepToken(paths.credentialsDir));
  const log = createLogger(options.logLevel ?? config.logging.level ?? "info");
  const gateway = new RunningGateway({ options, env, paths, file, config, auth, log });
  await gateway.start();
  return gateway;
}

function inlineConfig({ configPath }: Paths, config: Readonly<Record<string, unknown>>): ConfigFile {
  return { path: configPath, exists: false, text: "", hash: "", parsed: config, resolved: config, issues: [] };
}

interface Parts {
  readonly options: GatewayOptions;
  readonly env: Environment;
  readonly paths: Paths;
  readonly file: ConfigFile;
  readonly config: HostConfig;
  readonly auth: AuthSettings;
  readonly log: RootLogger;
}

class RunningGateway implements Gateway {
  readonly auth: AuthSettings;
  readonly paths: Paths;
  readonly warnings: string[] = [];
  readonly #parts: Parts;
  readonly #clock: Clock;
  readonly #hooks = new HookBus();
  readonly #registry = new Registry(this.#hooks);
  readonly #broadcaster = new Broadcaster();
  readonly #dispatcher: Dispatcher;
  readonly #kernel: Kernel;
  readonly #finder: PluginFinder;
  readonly #door: Door;
  readonly #startedAt: number;
  readonly #internalSignal = new AbortController();
  #listener: Listener | undefined;
  #stopTick: (() => void) | undefined;
  #stopped: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { options, auth, paths, log, file, env, config } = parts;
    this.#parts = parts;
    this.auth = auth;
    this.paths = paths;
    this.#clock = options.clock ?? systemClock;
    this.#finder = createPluginFinder({ configDir: paths.configDir, cacheDir: paths.cacheDir, home: paths.home });
    this.#startedAt = this.#clock.now();
    const absentProvider = (method: string) => this.#kernel.absentProvider(method);
    this.#dispatcher = new Dispatcher({
      registry: this.#registry,
      hooks: this.#hooks,
      log,
      absentProvider,
      checkResults: options.checkResults ?? false,
    });
    this.#kernel = new Kernel({
      log,
      clock: this.#clock,
      hooks: this.#hooks,
      registry: this.#registry,
      surroundings: {
        clock: this.#clock,
        hooks: this.#hooks,
        registry: this.#registry,
        stateDir: paths.stateDir,
        publish: (event, payload, audience) => this.#broadcaster.publish(event, payload, audience),
        invoke: (method, params, principal) => this.#invoke(method, params, principal),
      },
      configure: (plugin) => pluginSection(plugin, file),
      logFor: (id) => log.child({ plugin: id }),
      principalFor: pluginPrincipal,
      unloaded: (method) => this.#unloadedProvider(method),
    });
    this.#door = new Door({
      hooks: this.#hooks,
      registry: this.#registry,
      broadcaster: this.#broadcaster,
      dispatcher: this.#dispatcher,
      log,
      auth,
      origins: originPolicy(config),
      paths,
      handshakeTimeoutMs: options.handshakeTimeoutMs,
      maxBufferedBytes: options.maxBufferedBytes,
    });
    this.#registry.provide(GatewayInfo, this.#info());
    this.#registry.provide(
      ConfigStore,
      createConfigStore({ paths, env, version: VERSION, owners: () => this.#kernel.sections() }),
    );
  }

  async start(): Promise<void> {
    const { options, config, file, env } = this.#parts;
    const addresses = resolveBind(config.gateway, this.auth);
    const plan = planPlugins(this.#finder, config.plugins, options.plugins);
    const port = options.port ?? portFrom(env, config); // refused before anything runs
    await this.#kernel.boot(plan);
    this.warnings.push(...unownedKeys(file, this.#kernel.sections()).map(({ path, message }) => `${path}: ${message}`));
    try {
      const onRequest = createHttpHandler({
        registry: this.#registry,
        hooks: this.#hooks,
        log: this.#parts.log,
        auth: this.auth,
        origins: originPolicy(config),
      });
      this.#listener = await listen({
        addresses,
        port,
        onRequest,
        onSocket: (ws, socket, request) => this.#door.open(ws, socket, request),
      });
    } catch (error) {
      await this.#kernel.stop();
      throw error;
    }
    this.#stopTick = this.#clock.setInterval(
      () => this.#broadcaster.publish(tick, { ts: this.#clock.now() }),
      TICK_INTERVAL_MS,
    );
    this.#writeReport();
    void this.#hooks.emitter(HOOKS.hostReady).emit({ url: this.url });
  }

  get port(): number {
    return this.#listener?.port ?? 0;
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

  #info(): GatewayInfo {
    const listener = () => (this.#listener ? this.url : undefined);
    return {
      version: VERSION,
      startedAt: this.#startedAt,
      stateDir: this.paths.stateDir,
      configPath: this.paths.configPath,
      authMode: this.auth.mode,
      get url() {
        return listener();
      },
      plugins: () => this.plugins(),
      connections: () => this.connections(),
    };
  }

  /** An installed plugin that serves the method and was not asked for. */
  #unloadedProvider(method: string): PluginReport | undefined {
    for (const source of this.#finder.bundle()) {
      const manifest = "load" in source ? source.manifest : undefined;
      if (!manifest || !servesMethod(manifest, method)) continue;
      return {
        id: manifest.id,
        version: manifest.version,
        state: "disabled",
        reason: "add it to plugins.use",
        generation: 0,
        errors: 0,
        inert: [],
      };
    }
    return undefined;
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
    const report = {
      version: VERSION,
      startedAt: this.#startedAt,
      url: this.url,
      plugins: this.plugins(),
      warnings: this.warnings,
    };
    try {
      writeFileSync(this.paths.startupReport, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 });
    } catch (error) {
      this.#parts.log.warn({ err: error }, "the startup report could not be written");
    }
  }

  stop(reason = "gateway stopping"): Promise<void> {
    return (this.#stopped ??= this.#shutDown(reason));
  }

  async #shutDown(reason: string): Promise<void> {
    const { drainMs = 5_000 } = this.#parts.options;
    this.#listener?.refuse();
    this.#door.refuse();
    this.#stopTick?.();
    this.#broadcaster.publish(shutdown, { reason, restartExpectedMs: null });
    void this.#hooks.emitter(HOOKS.hostStopping).emit({ reason });
    this.#dispatcher.close(new GatewayError("UNAVAILABLE", "the gateway is stopping", { retryAfterMs: 1_000 }));
    let cancel = () => {};
    const late = new Promise<void>((resolve) => (cancel = this.#clock.setTimeout(resolve, drainMs)));
    await Promise.race([this.#dispatcher.idle(), late]);
    cancel();
    await this.#kernel.stop();
    this.#internalSignal.abort();
    this.#door.closeAll(CLOSE.restart, "service restart");
    await this.#listener?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

function originPolicy({ gateway }: HostConfig): OriginPolicy {
  return { allowedOrigins: gateway.controlUi?.allowedOrigins ?? [] };
}
