/** A WebSocket that sends the exact frames of a test and records every received frame. */
import { WebSocket } from "ws";

export interface RawFrame {
  readonly type: string;
  readonly id?: string;
  readonly ok?: boolean;
  readonly event?: string;
  readonly seq?: number;
  readonly payload?: Record<string, unknown>;
  readonly error?: { readonly code: string; readonly message: string; readonly details?: Record<string, unknown> };
  readonly stateVersion?: unknown;
}

export interface RawSocket {
  readonly ws: WebSocket;
  readonly frames: RawFrame[];
  send(frame: unknown): void;
  /** The first past or future frame that `matches`. */
  next(matches: (frame: RawFrame) => boolean): Promise<RawFrame>;
  /** Code and reason of the close. */
  readonly closed: Promise<{ code: number; reason: string }>;
}

/** Resolves when the socket is open and has received the challenge. */
export async function openRaw(url: string, headers: Record<string, string> = {}): Promise<RawSocket> {
  const ws = new WebSocket(url, { headers });
  const frames: RawFrame[] = [];
  const waiting = new Set<() => void>();
  ws.on("message", (data: Buffer) => {
    frames.push(JSON.parse(data.toString()) as RawFrame);
    for (const look of waiting) look();
  });
  ws.on("error", () => undefined);
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  const next = (matches: (frame: RawFrame) => boolean) =>
    new Promise<RawFrame>((resolve, reject) => {
      const look = () => {
        const found = frames.find(matches);
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
      void closed.then(({ code, reason }) => reject(new Error(`closed before the frame came: ${code} ${reason}`)));
    });
  const send = (frame: unknown) => ws.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  await next(({ event }) => event === "connect.challenge");
  return { ws, frames, send, next, closed };
}

/** A `connect` that is accepted in mode `token`; each test changes one part of it. */
export function connectFrame(
  token: string | undefined,
  params: object = {},
  frame: object = {},
): Record<string, unknown> {
  return {
    type: "req",
    id: "c1",
    method: "connect",
    ...frame,
    params: {
      minProtocol: 3,
      maxProtocol: 3,
      client: { id: "cli", version: "1", platform: "linux", mode: "cli" },
      role: "operator",
      scopes: ["operator.read", "operator.write"],
      ...(token === undefined ? {} : { auth: { token } }),
      ...params,
    },
  };
}

/** An accepted connection. */
export async function connectRaw(url: string, token: string | undefined, params: object = {}): Promise<RawSocket> {
  const socket = await openRaw(url);
  socket.send(connectFrame(token, params));
  await socket.next(({ id, ok }) => id === "c1" && ok === true);
  return socket;
}

/** `error.details` of a refused `connect`, without its advice. */
export function facts(details: unknown): unknown {
  if (typeof details !== "object" || details === null) return details;
  const { nextStep: _, ...rest } = details as { nextStep?: unknown };
  return rest;
}
