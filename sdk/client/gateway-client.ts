/** What a client of a gateway is: where it connects, as whom, and what can be asked of it. */
import type { EventSpec, Method, ParamsOf, PayloadOf, ResultOf } from "../contract.ts";
import type { Role } from "../principal.ts";
import type { ConnectParams, HelloOk } from "../protocol/connect.ts";
import type { EventFrame } from "../protocol/frames.ts";
import type { DeviceIdentity } from "./device-proof.ts";

/** The part of a WebSocket the client uses; both `ws` and the browser's have it. */
export interface Socket {
  send(data: string): void;
  close(code?: number, reason?: string): void;
  onopen: unknown;
  onmessage: unknown;
  onclose: unknown;
  onerror: unknown;
}

/** Where to connect, as whom. */
export interface ClientOptions {
  /** `ws://127.0.0.1:18789`, or `wss:` */
  readonly url: string;
  /** SHA-256 of the gateway's certificate in hex: that one is trusted, whoever signed it, and no other. Not in browsers. Default: those the runtime trusts. */
  readonly tlsFingerprint?: string;
  readonly token?: string;
  readonly password?: string;
  /** Proven at each connect; `keepDevice` of `@svc/sdk/device` makes one. A gateway pairs it first, then gives it a token. */
  readonly device?: DeviceIdentity;
  /** Token the gateway gave to the device (`hello.auth`), asked for at each connect; used where there is no `token`. */
  readonly deviceToken?: () => string | undefined;
  readonly role?: Role;
  /** Default: read, write, approvals, pairing and admin; for nodes none. */
  readonly scopes?: readonly string[];
  readonly caps?: readonly string[];
  /** Nodes: commands they carry out. */
  readonly commands?: readonly string[];
  /** Nodes: what they are allowed to on their machine, for readers. */
  readonly permissions?: Readonly<Record<string, boolean>>;
  /** Nodes: their `PATH`, for readers. */
  readonly pathEnv?: string;
  /** Default: id `cli`, mode `cli`. */
  readonly client?: Partial<ConnectParams["client"]>;
  /** Milliseconds from opening the socket to `hello-ok`. Default 10000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds a call may take; default 30000; 0 means no limit. */
  readonly callTimeoutMs?: number;
  /** Default false: one socket, and closed means closed. */
  readonly reconnect?: boolean;
  /** Randomness for jitter, 0..1. */
  readonly random?: () => number;
  /** Hears every event frame from the first on: one may come together with `hello-ok`, before `connect` resolves. */
  readonly onEvent?: (frame: EventFrame) => void;
  /** Default: the runtime's, else the package `ws`. */
  readonly WebSocket?: new (url: string) => Socket;
}

/** Patience of one call. */
export interface CallOptions {
  /** Milliseconds; 0 means no limit. Default `callTimeoutMs`. */
  readonly timeoutMs?: number;
  /** Skip the first answer of a method that accepts first, and hand it to `onAccepted`. Default false. */
  readonly expectFinal?: boolean;
  readonly onAccepted?: (payload: unknown) => void;
}

/** Why a connection ended. */
export interface CloseInfo {
  readonly code: number;
  readonly reason: string;
  /** A further attempt follows by itself. */
  readonly willReconnect: boolean;
}

/** An accepted connection to a gateway. */
export interface GatewayClient {
  /** Payload of the last `hello-ok`. */
  readonly hello: HelloOk;
  /** @throws GatewayError what the gateway refused with; `UNAVAILABLE` when the connection is lost or the time is up. */
  call<M extends Method>(method: M, params: ParamsOf<M>, options?: CallOptions): Promise<ResultOf<M>>;
  /** As `call`, for a method known only by name. */
  request(method: string, params?: unknown, options?: CallOptions): Promise<unknown>;
  /** @returns stops listening. */
  on<E extends EventSpec>(event: E, listener: (payload: PayloadOf<E>, frame: EventFrame) => void): () => void;
  /** Every event frame. @returns stops listening. */
  onEvent(listener: (frame: EventFrame) => void): () => void;
  /** Events were missed and cannot be had: refresh what was built from events. @returns stops listening. */
  onGap(listener: (expected: number, received: number) => void): () => void;
  onClose(listener: (info: CloseInfo) => void): () => void;
  /** After a reconnect. @returns stops listening. */
  onReconnect(listener: (hello: HelloOk) => void): () => void;
  /** Closes for good. Resolves when the socket is closed. Safe to call twice. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
