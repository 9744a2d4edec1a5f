/** Where WebSockets come in: opens connections, asks the gates, says hello, and knows who is there. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import {
  CLOSE,
  type ConnectionInfo,
  connectChallenge,
  GatewayError,
  type HelloOk,
  HOOKS,
  type Logger,
  MAX_BUFFERED_BYTES,
  MAX_PAYLOAD_BYTES,
  type Principal,
  PROTOCOL,
  RESUME_CAP,
  shutdown,
  tick,
  TICK_INTERVAL_MS,
} from "@svc/sdk";
import type { WebSocket } from "ws";
import type { Access } from "../auth/access.ts";
import { resolvePeer } from "../auth/client-address.ts";
import { type HookBus, refusalOf } from "../hooks/hook-bus.ts";
import type { Registry } from "../kernel/registry.ts";
import { VERSION } from "../version.ts";
import type { Broadcaster } from "./broadcast.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import type { Dispatcher } from "./dispatch.ts";
import type { Accepted } from "./handshake.ts";

export interface DoorOptions {
  readonly hooks: HookBus;
  readonly registry: Registry;
  readonly broadcaster: Broadcaster;
  readonly dispatcher: Dispatcher;
  readonly log: Logger;
  readonly access: Access;
  /** Told to admins in `hello-ok`. */
  readonly paths: { readonly configPath: string; readonly stateDir: string };
  readonly handshakeTimeoutMs: number | undefined;
  readonly maxBufferedBytes: number | undefined;
}

export class Door {
  readonly #options: DoorOptions;
  readonly #shared: ConnectionOptions;
  readonly #all = new Set<Connection>();
  readonly #ready = new Set<Connection>();
  readonly #hooks;
  #refusing = false;

  constructor(options: DoorOptions) {
    this.#options = options;
    const { hooks, log, dispatcher, access, handshakeTimeoutMs, maxBufferedBytes } = options;
    this.#hooks = {
      opened: hooks.emitter(HOOKS.connectionOpened),
      authenticate: hooks.emitter(HOOKS.authenticate),
      pairing: hooks.emitter(HOOKS.pairing),
      admit: hooks.emitter(HOOKS.admit),
      deviceToken: hooks.emitter(HOOKS.deviceToken),
      hello: hooks.emitter(HOOKS.hello),
      ready: hooks.emitter(HOOKS.connectionReady),
      closed: hooks.emitter(HOOKS.connectionClosed),
    };
    this.#shared = {
      log,
      dispatcher,
      handshakeContext: {
        access,
        vouch: (attempt) => this.#hooks.authenticate.emit(attempt),
        pairing: (attempt) => this.#hooks.pairing.emit(attempt),
      },
      admit: (info, accepted, fromPage) => this.#admit(info, accepted, fromPage),
      onReady: (ready, accepted) => this.#onReady(ready, accepted),
      onClosed: (closed, code) => this.#onClosed(closed, code),
      handshakeTimeoutMs,
      maxBufferedBytes,
    };
  }

  /** Accepted connections. */
  connections(): readonly ConnectionInfo[] {
    return [...this.#ready].map(({ info }) => info);
  }

  open(ws: WebSocket, socket: Duplex, request: IncomingMessage): void {
    const peer = resolvePeer(request.socket.remoteAddress, request.headers, this.#options.access.proxies);
    const connection = new Connection(ws, socket, peer, this.#shared);
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

  /** Closes the connections whose credential no longer counts. Spec: spec/README.md "revoking". */
  closeDead(reason: string): void {
    for (const connection of this.#ready) this.#closeIfDead(connection, reason);
  }

  #closeIfDead(connection: Connection, reason: string): void {
    const { principal } = connection.info;
    if (principal && !this.#options.access.authority.isLive(principal)) connection.close(CLOSE.policy, reason);
  }

  /** @throws GatewayError when the gateway stops or a gate says no */
  async #admit(info: ConnectionInfo, { params, principal, deviceId }: Accepted, fromPage: boolean): Promise<HelloOk> {
    if (this.#refusing) throw new GatewayError("UNAVAILABLE", "the gateway is stopping", { retryAfterMs: 1_000 });
    const { admit, deviceToken } = this.#hooks;
    const asksForToken = deviceId !== undefined && deviceToken.isUsed();
    let auth: HelloOk["auth"];
    if (admit.isUsed() || asksForToken) {
      const { auth: _secrets, ...connect } = params;
      const admission = { ...info, connect, principal, fromPage };
      const denial = await admit.emit(admission);
      if (denial) throw refusalOf(denial, "INVALID_REQUEST", { code: "CONNECT_DENIED" });
      const token = asksForToken ? await deviceToken.emit(admission) : undefined;
      auth = token && { ...token, scopes: [...token.scopes] };
    }
    const extra = await this.#hooks.hello.emit({});
    const hello = this.#hello(info.id, extra, principal);
    if (auth) hello.auth = auth;
    if (params.caps?.includes(RESUME_CAP)) {
      const { cursor, missed } = this.#options.broadcaster.resume(params.resume);
      hello.resume = { cursor, complete: missed !== undefined };
    }
    return hello;
  }

  /** Spec: §2.3, protocol/frames-and-connect.md §11. */
  #hello(connId: string, extra: Record<string, unknown>, { scopes }: Principal): HelloOk {
    const { registry, broadcaster, access, paths } = this.#options;
    return {
      type: "hello-ok",
      protocol: PROTOCOL,
      server: { version: VERSION, connId },
      features: {
        methods: registry.advertisedMethods(),
        events: [connectChallenge.name, tick.name, shutdown.name, ...registry.events.keys()],
      },
      snapshot: {
        ...extra,
        stateVersion: broadcaster.stateVersion,
        uptimeMs: Math.round(process.uptime() * 1_000),
        authMode: access.authority.settings.mode,
        ...(scopes.includes("operator.admin") ? { configPath: paths.configPath, stateDir: paths.stateDir } : {}),
      },
      policy: {
        maxPayload: MAX_PAYLOAD_BYTES.afterConnect,
        maxBufferedBytes: MAX_BUFFERED_BYTES,
        tickIntervalMs: TICK_INTERVAL_MS,
      },
    };
  }

  /** What a client missed is sent before anything new; both in one step, so that nothing comes between. */
  #onReady(connection: Connection, { params }: Accepted): void {
    const { broadcaster } = this.#options;
    this.#ready.add(connection);
    if (connection.resumes && params.resume) {
      broadcaster.replay(broadcaster.resume(params.resume).missed ?? [], connection);
    }
    broadcaster.add(connection);
    this.#closeIfDead(connection, "unauthorized: the credential was replaced meanwhile; connect again");
    if (this.#hooks.ready.isUsed()) void this.#hooks.ready.emit(connection.info);
  }

  #onClosed(connection: Connection, code: number): void {
    this.#all.delete(connection);
    this.#ready.delete(connection);
    this.#options.broadcaster.remove(connection);
    if (this.#hooks.closed.isUsed()) void this.#hooks.closed.emit({ ...connection.info, code });
  }
}
