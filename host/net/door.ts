/** Where WebSockets come in: opens connections, asks the gates, says hello, and knows who is there. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import {
  type ConnectionInfo,
  connectChallenge,
  GatewayError,
  type HelloOk,
  HOOKS,
  type Logger,
  MAX_BUFFERED_BYTES,
  MAX_PAYLOAD_BYTES,
  PROTOCOL,
  shutdown,
  tick,
  TICK_INTERVAL_MS,
} from "@svc/sdk";
import type { WebSocket } from "ws";
import { type OriginPolicy, plainAddress } from "../auth/locality.ts";
import type { AuthSettings } from "../auth/mode.ts";
import { denialText, type HookBus } from "../hooks/hook-bus.ts";
import type { Registry } from "../kernel/registry.ts";
import { VERSION } from "../version.ts";
import type { Broadcaster } from "./broadcast.ts";
import { Connection } from "./connection.ts";
import type { Dispatcher } from "./dispatch.ts";
import type { Accepted } from "./handshake.ts";

export interface DoorOptions {
  readonly hooks: HookBus;
  readonly registry: Registry;
  readonly broadcaster: Broadcaster;
  readonly dispatcher: Dispatcher;
  readonly log: Logger;
  readonly auth: AuthSettings;
  readonly origins: OriginPolicy;
  /** Told to admins in `hello-ok`. */
  readonly paths: { readonly configPath: string; readonly stateDir: string };
  readonly handshakeTimeoutMs: number | undefined;
  readonly maxBufferedBytes: number | undefined;
}

export class Door {
  readonly #options: DoorOptions;
  readonly #all = new Set<Connection>();
  readonly #ready = new Set<Connection>();
  readonly #hooks;
  #refusing = false;

  constructor(options: DoorOptions) {
    this.#options = options;
    const { hooks } = options;
    this.#hooks = {
      opened: hooks.emitter(HOOKS.connectionOpened),
      authenticate: hooks.emitter(HOOKS.authenticate),
      admit: hooks.emitter(HOOKS.admit),
      hello: hooks.emitter(HOOKS.hello),
      ready: hooks.emitter(HOOKS.connectionReady),
      closed: hooks.emitter(HOOKS.connectionClosed),
    };
  }

  /** Accepted connections. */
  connections(): readonly ConnectionInfo[] {
    return [...this.#ready].map(({ info }) => info);
  }

  open(ws: WebSocket, socket: Duplex, request: IncomingMessage): void {
    const { log, dispatcher, auth, origins, handshakeTimeoutMs, maxBufferedBytes } = this.#options;
    const connection = new Connection({
      ws,
      socket,
      peer: { remoteAddress: plainAddress(request.socket.remoteAddress ?? ""), headers: request.headers },
      log,
      dispatcher,
      handshakeContext: { auth, origins, vouch: (attempt) => this.#hooks.authenticate.emit(attempt) },
      admit: (info, accepted) => this.#admit(info, accepted),
      onReady: (ready) => this.#onReady(ready),
      onClosed: (closed, code) => this.#onClosed(closed, code),
      handshakeTimeoutMs,
      maxBufferedBytes,
    });
    this.#all.add(connection);
    if (this.#hooks.opened.isUsed()) void this.#hooks.opened.emit(connection.info);
  }

  /** Lets nobody else in. */
  refuse(): void {
    this.#refusing = true;
  }

  closeAll(code: number, reason: string): void {
    for (const connection of this.#all) connection.close(code, reason);
  }

  /** @throws GatewayError when the gateway stops or a gate says no */
  async #admit(info: ConnectionInfo, { principal }: Accepted): Promise<HelloOk> {
    if (this.#refusing) throw new GatewayError("UNAVAILABLE", "the gateway is stopping", { retryAfterMs: 1_000 });
    const denial = await this.#hooks.admit.emit(info);
    if (denial) throw new GatewayError("INVALID_REQUEST", denialText(denial), { details: { code: "CONNECT_DENIED" } });
    const extra = await this.#hooks.hello.emit({});
    return this.#hello(info.id, extra, principal.scopes.includes("operator.admin"));
  }

  /** Spec: §2.3, protocol/frames-and-connect.md §11. */
  #hello(connId: string, extra: Record<string, unknown>, admin: boolean): HelloOk {
    const { registry, broadcaster, auth, paths } = this.#options;
    const advertised = [...registry.methods.values()].filter(({ method }) => method.advertised !== false);
    return {
      type: "hello-ok",
      protocol: PROTOCOL,
      server: { version: VERSION, connId },
      features: {
        methods: advertised.map(({ method }) => method.name),
        events: [connectChallenge.name, tick.name, shutdown.name, ...registry.events.keys()],
      },
      snapshot: {
        ...extra,
        stateVersion: broadcaster.stateVersion,
        uptimeMs: Math.round(process.uptime() * 1_000),
        authMode: auth.mode,
        ...(admin ? { configPath: paths.configPath, stateDir: paths.stateDir } : {}),
      },
      policy: {
        maxPayload: MAX_PAYLOAD_BYTES.afterConnect,
        maxBufferedBytes: MAX_BUFFERED_BYTES,
        tickIntervalMs: TICK_INTERVAL_MS,
      },
    };
  }

  #onReady(connection: Connection): void {
    this.#ready.add(connection);
    this.#options.broadcaster.add(connection);
    if (this.#hooks.ready.isUsed()) void this.#hooks.ready.emit(connection.info);
  }

  #onClosed(connection: Connection, code: number): void {
    this.#all.delete(connection);
    this.#ready.delete(connection);
    this.#options.broadcaster.remove(connection);
    if (this.#hooks.closed.isUsed()) void this.#hooks.closed.emit({ ...connection.info, code });
  }
}
