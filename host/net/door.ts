/** Where WebSockets come in: opens connections, asks the gates, says hello, and knows who is there. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import {
  type Admission,
  type ConnectionInfo,
  type Denial,
  GatewayError,
  HOOKS,
  type Logger,
  type Principal,
} from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import {
  CLOSE,
  connectChallenge,
  type HelloOk,
  MAX_BUFFERED_BYTES,
  MAX_PAYLOAD_BYTES,
  PROTOCOL,
  RESUME_CAP,
  shutdown,
  tick,
  TICK_INTERVAL_MS,
} from "@svc/sdk/protocol";
import type { WebSocket } from "ws";
import type { Access } from "../auth/access.ts";
import { resolvePeer } from "../auth/client-address.ts";
import { type HookBus, refusalOf } from "../hooks/hook-bus.ts";
import type { LiveTables } from "../kernel/kind.ts";
import { events } from "../kernel/kinds/events.ts";
import { advertised } from "../kernel/kinds/methods.ts";
import { VERSION } from "../version.ts";
import type { Broadcaster } from "./broadcast.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import type { Dispatcher } from "./dispatch.ts";
import type { Accepted } from "./handshake.ts";

/** Told to who was connecting with a credential while it was changed or revoked. */
const REPLACED = "unauthorized: the credential was replaced meanwhile; connect again";

/** Connections that have not been accepted; of more the oldest goes. Choice: more than a burst of clients after a restart. */
const MOST_STRANGERS = 10_000;

export interface DoorOptions {
  readonly hooks: HookBus;
  readonly live: LiveTables;
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
  /** Not accepted yet, oldest first. */
  readonly #strangers = new Set<Connection>();
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
      admitDevice: hooks.emitter(HOOKS.admitDevice),
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
      onReady: (ready, accepted, hello) => this.#onReady(ready, accepted, hello),
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
    this.#strangers.add(connection);
    if (this.#strangers.size > MOST_STRANGERS) this.#turnOldestAway();
    if (this.#hooks.opened.isUsed()) void this.#hooks.opened.emit(connection.info);
  }

  #turnOldestAway(): void {
    const [oldest] = this.#strangers;
    if (!oldest) return;
    this.#strangers.delete(oldest); // it is cut off soon, whether it answers or not
    oldest.close(CLOSE.policy, "too many connections are waiting; connect again");
  }

  /** Lets nobody else in. */
  refuse(): void {
    this.#refusing = true;
  }

  closeAll(code: number, reason: string): void {
    for (const connection of [...this.#strangers, ...this.#ready]) connection.close(code, reason);
  }

  /** Closes the connections whose credential no longer counts. Spec: spec/README.md "revoking". */
  closeDead(reason: string): void {
    for (const connection of this.#ready) this.#closeIfDead(connection, reason);
  }

  /** @returns whether it did */
  #closeIfDead(connection: Connection, reason: string): boolean {
    const { principal } = connection.info;
    if (!principal || this.#options.access.authority.isLive(principal)) return false;
    connection.close(CLOSE.policy, reason);
    return true;
  }

  /** @throws GatewayError when the gateway stops or a gate says no */
  async #admit(
    info: ConnectionInfo,
    { params, clientId, principal, deviceId }: Accepted,
    fromPage: boolean,
  ): Promise<HelloOk> {
    if (this.#refusing) throw new GatewayError("UNAVAILABLE", "the gateway is stopping", { retryAfterMs: 1_000 });
    const { admit, deviceToken } = this.#hooks;
    let auth: HelloOk["auth"];
    if (admit.isUsed() || deviceId !== undefined) {
      const { auth: _secrets, ...connect } = params;
      const admission = { ...info, connect, clientId, principal, fromPage };
      const denial = await this.#denial(admission);
      if (denial) throw refusalOf(denial, "CONNECT_DENIED");
      const token = deviceId === undefined ? undefined : await deviceToken.emit(admission);
      auth = token && { ...token, scopes: [...token.scopes] };
    }
    const extra = await this.#hooks.hello.emit({});
    if (!this.#options.access.authority.isLive(principal)) throw refusal("AUTH_UNAUTHORIZED", REPLACED);
    const hello = this.#hello(info.id, extra, principal);
    if (auth) hello.auth = auth;
    if (params.caps?.includes(RESUME_CAP)) {
      const { cursor, missed } = this.#options.broadcaster.resume(params.resume);
      hello.resume = { cursor, complete: missed !== undefined };
    }
    return hello;
  }

  async #denial(admission: Admission): Promise<Denial | undefined> {
    // Who can read the state directory can take any plugin away: it may as well come in and mend it.
    if (admission.principal.provenance === "local") return undefined;
    const { admit, admitDevice } = this.#hooks;
    const denial = await admit.emit(admission);
    return denial ?? (admission.device === undefined ? undefined : admitDevice.emit(admission));
  }

  /** Spec: §2.3, protocol/frames-and-connect.md §11. */
  #hello(connId: string, extra: Record<string, unknown>, { scopes }: Principal): HelloOk {
    const { live, broadcaster, access, paths } = this.#options;
    return {
      type: "hello-ok",
      protocol: PROTOCOL,
      server: { version: VERSION, connId },
      features: {
        methods: [...advertised(live)],
        events: [connectChallenge.name, tick.name, shutdown.name, ...live.table(events).names()],
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

  /**
   * What a client missed is sent before anything new; both in one step, so that nothing comes between. Whoever can resume
   * also gets what was published since the cursor of its `hello-ok` was taken.
   */
  #onReady(connection: Connection, { params }: Accepted, { resume }: HelloOk): void {
    const { broadcaster } = this.#options;
    this.#strangers.delete(connection);
    this.#ready.add(connection);
    if (this.#closeIfDead(connection, REPLACED)) return;
    if (resume) {
      const since = (resume.complete ? params.resume : undefined) ?? resume.cursor;
      broadcaster.replay(broadcaster.resume(since).missed ?? [], connection);
    }
    broadcaster.add(connection);
    if (this.#hooks.ready.isUsed()) void this.#hooks.ready.emit(connection.info);
  }

  #onClosed(connection: Connection, code: number): void {
    this.#strangers.delete(connection);
    this.#ready.delete(connection);
    this.#options.broadcaster.remove(connection);
    if (this.#hooks.closed.isUsed()) void this.#hooks.closed.emit({ ...connection.info, code });
  }
}
