/**
 * A connection for typed calls that delivers events and reconnects.
 *
 * One socket at a time. A lost connection rejects the calls in flight (it is unknown whether they ran) and is reopened with
 * back-off and jitter; a refused `connect` is final, except with code `UNAVAILABLE`.
 * Missed events follow the new `hello-ok`, in order; if the gateway no longer has them, `onGap` listeners are notified.
 */
import type { EventSpec, Method, ParamsOf, PayloadOf, ResultOf } from "../contract.ts";
import { refusal } from "../error-codes.ts";
import { type ErrorCode, ERRORS, GatewayError, isGatewayError } from "../gateway-error.ts";
import type { ConnectParams, HelloOk } from "../protocol/connect.ts";
import { PROTOCOL, RESUME_CAP } from "../protocol/constants.ts";
import { proveDevice } from "./device-proof.ts";
import type { CallOptions, ClientOptions, CloseInfo, GatewayClient, Socket } from "./gateway-client.ts";
import { pinnedWebSocket } from "./pinned-socket.ts";
import type { EventCursor, EventFrame, ResponseFrame } from "../protocol/frames.ts";

interface Pending {
  readonly id: string;
  /** The frame as sent. */
  readonly text: string;
  readonly resolve: (payload: never) => void;
  readonly reject: (error: Error) => void;
  readonly options: CallOptions;
  readonly timer: NodeJS.Timeout | undefined;
}

type ListenerKind = "event" | "gap" | "close" | "reconnect";

const DEFAULT_SCOPES = ["operator.admin", "operator.read", "operator.write", "operator.approvals", "operator.pairing"];
const BACKOFF_MS = { first: 500, most: 30_000 } as const;

/**
 * Connects and waits for `hello-ok`.
 * @throws GatewayError the gateway's refusal, or `UNAVAILABLE` when no gateway responds.
 */
export async function connect(options: ClientOptions): Promise<GatewayClient> {
  const { tlsFingerprint } = options;
  const pinned = tlsFingerprint === undefined ? undefined : await pinnedWebSocket(tlsFingerprint);
  const WebSocket =
    options.WebSocket ?? (pinned as (new (url: string) => Socket) | undefined) ?? (await defaultWebSocket());
  const connection = new Connection(options, WebSocket);
  await connection.open();
  return connection;
}

async function defaultWebSocket(): Promise<new (url: string) => Socket> {
  const { WebSocket } = globalThis as { WebSocket?: new (url: string) => Socket };
  return WebSocket ?? ((await import("ws")).WebSocket as unknown as new (url: string) => Socket);
}

class Connection implements GatewayClient {
  hello!: HelloOk;
  readonly #options: ClientOptions;
  readonly #WebSocket: new (url: string) => Socket;
  readonly #pending = new Map<string, Pending>();
  readonly #listeners = {
    event: new Set<Function>(),
    gap: new Set<Function>(),
    close: new Set<Function>(),
    reconnect: new Set<Function>(),
  };
  #socket: Socket | undefined;
  #nextId = 1;
  #lastSeq: number | undefined;
  #cursor: EventCursor | undefined;
  #attempt = 0;
  #retry: NodeJS.Timeout | undefined;
  #watchdog: NodeJS.Timeout | undefined;
  #closed: { readonly done: Promise<void>; readonly finish: () => void } | undefined;

  constructor(options: ClientOptions, WebSocket: new (url: string) => Socket) {
    this.#options = options;
    this.#WebSocket = WebSocket;
    if (options.onEvent) this.#listeners.event.add(options.onEvent);
  }

  /** Opens one socket and performs the handshake. */
  open(): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const socket = new this.#WebSocket(this.#options.url);
      this.#socket = socket;
      this.#lastSeq = undefined;
      let ready = false;
      let refused: Error | undefined;
      const late = setTimeout(() => {
        refused ??= refusal("UNREACHABLE", `no hello from ${this.#options.url} within the time limit`);
        socket.close(4008, "connect timeout"); // the runtime's own WebSocket accepts only 1000 and 3000-4999
        reject(refused);
      }, this.#options.connectTimeoutMs ?? 10_000);

      socket.onmessage = ({ data }: { data: unknown }) => {
        const frame = JSON.parse(String(data)) as EventFrame | ResponseFrame;
        if (ready) return this.#receive(frame);
        if (frame.type === "event" && frame.event === "connect.challenge") {
          this.#connectFrame(frame.payload as { nonce: string }).then(
            (request) => socket.send(JSON.stringify(request)),
            (error: unknown) => {
              refused ??= error as Error; // the device could not sign
              socket.close(4000, "no device proof");
            },
          );
          return;
        }
        if (frame.type !== "res") return;
        if (!frame.ok) {
          refused = toError(frame); // the gateway closes now; if its close is lost, the timeout ends the attempt
          return;
        }
        clearTimeout(late);
        ready = true;
        this.hello = frame.payload as HelloOk;
        this.#attempt = 0;
        this.#watch();
        resolve();
        this.#resumed(this.hello.resume);
      };
      let ended = false;
      const end = (code: number, reason: string) => {
        if (ended) return;
        ended = true;
        clearTimeout(late);
        reject(refused ?? refusal("UNREACHABLE", `closed by ${this.#options.url}: ${code} ${reason}`));
        this.#lost(code, reason, ready, refused);
      };
      socket.onerror = ({ message, error }: { message?: string; error?: Error }) => {
        refused ??= unreachable(this.#options.url, message, error);
        if (!ready) end(1006, ""); // some runtimes emit no close when the connection was never established
      };
      socket.onclose = ({ code, reason }: { code: number; reason: string }) => end(code, reason);
    });
  }

  async #connectFrame({ nonce }: { nonce: string }) {
    const { client, role = "operator", scopes, caps, commands, permissions, pathEnv, device } = this.#options;
    const params: ConnectParams = {
      minProtocol: PROTOCOL,
      maxProtocol: PROTOCOL,
      client: {
        id: "cli",
        version: "1.0.0",
        platform: typeof process === "undefined" ? "web" : process.platform,
        mode: "cli",
        ...client,
      },
      role,
      scopes: [...(scopes ?? (role === "node" ? [] : DEFAULT_SCOPES))],
      caps: [...new Set([...(caps ?? []), RESUME_CAP])],
      ...(commands ? { commands: [...commands] } : {}),
      ...(permissions ? { permissions: { ...permissions } } : {}),
      ...(pathEnv === undefined ? {} : { pathEnv }),
      ...(this.#cursor ? { resume: this.#cursor } : {}),
    };
    const auth = this.#credential();
    if (auth) params.auth = auth;
    if (device) params.device = await proveDevice(device, params, nonce, Date.now());
    return { type: "req", id: "connect", method: "connect", params };
  }

  /** The shared secret if there is one, else the device's token. Spec: frames-and-connect.md §7 "Client-side precedence". */
  #credential(): ConnectParams["auth"] {
    const { token: given, password, deviceToken } = this.#options;
    const token = typeof given === "function" ? given() : given;
    if (token !== undefined || password !== undefined)
      return { ...(token === undefined ? {} : { token }), ...(password === undefined ? {} : { password }) };
    const own = deviceToken?.();
    return own === undefined ? undefined : { token: own, deviceToken: own };
  }

  /** @param resume absent: the gateway cannot resume */
  #resumed(resume: HelloOk["resume"]): void {
    const before = this.#cursor;
    if (!before || resume?.complete) {
      this.#cursor ??= resume?.cursor; // the missed events follow and advance it
      return;
    }
    this.#cursor = resume?.cursor;
    this.#tell("gap", before.n + 1, resume?.cursor.n ?? before.n + 1);
  }

  #receive(frame: EventFrame | ResponseFrame): void {
    if (frame.type === "res") return this.#answer(frame);
    if (frame.event === "tick") this.#watch();
    if (frame.cursor) this.#moved(frame.cursor);
    if (frame.seq !== undefined) {
      const expected = this.#lastSeq === undefined ? frame.seq : this.#lastSeq + 1;
      this.#lastSeq = frame.seq;
      if (frame.seq > expected) this.#tell("gap", expected, frame.seq);
    }
    this.#tell("event", frame);
  }

  /** A new epoch says that events may have been lost. */
  #moved(cursor: EventCursor): void {
    const before = this.#cursor;
    this.#cursor = cursor;
    if (before && before.epoch !== cursor.epoch) this.#tell("gap", before.n + 1, cursor.n);
  }

  #answer(frame: ResponseFrame): void {
    const pending = this.#pending.get(frame.id);
    if (!pending) return;
    const { status } = (frame.payload ?? {}) as { status?: unknown };
    if (frame.ok && pending.options.expectFinal && status === "accepted") {
      pending.options.onAccepted?.(frame.payload);
      return;
    }
    if (isOneTooMany(frame)) return this.#sendLater(pending, frame.error?.retryAfterMs);
    this.#pending.delete(frame.id);
    clearTimeout(pending.timer);
    if (frame.ok) pending.resolve(frame.payload as never);
    else pending.reject(toError(frame));
  }

  /** Too many calls of this connection are waiting: the call was not executed, and is sent again until its timeout. */
  #sendLater(pending: Pending, afterMs = 250): void {
    setTimeout(() => {
      const socket = this.#socket;
      if (socket && this.#pending.get(pending.id) === pending && !this.#closed) socket.send(pending.text);
    }, afterMs);
  }

  call<M extends Method>(method: M, params: ParamsOf<M>, options?: CallOptions): Promise<ResultOf<M>> {
    return this.request(method.name, params, options) as Promise<ResultOf<M>>;
  }

  request(method: string, params?: unknown, options: CallOptions = {}): Promise<unknown> {
    const socket = this.#socket;
    if (!socket || this.#closed) return Promise.reject(new GatewayError("UNAVAILABLE", "not connected"));
    const id = String(this.#nextId++);
    const timeoutMs = options.timeoutMs ?? this.#options.callTimeoutMs ?? 30_000;
    return new Promise((resolve, reject) => {
      const expire = () => {
        this.#pending.delete(id);
        reject(new GatewayError("UNAVAILABLE", `${method} did not respond within ${timeoutMs} ms`));
      };
      const timer = timeoutMs > 0 ? setTimeout(expire, timeoutMs) : undefined;
      const text = JSON.stringify({ type: "req", id, method, ...(params === undefined ? {} : { params }) });
      this.#pending.set(id, { id, text, resolve, reject, options, timer });
      try {
        socket.send(text);
      } catch (cause) {
        clearTimeout(timer);
        this.#pending.delete(id);
        reject(new GatewayError("UNAVAILABLE", "not connected", { cause }));
      }
    });
  }

  on<E extends EventSpec>(event: E, listener: (payload: PayloadOf<E>, frame: EventFrame) => void): () => void {
    return this.onEvent((frame) => {
      if (frame.event === event.name) listener(frame.payload as PayloadOf<E>, frame);
    });
  }
  onEvent(listener: (frame: EventFrame) => void): () => void {
    return this.#listen("event", listener);
  }
  onGap(listener: (expected: number, received: number) => void): () => void {
    return this.#listen("gap", listener);
  }
  onClose(listener: (info: CloseInfo) => void): () => void {
    return this.#listen("close", listener);
  }
  onReconnect(listener: (hello: HelloOk) => void): () => void {
    return this.#listen("reconnect", listener);
  }

  #listen(kind: ListenerKind, listener: Function): () => void {
    this.#listeners[kind].add(listener);
    return () => void this.#listeners[kind].delete(listener);
  }
  #tell(kind: ListenerKind, ...args: unknown[]): void {
    for (const listener of this.#listeners[kind]) listener(...args);
  }

  /** Closes the connection after two missed ticks, even if the socket seems open. Spec: protocol/clients.md rule 7. */
  #watch(): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(
      () => this.#socket?.close(4000, "tick timeout"),
      2 * this.hello.policy.tickIntervalMs + 1_000,
    );
    this.#watchdog.unref?.();
  }

  #lost(code: number, reason: string, wasReady: boolean, refusal: Error | undefined): void {
    clearTimeout(this.#watchdog);
    this.#socket = undefined;
    for (const [id, { reject, timer }] of this.#pending) {
      this.#pending.delete(id);
      clearTimeout(timer);
      reject(new GatewayError("UNAVAILABLE", `connection lost: ${code} ${reason}`));
    }
    const refused = refusal instanceof GatewayError && refusal.code !== "UNAVAILABLE";
    const willReconnect =
      Boolean(this.#options.reconnect) && !this.#closed && !refused && (wasReady || this.#attempt > 0);
    if (wasReady || this.#attempt > 0) this.#tell("close", { code, reason, willReconnect } satisfies CloseInfo);
    this.#closed?.finish();
    if (willReconnect) this.#reopenLater();
  }

  #reopenLater(): void {
    const random = this.#options.random ?? Math.random;
    const ceiling = Math.min(BACKOFF_MS.most, BACKOFF_MS.first * 2 ** this.#attempt++);
    this.#retry = setTimeout(
      () => {
        this.open().then(
          () => this.#tell("reconnect", this.hello),
          () => undefined, // #lost has scheduled the next attempt
        );
      },
      ceiling / 2 + (random() * ceiling) / 2,
    );
  }

  async close(): Promise<void> {
    clearTimeout(this.#retry);
    if (this.#closed) return this.#closed.done;
    let finish!: () => void;
    const done = new Promise<void>((resolve) => (finish = resolve));
    this.#closed = { done, finish };
    if (this.#socket) this.#socket.close(1000, "");
    else finish();
    return done;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Error codes of Node's TLS for a certificate it does not trust. */
const UNTRUSTED =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT_ALTNAME_INVALID)/;

/** @param message @param error of the WebSocket, if the runtime provides them */
function unreachable(url: string, message: string | undefined, error: NodeJS.ErrnoException | undefined): GatewayError {
  if (isGatewayError(error)) return error;
  const why = message || error?.message || "connection failed";
  const code = UNTRUSTED.test(error?.code ?? "") ? "TLS_UNTRUSTED" : "UNREACHABLE";
  return refusal(code, `cannot reach ${url}: ${why}`, {}, { cause: error });
}

function isOneTooMany({ ok, error }: ResponseFrame): boolean {
  return !ok && (error?.details as { readonly code?: unknown } | undefined)?.code === "TOO_MANY_CALLS";
}

function toError({ error, payload }: ResponseFrame): GatewayError {
  const code = (error?.code ?? "INTERNAL") as ErrorCode;
  const { retryAfterMs } = error ?? {};
  return new GatewayError(
    Object.hasOwn(ERRORS, code) ? code : "INTERNAL",
    error?.message ?? "refused without a reason",
    {
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      details: error?.details,
      payload,
    },
  );
}
