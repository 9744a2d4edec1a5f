/** The client of a gateway: its options and its interface. */
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

/** Address, credentials and behaviour of a client. */
export interface ClientOptions {
  /** `ws://127.0.0.1:18789`, or `wss:` */
  readonly url: string;
  /** SHA-256 of the gateway's certificate in hex: only this certificate is trusted, regardless of its issuer. Not in browsers. Default: the certificates the runtime trusts. */
  readonly tlsFingerprint?: string;
  /** A function is called at each connect; `undefined`: `deviceToken` is used instead. */
  readonly token?: string | (() => string | undefined);
  readonly password?: string;
  /** Proven at each connect; `keepDevice` of `@svc/sdk/device` creates one. The gateway pairs the device first, then issues a token to it. */
  readonly device?: DeviceIdentity;
  /** Token that the gateway issued to the device (`hello.auth`). Called at each connect without `token` and `password`. */
  readonly deviceToken?: () => string | undefined;
  readonly role?: Role;
  /** Default: read, write, approvals, pairing and admin; for nodes none. */
  readonly scopes?: readonly string[];
  readonly caps?: readonly string[];
  /** Nodes: commands they execute. */
  readonly commands?: readonly string[];
  /** Nodes: their permissions on their machine, for information. */
  readonly permissions?: Readonly<Record<string, boolean>>;
  /** Nodes: their `PATH`, for information. */
  readonly pathEnv?: string;
  /** Default: id `cli`, mode `cli`. */
  readonly client?: Partial<ConnectParams["client"]>;
  /** Milliseconds from opening the socket to `hello-ok`. Default 10000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds a call may take; default 30000; 0 means no limit. */
  readonly callTimeoutMs?: number;
  /** Whether to reconnect after the connection is lost. Default false. */
  readonly reconnect?: boolean;
  /** Randomness for jitter, 0..1. */
  readonly random?: () => number;
  /** Gets every event frame from the first on: one may arrive together with `hello-ok`, before `connect` resolves. */
  readonly onEvent?: (frame: EventFrame) => void;
  /** Default: the WebSocket of the runtime, else that of the package `ws`. */
  readonly WebSocket?: new (url: string) => Socket;
}

/** Options of one call. */
export interface CallOptions {
  /** Milliseconds; 0 means no limit. Default `callTimeoutMs`. */
  readonly timeoutMs?: number;
  /** Resolve with the second response of a method that accepts first, and pass the first one to `onAccepted`. Default false. */
  readonly expectFinal?: boolean;
  readonly onAccepted?: (payload: unknown) => void;
}

/** Why a connection ended. */
export interface CloseInfo {
  readonly code: number;
  readonly reason: string;
  /** The client tries to reconnect by itself. */
  readonly willReconnect: boolean;
}

/** An accepted connection to a gateway. */
export interface GatewayClient {
  /** Payload of the last `hello-ok`. */
  readonly hello: HelloOk;
  /** @throws GatewayError the gateway's refusal; `UNAVAILABLE` when the connection is lost or the time limit is reached. */
  call<M extends Method>(method: M, params: ParamsOf<M>, options?: CallOptions): Promise<ResultOf<M>>;
  /** As `call`, for a method known only by name. */
  request(method: string, params?: unknown, options?: CallOptions): Promise<unknown>;
  /** @returns a function that stops listening */
  on<E extends EventSpec>(event: E, listener: (payload: PayloadOf<E>, frame: EventFrame) => void): () => void;
  /** Called with every event frame. @returns a function that stops listening */
  onEvent(listener: (frame: EventFrame) => void): () => void;
  /**
   * Called when events were missed and cannot be recovered: refresh any state built from events. @returns a function
   * that stops listening
   */
  onGap(listener: (expected: number, received: number) => void): () => void;
  onClose(listener: (info: CloseInfo) => void): () => void;
  /** Called after a reconnect. @returns a function that stops listening */
  onReconnect(listener: (hello: HelloOk) => void): () => void;
  /** Closes for good. Resolves when the socket is closed. Safe to call twice. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
