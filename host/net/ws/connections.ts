/** The WebSockets of a gateway: pending and admitted connections. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { type ConnectionInfo, HOOKS } from "@svc/sdk";
import { CLOSE, type HelloOk } from "@svc/sdk/protocol";
import type { WebSocket } from "ws";
import type { Access } from "../../auth/access.ts";
import { type Peer, resolvePeer } from "../../auth/client-address.ts";
import { isLoopback } from "../../auth/locality.ts";
import type { HookBus } from "../../hooks/hook-bus.ts";
import { type Admission, REPLACED } from "./admission.ts";
import type { Broadcaster } from "./broadcast.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { AddressCount } from "../address-count.ts";
import type { Dispatcher } from "./dispatch.ts";
import type { Identified } from "./handshake.ts";
import { Backlog } from "./outbox.ts";

/**
 * Maximum number of connections not admitted yet; one more closes the oldest. Choice: more than a burst of clients
 * after a restart.
 */
const MAX_PENDING = 10_000;
/** Choice: milliseconds between two connections that a leaving gateway closes, and for all of them. */
const CLOSE_EACH_MS = 20;
const CLOSE_WITHIN_MS = 20_000;

export interface ConnectionsOptions extends Pick<ConnectionOptions, "log" | "handshakeTimeoutMs" | "maxBufferedBytes"> {
  readonly hooks: HookBus;
  readonly admission: Admission;
  readonly broadcaster: Broadcaster;
  readonly dispatcher: Dispatcher;
  readonly access: Access;
  /** Tells the other gateways about an admitted connection; `undefined`: it has closed. */
  readonly share: (id: string, connection: ConnectionInfo | undefined) => void;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #shared: ConnectionOptions;
  /** Not admitted yet, oldest first. */
  readonly #pending = new Set<Connection>();
  readonly #admitted = new Set<Connection>();
  readonly #slow = new Set<WebSocket>();
  readonly #counts = new AddressCount();
  readonly #hooks;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { hooks } = options;
    this.#hooks = {
      opened: hooks.emitter(HOOKS.connectionOpened),
      ready: hooks.emitter(HOOKS.connectionReady),
      closed: hooks.emitter(HOOKS.connectionClosed),
    };
    this.#shared = {
      ...options,
      backlog: new Backlog(),
      slow: this.#slow,
      newId: () => options.broadcaster.connectionId(),
      onReady: (ready, accepted, hello) => this.#onReady(ready, accepted, hello),
      onClosed: (closed, code) => this.#onClosed(closed, code),
    };
  }

  /** Admitted connections. */
  list(): readonly ConnectionInfo[] {
    return [...this.#admitted].map(({ info }) => info);
  }

  open(ws: WebSocket, socket: Duplex, request: IncomingMessage): void {
    const peer = resolvePeer(request.socket.remoteAddress, request.headers, this.#options.access.proxies);
    const connection = new Connection(ws, socket, peer, this.#shared);
    this.#pending.add(connection);
    if (this.#isOneTooMany(peer, ws)) return connection.close(CLOSE.policy, "too many connections from this address");
    if (this.#pending.size > MAX_PENDING) this.#closeOldest();
    if (this.#hooks.opened.isUsed()) void this.#hooks.opened.emit(connection.info);
  }

  /** Counts the connection for its address until it closes; loopback is not counted. @returns whether it exceeds the limit */
  #isOneTooMany({ clientAddress, remoteAddress }: Peer, ws: WebSocket): boolean {
    const address = clientAddress ?? remoteAddress;
    if (isLoopback(address)) return false;
    const count = this.#counts.add(address);
    ws.once("close", () => this.#counts.remove(address));
    const { maxConnectionsPerAddress: most } = this.#options.access;
    return most > 0 && count > most;
  }

  #closeOldest(): void {
    const [oldest] = this.#pending;
    if (!oldest) return;
    this.#pending.delete(oldest); // a client that ignores the close is terminated soon
    oldest.close(CLOSE.policy, "too many connections are pending; connect again");
  }

  /** Closes the connections that get events: they have missed some. Their clients connect again, and read what they show. */
  closeAdmitted(reason: string): void {
    for (const connection of this.#admitted) connection.close(CLOSE.restart, reason);
  }

  /**
   * Closes the connections of operators, one after the other, so that their clients do not come back elsewhere all at once. Nodes stay: runs use them.
   * @param closing called before each
   */
  async closeInTurn(reason: string, closing: (id: string) => void): Promise<void> {
    const leaving = [...this.#admitted].filter(({ info }) => info.principal?.role !== "node");
    const stepMs = Math.min(CLOSE_EACH_MS, CLOSE_WITHIN_MS / leaving.length);
    const begun = performance.now();
    let closed = 0;
    for (const connection of leaving) {
      closing(connection.id);
      connection.close(CLOSE.restart, reason);
      const waitMs = begun + ++closed * stepMs - performance.now();
      if (waitMs > 0) await pause(waitMs);
    }
  }

  closeAll(code: number, reason: string): void {
    for (const ws of this.#slow) ws.terminate(); // a stop does not wait for slow readers
    for (const connection of [...this.#pending, ...this.#admitted]) connection.close(code, reason);
  }

  /** Closes the connections whose credential is no longer valid. Spec: spec/README.md "revoking". */
  closeDead(reason: string): void {
    for (const connection of this.#admitted) this.#closeIfDead(connection, reason);
  }

  /** @returns whether it closed the connection */
  #closeIfDead(connection: Connection, reason: string): boolean {
    const { principal } = connection.info;
    if (!principal || this.#options.access.authority.isLive(principal)) return false;
    connection.close(CLOSE.policy, reason);
    return true;
  }

  /**
   * Sends missed events before any new one, in one synchronous step, so that no event comes between. A client that can resume
   * also gets the events published since the cursor of its `hello-ok` was taken.
   */
  #onReady(connection: Connection, { params }: Identified, { resume }: HelloOk): void {
    const { broadcaster } = this.#options;
    this.#pending.delete(connection);
    this.#admitted.add(connection);
    if (this.#closeIfDead(connection, REPLACED)) return;
    const since = resume && ((resume.complete ? params.resume : undefined) ?? resume.cursor);
    if (since) broadcaster.replay(broadcaster.resume(since).missed ?? [], connection);
    broadcaster.add(connection, since?.n);
    this.#options.share(connection.id, connection.info);
    if (this.#hooks.ready.isUsed()) void this.#hooks.ready.emit(connection.info);
  }

  #onClosed(connection: Connection, code: number): void {
    this.#pending.delete(connection);
    if (this.#admitted.delete(connection)) this.#options.share(connection.id, undefined);
    this.#options.broadcaster.remove(connection);
    if (this.#hooks.closed.isUsed()) void this.#hooks.closed.emit({ ...connection.info, code });
  }
}
