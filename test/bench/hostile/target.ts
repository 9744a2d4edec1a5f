/** The gateway as seen by hostile clients, and the sockets they open to it. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { clientFrame, UPGRADE } from "../../fuzz/inputs.ts";
import { connectFrame } from "../../raw-socket.ts";

export interface Target {
  readonly url: string;
  readonly token: string;
  readonly hookToken: string;
  /** A session with a long history. */
  readonly sessionKey: string;
}

/** The context of one lane of an attacker. Its sockets are destroyed when `signal` aborts. */
export interface Lane {
  readonly target: Target;
  readonly signal: AbortSignal;
  /** A number from 0 to below 1, derived from the printed seed. */
  random(): number;
}

/** A generator of numbers from 0 to below 1 that repeats for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function pick<T>(lane: Lane, some: readonly [T, ...T[]]): T {
  return some[Math.floor(lane.random() * some.length)] ?? some[0];
}

/** @returns false when the lane ended meanwhile */
export async function rest({ signal }: Lane, ms: number): Promise<boolean> {
  if (signal.aborted) return false;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
  return !signal.aborted;
}

/** @returns a socket whose data is discarded until it is paused; `undefined` when the gateway or the machine accepts no more */
export async function openSocket({ target, signal }: Lane): Promise<Socket | undefined> {
  const { hostname, port } = new URL(target.url);
  const socket = connect({ host: hostname, port: Number(port) });
  const end = () => socket.destroy();
  signal.addEventListener("abort", end);
  socket.on("error", () => undefined);
  socket.once("close", () => signal.removeEventListener("abort", end));
  await Promise.race([once(socket, "connect"), once(socket, "close")]).catch(() => undefined);
  if (socket.destroyed) return undefined;
  return socket.resume();
}

/** Waits while the socket is full. @returns whether it accepts more data */
export async function send(socket: Socket, bytes: Buffer): Promise<boolean> {
  if (socket.destroyed || !socket.writable) return false;
  if (!socket.write(bytes)) {
    await new Promise<void>((resolve) => {
      const done = () => {
        socket.off("drain", done);
        socket.off("close", done);
        resolve();
      };
      socket.on("drain", done);
      socket.on("close", done);
    });
  }
  return !socket.destroyed;
}

/** A socket after `hello-ok`. */
export async function joined(lane: Lane, scopes: readonly string[] = ["operator.read"]): Promise<Socket | undefined> {
  const socket = await openSocket(lane);
  if (!socket) return undefined;
  const welcomed = new Promise<boolean>((resolve) => {
    let text = "";
    const look = (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (!text.includes("hello-ok")) return;
      socket.off("data", look);
      resolve(true);
    };
    socket.on("data", look);
    socket.once("close", () => resolve(false));
  });
  const connectBytes = clientFrame(Buffer.from(JSON.stringify(connectFrame(lane.target.token, { scopes }))));
  await send(socket, Buffer.concat([UPGRADE, connectBytes]));
  return (await welcomed) ? socket.resume() : undefined;
}

/** A request as a frame of bytes. */
export function request(method: string, params: unknown = {}, id = "1"): Buffer {
  return clientFrame(Buffer.from(JSON.stringify({ type: "req", id, method, params })));
}

/** Head and body of a POST. */
export function post(path: string, token: string, body: string, headers: readonly string[] = []): Buffer {
  const lines = [
    `POST ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Content-Type: application/json",
    `Authorization: Bearer ${token}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
}
