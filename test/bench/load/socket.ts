/** A WebSocket client over a plain socket: connects to a gateway or a bare server, and passes frames on. */
import { connect, type Socket } from "node:net";
import type { KeptDevice } from "@svc/sdk/device";
import { devicePayloads } from "@svc/sdk/protocol";
import { clientFrame, type FrameListener, FrameReader } from "./frames.ts";

/** A server under load. A token marks a gateway, which gets a real `connect`; a bare server gets the same frame once. */
export interface Peer {
  readonly url: string;
  readonly token?: string;
  /** Whether a bare server sends the first frame, as gateways do. */
  readonly challenges?: boolean;
  /** Device that proves itself to the gateway. */
  readonly device?: KeptDevice;
}

const OPEN_MS = 10_000;
const HEAD_END = "\r\n\r\n";

export class LoadSocket {
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  readonly #unread: string[] = [];
  #head: Buffer | undefined = Buffer.alloc(0);
  #onFrame: FrameListener | undefined;
  #onChunk: () => void = () => undefined;
  #onFailure: (error: Error) => void = () => undefined;
  #waiting: (() => void) | undefined;
  #failure: Error | undefined;

  constructor(url: string) {
    const { hostname, port, pathname } = new URL(url);
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on("data", (chunk) => this.#received(chunk));
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("a server closed a connection")));
    this.#socket.write(
      `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13${HEAD_END}`,
    );
  }

  /** The next frame without a listener. @throws Error the connection fails first */
  async next(): Promise<string> {
    for (;;) {
      const text = this.#unread.shift();
      if (text !== undefined) return text;
      if (this.#failure) throw this.#failure;
      await new Promise<void>((resolve) => (this.#waiting = resolve));
    }
  }

  /** Passes later frames to `onFrame`, and calls `onChunk` after the frames that arrived together. */
  listen(onFrame: FrameListener, onChunk: () => void = () => undefined): void {
    this.#onFrame = onFrame;
    this.#onChunk = onChunk;
  }

  /** Calls the listener once when the connection fails, immediately if it has failed already. */
  onFailure(listener: (error: Error) => void): void {
    this.#onFailure = listener;
    if (this.#failure) listener(this.#failure);
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** Destroys the socket. Safe to call twice. */
  close(): void {
    this.#onFailure = () => undefined;
    this.#socket.destroy();
  }

  #received(chunk: Buffer): void {
    const bytes = this.#head ? this.#afterHead(chunk) : chunk;
    if (!bytes) return;
    const listener = this.#onFrame ?? ((buffer, start, end) => this.#keep(buffer.toString("utf8", start, end)));
    try {
      if (!this.#reader.read(bytes, listener)) throw new Error("a server closed a WebSocket");
      this.#onChunk();
    } catch (error) {
      this.#fail(error as Error); // nothing else is thrown here
      this.#socket.destroy();
    }
  }

  #keep(text: string): void {
    this.#unread.push(text);
    this.#waiting?.();
  }

  /** The bytes after the response to the upgrade. */
  #afterHead(chunk: Buffer): Buffer | undefined {
    const head = Buffer.concat([this.#head ?? Buffer.alloc(0), chunk]);
    this.#head = head;
    const end = head.indexOf(HEAD_END);
    if (end < 0) return undefined;
    this.#head = undefined;
    if (head.toString("latin1", 9, 12) !== "101")
      this.#fail(new Error(`no upgrade: ${head.toString("latin1", 0, end)}`));
    return head.subarray(end + HEAD_END.length);
  }

  #fail(error: Error): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#waiting?.();
    this.#onFailure(error);
  }
}

function paramsOf(token: string | undefined) {
  return {
    minProtocol: 3,
    maxProtocol: 3,
    client: { id: "cli", version: "1.0.0", platform: "linux", mode: "cli" },
    role: "operator",
    scopes: ["operator.admin", "operator.read", "operator.write"],
    ...(token === undefined ? {} : { auth: { token } }),
  };
}

function connectFrame(token: string | undefined): Buffer {
  return clientFrame(JSON.stringify({ type: "req", id: "connect", method: "connect", params: paramsOf(token) }));
}

/** @param challenge the first frame of the gateway */
function provenFrame(token: string | undefined, device: KeptDevice, challenge: string): Buffer {
  const { nonce } = (JSON.parse(challenge) as { payload: { nonce: string } }).payload;
  const params = paramsOf(token);
  const signedAt = Date.now();
  const [text] = devicePayloads(params, { id: device.id, signedAt, nonce });
  const proof = { id: device.id, publicKey: device.publicKey, signature: device.sign(text), signedAt, nonce };
  return clientFrame(
    JSON.stringify({ type: "req", id: "connect", method: "connect", params: { ...params, device: proof } }),
  );
}

const CONNECT_BARE = connectFrame(undefined);
const connectFrames = new Map<string, Buffer>();

function connectTo({ token }: Peer): Buffer {
  if (token === undefined) return CONNECT_BARE;
  const frame = connectFrames.get(token) ?? connectFrame(token);
  connectFrames.set(token, frame);
  return frame;
}

/**
 * Opens a connection that the server accepts.
 * @throws Error the connection is refused, fails, or takes longer than 10 seconds
 */
export async function openSocket(peer: Peer): Promise<LoadSocket> {
  const socket = new LoadSocket(peer.url);
  const late = setTimeout(() => socket.close(), OPEN_MS);
  try {
    const challenge = peer.token !== undefined || peer.challenges ? await socket.next() : "";
    socket.write(peer.device ? provenFrame(peer.token, peer.device, challenge) : connectTo(peer));
    const answer = await socket.next();
    if (!answer.startsWith('{"type":"res","id":"connect","ok":true')) throw new Error(`connect was refused: ${answer}`);
    return socket;
  } catch (error) {
    socket.close();
    throw error;
  } finally {
    clearTimeout(late);
  }
}

/** Connections opened concurrently: as many as a server accepts without a queue. */
const TOGETHER = 32;

export async function openSockets(peer: Peer, count: number): Promise<LoadSocket[]> {
  const sockets: LoadSocket[] = [];
  try {
    while (sockets.length < count) {
      const more = Math.min(TOGETHER, count - sockets.length);
      sockets.push(...(await Promise.all(Array.from({ length: more }, () => openSocket(peer)))));
    }
    return sockets;
  } catch (error) {
    closeAll(sockets);
    throw error;
  }
}

export function closeAll(sockets: readonly LoadSocket[]): void {
  for (const socket of sockets) socket.close();
}
