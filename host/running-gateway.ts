/** Starts and stops the assembled parts of a gateway in order, and implements the `Gateway` interface. */
import { setTimeout as wait } from "node:timers/promises";
import {
  type Audience,
  type ConnectionInfo,
  type EventSpec,
  GatewayError,
  HOOKS,
  type PayloadOf,
  type Principal,
} from "@svc/sdk";
import type { PluginReport, ReloadReport } from "@svc/sdk/plugins";
import { CLOSE, shutdown, tick, TICK_INTERVAL_MS } from "@svc/sdk/protocol";
import { writeLocalKey } from "./auth/local-key.ts";
import { isLoopback } from "./auth/locality.ts";
import { type AuthSettings, resolveBind } from "./auth/mode.ts";
import { actingFor } from "./auth/principal.ts";
import { settled } from "./clock.ts";
import { followConfig } from "./config/follow.ts";
import { withoutForeign } from "./config/foreign.ts";
import type { Paths } from "./config/paths.ts";
import { isConfigured, unownedKeys } from "./config/sections.ts";
import type { ConfigStore } from "./config/store.ts";
import type { HostContext } from "./context.ts";
import { routes } from "./kernel/kinds/routes.ts";
import type { Leaving } from "./leaving.ts";
import type { HttpHandler } from "./net/http/handler.ts";
import type { Readiness } from "./net/http/probes.ts";
import type { PluginSockets } from "./net/http/plugin-sockets.ts";
import { upgradeRefusal } from "./net/http/upgrades.ts";
import { securityHeaders } from "./net/http/security-headers.ts";
import { connectionRoom } from "./net/descriptors.ts";
import { listen, type Listener } from "./net/listen.ts";
import { PortCertificate } from "./net/tls/port-certificate.ts";
import type { Admission } from "./net/ws/admission.ts";
import type { Broadcaster } from "./net/ws/broadcast.ts";
import type { Connections } from "./net/ws/connections.ts";
import type { Dispatcher } from "./net/ws/dispatch.ts";
import type { Gateway, StopOptions } from "./options.ts";
import type { HostRestarts } from "./restarts.ts";
import type { StartupReport } from "./startup-report.ts";
import { VERSION } from "./version.ts";
import type { HostWebhooks } from "./webhooks/webhooks.ts";

const DEFAULT_DRAIN_MS = 5_000;
/** Maximum milliseconds to wait for calls in flight once no plugin is busy. */
const CALLS_MS = 5_000;
/** Milliseconds between two checks for busy plugins. */
const BUSY_POLL_MS = 100;

/** Choice: milliseconds for which a load balancer that looks at `/readyz` gets to know that the gateway leaves; age of its last look. */
const PROBE_MS = 5_000;
const PROBED_WITHIN_MS = 30_000;

const LAST_GOOD = "the gateway runs with the last configuration that worked";

export interface GatewayParts {
  readonly context: HostContext;
  readonly admission: Admission;
  readonly broadcaster: Broadcaster;
  readonly connections: Connections;
  readonly dispatcher: Dispatcher;
  readonly http: HttpHandler;
  readonly pluginSockets: PluginSockets;
  readonly leaving: Leaving;
  readonly restarts: HostRestarts;
  readonly webhooks: HostWebhooks;
  readonly report: StartupReport;
}

/** The file was replaced with the configuration that several gateways share: the start begins again. */
export class ConfigReplaced extends Error {
  override readonly name = "ConfigReplaced";
}

export class RunningGateway implements Gateway {
  readonly #parts: GatewayParts;
  readonly #published;
  /** Signal of internal calls; aborts when the gateway has stopped. */
  readonly #insideCalls = new AbortController();
  readonly #stops: (() => void | Promise<void>)[] = [];
  #listener: Listener | undefined;
  /** Monotonic ms before which too many connections are not logged again. */
  #quietUntil = Number.NEGATIVE_INFINITY;
  /** Monotonic ms. */
  #probedAt = Number.NEGATIVE_INFINITY;
  #certificate: PortCertificate | undefined;
  #stopped: Promise<void> | undefined;

  constructor(parts: GatewayParts) {
    this.#parts = parts;
    this.#published = parts.context.hooks.emitter(HOOKS.eventPublished);
  }

  /** @throws StartupRefusal */
  async start(config: ConfigStore): Promise<void> {
    const { context, webhooks } = this.#parts;
    const { settings, clock, log, kernel, hooks, planner } = context;
    const addresses = resolveBind(settings.config.gateway, settings.auth());
    try {
      await kernel.boot(planner.plan(settings.file), this.#lent(), () => this.#refuseWrongSections());
      log.secrets.know(settings.secrets(kernel.sections()));
      settings.refuse(webhooks.pluginIssues(settings.config));
      if (await config.settle()) throw new ConfigReplaced();
      await this.#listen(addresses);
    } catch (error) {
      await kernel.stop();
      await this.#listener?.close();
      throw error;
    }
    await settings.keepAsLastGood(log);
    this.#stops.push(clock.setInterval(() => this.#publish(tick, { ts: clock.now() }), TICK_INTERVAL_MS));
    this.#stops.push(() => this.#parts.restarts.stop());
    this.#report();
    const { configPath } = settings.paths;
    if (settings.options.config === undefined) this.#stops.push(followConfig(config, { configPath, clock, log }));
    log.info({ version: VERSION, url: this.url, pid: process.pid }, "the gateway is up");
    void hooks.emitter(HOOKS.hostReady).emit({ url: this.url });
  }

  /** @throws StartupRefusal naming every error in the file */
  async #refuseWrongSections(): Promise<void> {
    const { settings, kernel } = this.#parts.context;
    await kernel.importChecks((plugin) => isConfigured(plugin, settings.file));
    settings.refuseWrong(kernel.sections());
  }

  /** The host functions passed to plugins. */
  #lent(): Parameters<HostContext["kernel"]["boot"]>[1] {
    const { context, broadcaster, dispatcher } = this.#parts;
    const { signal } = this.#insideCalls;
    return {
      clock: context.clock,
      stateDir: this.paths.stateDir,
      publish: (event, payload, audience) => this.#publish(event, payload, audience),
      forward: (event, payload, connections) =>
        broadcaster.publish({ ...event, snapshot: false }, payload, { connections }),
      actingFor,
      // The same pipeline as for a call from a socket.
      invoke: async (method: string, params: unknown, principal: Principal) =>
        dispatcher.call({ method, params, principal, connection: undefined, signal, accept: () => undefined }),
    };
  }

  #publish(event: EventSpec, payload: unknown, audience: Audience = {}): void {
    this.#parts.broadcaster.publish(event, payload, audience);
    if (!this.#published.isUsed(event.name)) return;
    this.#published.emit({ event: event.name, payload, isTargeted: audience.connections !== undefined }, event.name);
  }

  async #listen(addresses: readonly string[]): Promise<void> {
    const { context, http, connections, pluginSockets } = this.#parts;
    const { settings, access, clock, log } = context;
    const tls = () => settings.config.gateway.tls ?? {};
    if (tls().enabled === true) {
      this.#certificate = await PortCertificate.open({ settings: tls, places: settings.paths, addresses, clock, log });
    }
    this.#listener = await listen({
      ...(this.#certificate ? { tls: this.#certificate.current.options } : {}),
      addresses,
      port: settings.port,
      headers: () => securityHeaders(settings.config.gateway.http?.securityHeaders?.strictTransportSecurity),
      onRequest: (request, response) => {
        if (this.#parts.leaving.hasBegun) response.setHeader("Connection", "close"); // the next request goes to another gateway
        return http.handle(request, response);
      },
      isLeaving: () => this.#parts.leaving.hasBegun,
      refuses: (target) => upgradeRefusal(target, context.kinds.table(routes).list()),
      takes: (upgrade) => pluginSockets.take(upgrade),
      onSocket: (ws, socket, request) => connections.open(ws, socket, request),
      maxConnections: connectionRoom(),
      onTooMany: () => this.#tooMany(),
      mostOf: (address) => access.mostSocketsOf(address),
    });
    if (this.#certificate) this.#stops.push(this.#certificate.follow(() => this.#useCertificate()));
    access.configure(settings.auth(), settings.config.gateway, this.port); // the real port
    writeLocalKey(this.paths.credentialsDir, access.localKey);
    await access.keepEnded();
  }

  #useCertificate(): void {
    if (this.#certificate) this.#listener?.useCertificate(this.#certificate.current.options);
    this.#parts.report.tlsFingerprint = this.tlsFingerprint;
    this.#parts.report.write();
  }

  /** Called after a change of `gateway.tls`: other certificate files may apply. */
  async lookAtCertificate(): Promise<void> {
    await this.#certificate?.look(() => this.#useCertificate());
  }

  #tooMany(): void {
    const { clock, log } = this.#parts.context;
    if (clock.elapsed() < this.#quietUntil) return;
    this.#quietUntil = clock.elapsed() + 60_000;
    const message =
      "the limit of open files allows no more connections; raise it (ulimit -n, LimitNOFILE) to accept more";
    log.warn({}, message);
  }

  #report(): void {
    const { context, webhooks, report } = this.#parts;
    const { settings, kernel, access, log } = context;
    const unused = unownedKeys(settings.file, kernel.sections());
    const { fileRefusal } = settings;
    const { withoutEffect } = withoutForeign(settings.file.resolved);
    if (withoutEffect.length > 0)
      log.info(
        { keys: withoutEffect.map(({ path }) => path) },
        "the configuration has keys without effect; svc config validate shows the reasons",
      );
    if (fileRefusal !== undefined) log.warn({ refusal: fileRefusal }, LAST_GOOD);
    report.url = this.url;
    report.tlsFingerprint = this.tlsFingerprint;
    report.warnings.push(
      ...(fileRefusal === undefined ? [] : [`${LAST_GOOD}: ${fileRefusal}`]),
      ...webhooks.warnings(),
      ...unused.map(({ path, message }) => `${path}: ${message}`),
      ...access.warnings(),
    );
    report.write();
  }

  crashed(error: unknown): string {
    return this.#parts.context.log.crashed(error);
  }
  get paths(): Paths {
    return this.#parts.context.settings.paths;
  }
  get warnings(): readonly string[] {
    return this.#parts.report.warnings;
  }
  get auth(): AuthSettings {
    return this.#parts.context.access.authority.settings;
  }
  get aliases(): readonly string[] {
    return this.#parts.context.access.aliases;
  }
  get port(): number {
    return this.#listener?.port ?? 0;
  }
  get isOpen(): boolean {
    return this.#listener?.addresses.some((address) => !isLoopback(address)) ?? false;
  }
  get url(): string {
    const [address = "127.0.0.1"] = this.#listener?.addresses ?? [];
    return `${this.#certificate ? "wss" : "ws"}://${address === "0.0.0.0" ? "127.0.0.1" : address}:${this.port}`;
  }
  get tlsFingerprint(): string | undefined {
    return this.#certificate?.current.fingerprint;
  }
  plugins(): readonly PluginReport[] {
    return this.#parts.context.kernel.reports();
  }
  readiness(): Readiness {
    this.#probedAt = performance.now();
    return { isStopping: this.#stopped !== undefined, missing: this.#parts.context.kernel.missing() };
  }
  busy(): readonly string[] {
    return this.#parts.context.kernel.busy();
  }
  get others(): number {
    return this.#parts.leaving.others;
  }
  connections(): readonly ConnectionInfo[] {
    return this.#parts.connections.list();
  }
  async reload(id: string): Promise<ReloadReport> {
    const { kernel, planner, settings } = this.#parts.context;
    const report = await kernel.reload(id, planner.developed(id, settings.file));
    this.#parts.report.write();
    return report;
  }
  holdings(): Readonly<Record<string, number>> {
    const { kinds, hooks } = this.#parts.context;
    return { ...kinds.sizes(), taps: hooks.taps().length };
  }

  stop(reason = "gateway stopping", options: StopOptions = {}): Promise<void> {
    return (this.#stopped ??= this.#shutDown(reason, options));
  }

  async #shutDown(reason: string, { restartExpectedMs, drainMs }: StopOptions): Promise<void> {
    const { context, admission, broadcaster, connections, dispatcher, http } = this.#parts;
    const { settings, clock, log, kernel, hooks } = context;
    log.info({ reason }, "the gateway is stopping");
    this.#parts.restarts.stop();
    void hooks.emitter(HOOKS.hostStopping).emit({ reason });
    const patience = drainMs ?? settings.options.drainMs ?? DEFAULT_DRAIN_MS;
    const fields = { reason, restartExpectedMs: restartExpectedMs ?? null };
    await Promise.all([this.#runsEnded(patience), patience > 0 && this.#leaveClients(fields)]);
    this.#listener?.refuse();
    admission.refuse();
    broadcaster.publish(shutdown, fields);
    for (const stop of this.#stops.reverse()) await stop();
    const refusal = new GatewayError("UNAVAILABLE", "the gateway is stopping", { retryAfterMs: 1_000 });
    dispatcher.close(refusal);
    http.close(refusal);
    await settled(Math.min(patience, CALLS_MS), clock, Promise.all([dispatcher.idle(), http.idle()]));
    await kernel.stop();
    this.#insideCalls.abort();
    connections.closeAll(CLOSE.restart, "service restart");
    await this.#listener?.close();
    log.close();
  }

  /** Sends the clients to the other gateways, if there are any, before this one has stopped. */
  async #leaveClients(fields: PayloadOf<typeof shutdown>): Promise<void> {
    const { leaving, admission, broadcaster, connections } = this.#parts;
    if (leaving.others === 0) return;
    leaving.begin();
    admission.refuse();
    const isProbed = performance.now() - this.#probedAt < PROBED_WITHIN_MS;
    await Promise.all([
      isProbed && wait(PROBE_MS),
      connections.closeInTurn("service restart", (id) => broadcaster.publish(shutdown, fields, { connections: [id] })),
    ]);
  }

  /** Waits until no plugin is busy. Serves clients meanwhile, since plugins may be waiting for them. */
  async #runsEnded(patienceMs: number): Promise<void> {
    const { kernel, log } = this.#parts.context;
    const givenUpAt = performance.now() + patienceMs; // real time: a stopped test clock must not block a stop
    const plugins = kernel.busy();
    if (plugins.length === 0) return;
    log.info({ plugins, patienceMs }, "the stop waits for work in flight");
    while (kernel.busy().length > 0 && performance.now() < givenUpAt) await wait(BUSY_POLL_MS);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
