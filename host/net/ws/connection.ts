/**
 * One WebSocket, from its challenge to its close. It owns the socket; `admission.ts` decides whether it is admitted, and
 * `dispatch.ts` handles its calls.
 */
import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import {
  type ConnectionInfo,
  describeViolations,
  GatewayError,
  type Logger,
  matches,
  type Principal,
  toErrorShape,
} from "@svc/sdk";
import { detailsCode, refusal } from "@svc/sdk/errors";
import {
  CLOSE,
  connectChallenge,
  errorFor,
  type Generation,
  HANDSHAKE_TIMEOUT_MS,
  type HelloOk,
  MAX_BUFFERED_BYTES,
  MAX_PAYLOAD_BYTES,
  OLDEST,
  RequestFrame,
  RESUME_CAP,
  valueFor,
} from "@svc/sdk/protocol";
import type { WebSocket } from "ws";
import type { Peer } from "../../auth/client-address.ts";
import { isLocal } from "../../auth/locality.ts";
import type { Admission } from "./admission.ts";
import type { Receiver } from "./broadcast.ts";
import type { Dispatcher } from "./dispatch.ts";
import { closeReason, encodeEvent, encodeFailure, encodeResult } from "./frame-codec.ts";
import { HoldsTooMuch, isLarge, parseLarge } from "../json.ts";
import { type Share, shareOf } from "../scheduler.ts";
import { type Identified, HandshakeRefusal } from "./handshake.ts";
import { type Backlog, Outbox } from "./outbox.ts";
import { reachedAddress } from "./reached-address.ts";

/** Shared by all connections of a gateway. */
export interface ConnectionOptions {
  readonly log: Logger;
  readonly dispatcher: Dispatcher;
  readonly admission: Admission;
  newId(): string;
  /** Called when the connection is admitted and its `hello-ok` is queued. */
  onReady(connection: Connection, identified: Identified, hello: HelloOk): void;
  onClosed(connection: Connection, code: number): void;
  /** Milliseconds. Default 10000. */
  readonly handshakeTimeoutMs: number | undefined;
  readonly maxBufferedBytes: number | undefined;
  readonly backlog: Backlog;
  /** Sockets of slow readers that have been disconnected and may still read. */
  readonly slow: Set<WebSocket>;
}

/** State of a connection that is not admitted yet, freed afterwards: most of the connection's cost. */
interface Pending {
  readonly peer: Peer;
  readonly nonce: string;
  readonly deadline: NodeJS.Timeout;
  handshaking: boolean;
}

/** Milliseconds a peer gets to answer the close before its socket is terminated. */
const CLOSE_GRACE_MS = 1_000;
/**
 * Milliseconds a slow reader gets to answer the close: it must first read the bytes in its socket to receive the close
 * reason.
 */
const SLOW_GRACE_MS = 30_000;
/** A slow reader with more unread bytes only gets `CLOSE_GRACE_MS`. */
const SLOW_GRACE_BYTES = 1_048_576;
/**
 * Choice: maximum number of calls per connection that wait for a response. An accepted call, which only waits for its
 * second response, is not counted.
 */
const MAX_CALLS = 64;
/** Milliseconds after which a retry is worthwhile. */
const CALLS_RETRY_MS = 250;
/** Created once: a flooding client gets it often. */
const TOO_MANY_CALLS = refusal(
  "TOO_MANY_CALLS",
  `${MAX_CALLS} calls of this connection are waiting for responses; retry later`,
  {},
  { retryAfterMs: CALLS_RETRY_MS },
);
/** Choice: maximum number of characters of the id, and of the method, of a request. Responses repeat both. */
const MAX_NAME = 65_536;
const NAME_TOO_LONG = new GatewayError(
  "INVALID_REQUEST",
  `invalid request frame: id and method have at most ${MAX_NAME} characters`,
);
/**
 * Maximum number of calls in a row that are refused for their role; one more closes the connection. Spec:
 * protocol/authorization.md §4.
 */
const MOST_UNAUTHORIZED = 10;

export class Connection implements Receiver {
  readonly id: string;
  readonly #options: ConnectionOptions;
  readonly #ws: WebSocket;
  readonly #outbox: Outbox;
  readonly #share: Share;
  /** Created at the first call: it would be most of the cost of a short connection. */
  #gone: AbortController | undefined;
  #pending: Pending | undefined;
  #principal: Principal | undefined;
  #info: ConnectionInfo;
  #generation: Generation = OLDEST;
  #unauthorized = 0;
  #inFlight = 0;
  #closing = false;
  #isGone = false;

  /** @param socket socket below `ws`, for writing shared frames */
  constructor(ws: WebSocket, socket: Duplex, peer: Peer, options: ConnectionOptions) {
    const { handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS, maxBufferedBytes = MAX_BUFFERED_BYTES } = options;
    this.id = options.newId();
    this.#options = options;
    this.#ws = ws;
    this.#outbox = new Outbox(socket, maxBufferedBytes, options.backlog, () => this.#cutOff());
    this.#share = shareOf(socket);
    this.#info = {
      id: this.id,
      remoteAddress: peer.clientAddress ?? peer.remoteAddress,
      local: isLocal(peer),
      address: reachedAddress(peer, "encrypted" in socket),
      client: undefined,
      caps: [],
      device: undefined,
      principal: undefined,
    };
    const nonce = randomUUID();
    const deadline = setTimeout(() => this.close(CLOSE.normal, ""), handshakeTimeoutMs);
    this.#pending = { peer, nonce, deadline, handshaking: false };
    this.#limitUntilAccepted(socket);
    this.#share.watch(ws);
    ws.on("message", (data: Buffer) => this.#receive(data));
    ws.on("error", (error) => options.log.debug({ connection: this.id, err: error }, "socket error"));
    ws.on("close", (code) => this.#closed(code));
    this.#outbox.push(encodeEvent(connectChallenge.name, { nonce, ts: Date.now() }));
  }

  get info(): ConnectionInfo {
    return this.#info;
  }
  get role(): "operator" | "node" {
    return this.#principal?.role ?? "operator";
  }
  get scopes(): readonly string[] {
    return this.#principal?.scopes ?? [];
  }
  get generation(): Generation {
    return this.#generation;
  }
  get resumes(): boolean {
    return this.#info.caps.includes(RESUME_CAP);
  }

  /** Limits the memory of a pending connection: too many bytes before `connect` is accepted close the socket. */
  #limitUntilAccepted(socket: Duplex): void {
    let received = 0;
    const count = (chunk: Buffer) => {
      if (this.#principal) {
        socket.off("data", count);
        return;
      }
      received += chunk.length;
      if (received <= MAX_PAYLOAD_BYTES.beforeConnect) return;
      socket.off("data", count);
      this.close(CLOSE.tooLarge, "");
      this.#share.stop(); // otherwise everything it sends until its termination is buffered
    };
    socket.prependListener("data", count);
  }

  #receive(data: Buffer): void {
    if (this.#closing) return;
    const principal = this.#principal;
    if (principal) return this.#share.run(() => this.#read(data, principal));
    const pending = this.#pending;
    if (!pending || pending.handshaking)
      return this.close(CLOSE.policy, "invalid handshake: wait for the response to connect");
    pending.handshaking = true;
    void this.#connect(data.toString(), pending);
  }

  async #connect(text: string, { peer, nonce, deadline }: Pending): Promise<void> {
    const { admission, onReady, log } = this.#options;
    let requestId: string | undefined;
    try {
      const accepted = await admission.identify(text, { connectionId: this.id, peer, nonce });
      requestId = accepted.requestId;
      const { params, principal, deviceId: device } = accepted;
      this.#generation = accepted.generation;
      this.#info = { ...this.#info, client: params.client, caps: params.caps ?? [], device, principal };
      const hello = await admission.admit(this.#info, accepted, peer.headers.origin !== undefined);
      if (this.#closing) return;
      clearTimeout(deadline);
      this.#pending = undefined;
      this.#principal = principal;
      this.#outbox.push(encodeResult(requestId, hello));
      onReady(this, accepted, hello);
    } catch (error) {
      this.#refuse(error, requestId, log);
    }
  }

  #refuse(error: unknown, requestId: string | undefined, log: Logger): void {
    if (error instanceof HandshakeRefusal) {
      if (error.error && error.requestId) this.#outbox.push(encodeFailure(error.requestId, error.error));
      log.info({ connection: this.id, code: error.error?.code, reason: error.closeReason }, "connect refused");
      return this.close(error.closeCode, error.closeReason);
    }
    log.error({ connection: this.id, err: error }, "connect failed unexpectedly");
    const shape = toErrorShape(error);
    if (requestId) this.#outbox.push(encodeFailure(requestId, shape));
    this.close(CLOSE.policy, shape.message);
  }

  /** A frame of an accepted connection. Text that is not JSON is only logged. Spec: protocol/frames-and-connect.md §2. */
  #read(data: Buffer, principal: Principal): void {
    if (this.#closing) return;
    if (isLarge(data)) return void this.#share.hold(this.#readLarge(data, principal));
    let frame: unknown;
    try {
      frame = JSON.parse(data.toString());
    } catch {
      return this.#noJson();
    }
    this.#request(frame, principal);
  }

  async #readLarge(data: Buffer, principal: Principal): Promise<void> {
    let frame: unknown;
    try {
      frame = await parseLarge(data, () => this.#share.turn());
    } catch (error) {
      if (error instanceof HoldsTooMuch)
        return this.#fail(idIn(data), "", new GatewayError("INVALID_REQUEST", error.message));
      return this.#noJson();
    }
    if (!this.#closing) this.#request(frame, principal);
  }

  #noJson(): void {
    this.#options.log.info({ connection: this.id }, "ignored a message that is not JSON");
  }

  #request(frame: unknown, principal: Principal): void {
    if (!matches(RequestFrame, frame)) {
      const message = `invalid request frame: ${describeViolations(RequestFrame, frame)}`;
      return this.deliver(encodeFailure(frameId(frame), { code: "INVALID_REQUEST", message }), false);
    }
    const { id, method, params } = frame;
    if (id.length > MAX_NAME || method.length > MAX_NAME)
      return this.#fail(id.length > MAX_NAME ? "invalid" : id, "", NAME_TOO_LONG);
    if (method === "connect") {
      const message = "connect is only valid as the first request";
      return this.deliver(encodeFailure(id, { code: "INVALID_REQUEST", message }), false);
    }
    this.#call(id, method, params, principal);
  }

  #call(id: string, method: string, params: unknown, principal: Principal): void {
    if (this.#inFlight >= MAX_CALLS) return this.#fail(id, method, TOO_MANY_CALLS);
    this.#inFlight++;
    let waits = true;
    const settled = () => {
      if (waits) this.#inFlight--;
      waits = false;
    };
    let answer: unknown;
    try {
      const accept = (payload: unknown) => {
        settled();
        this.deliver(encodeResult(id, valueFor(this.#generation.results, method, payload)), false);
      };
      answer = this.#options.dispatcher.call({
        method,
        params,
        principal,
        connection: this.#info,
        signal: (this.#gone ??= new AbortController()).signal,
        ignoresUnknown: this.#generation.ignoresUnknown,
        accept,
      });
    } catch (error) {
      settled();
      return this.#fail(id, method, error as GatewayError); // the dispatcher throws nothing else
    }
    if (!(answer instanceof Promise)) {
      settled();
      return this.#answer(id, method, answer);
    }
    answer.then(
      (result: unknown) => {
        settled();
        this.#share.measure(() => this.#answer(id, method, result));
      },
      (error: GatewayError) => {
        settled();
        this.#fail(id, method, error);
      },
    );
  }

  #answer(id: string, method: string, result: unknown): void {
    let frame: Buffer;
    try {
      frame = encodeResult(id, valueFor(this.#generation.results, method, result));
    } catch (error) {
      return this.#fail(id, method, this.#options.dispatcher.unsendable(method, error));
    }
    if (frame.length > MAX_PAYLOAD_BYTES.afterConnect) return this.#fail(id, method, tooLarge(method, frame.length));
    this.#unauthorized = 0;
    this.deliver(frame, false);
  }

  #fail(id: string, method: string, error: GatewayError): void {
    const shape = errorFor(this.#generation, toErrorShape(error), method);
    this.deliver(encodeFailure(id, shape, error.payload), false);
    this.#unauthorized = detailsCode(error) === "UNAUTHORIZED_ROLE" ? this.#unauthorized + 1 : 0;
    if (this.#unauthorized > MOST_UNAUTHORIZED) this.close(CLOSE.policy, "repeated unauthorized calls");
  }

  /** Sends nothing after a close. A reader too slow for a frame that must not be dropped is disconnected. Spec: §6 rule 2. */
  deliver(frame: Buffer, droppable: boolean): void {
    if (this.#closing) return;
    if (droppable && this.#outbox.isBehind) return;
    if (this.#outbox.isFull) this.#outbox.cutOff();
    else this.#outbox.push(frame);
  }

  /** Disconnects a slow reader. Queued frames are dropped, so that the close and its reason come next. */
  #cutOff(): void {
    this.#options.log.warn({ connection: this.id, client: this.#info.client?.id }, "disconnected a slow reader");
    const soon = this.#outbox.unread > SLOW_GRACE_BYTES;
    const { slow } = this.#options;
    slow.add(this.#ws);
    this.#ws.once("close", () => slow.delete(this.#ws));
    this.#left(CLOSE.policy);
    this.#end(CLOSE.policy, "slow consumer", soon ? CLOSE_GRACE_MS : SLOW_GRACE_MS);
  }

  /** Sends queued frames, then closes; a peer that does not answer the close is terminated. Safe to call twice. */
  close(code: number, reason: string): void {
    if (!this.#closing) this.#end(code, reason, CLOSE_GRACE_MS);
  }

  #end(code: number, reason: string, graceMs: number): void {
    this.#closing = true;
    this.#outbox.end();
    this.#ws.close(code, closeReason(reason));
    setTimeout(() => this.#ws.terminate(), graceMs).unref();
  }

  #closed(code: number): void {
    this.#closing = true;
    this.#outbox.drop();
    clearTimeout(this.#pending?.deadline);
    this.#pending = undefined;
    this.#left(code);
  }

  /** Ends the connection for the gateway. Its client may still read from the socket. */
  #left(code: number): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#share.leave();
    this.#gone?.abort();
    this.#options.onClosed(this, code);
  }
}

function tooLarge(method: string, bytes: number): GatewayError {
  const most = MAX_PAYLOAD_BYTES.afterConnect;
  return new GatewayError(
    "PAYLOAD_TOO_LARGE",
    `the response of ${method} has ${bytes} bytes, and at most ${most} can be sent; request less`,
  );
}

/** The id of an unparsed request, when it is near the beginning. */
function idIn(data: Buffer): string {
  const [, id] = /"id"\s*:\s*"([\w.:-]{1,200})"/.exec(data.toString("latin1", 0, 1_000)) ?? [];
  return id ?? "invalid";
}

function frameId(frame: unknown): string {
  const { id } = (typeof frame === "object" && frame !== null ? frame : {}) as { id?: unknown };
  return typeof id === "string" && id !== "" ? id : "invalid";
}
