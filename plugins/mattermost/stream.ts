/** The event stream of a server: one WebSocket from start to end. */
import { type Clock, lazy, type Logger, messageOf, unavailable } from "@svc/sdk";
import type { WebSocket } from "ws";
import type { Settings } from "./config.ts";
import { type Frame, type NetworkEvent, readEvent, readFrame } from "./events.ts";

/** Milliseconds until the server has accepted the token. */
const CONNECT_MS = 10_000;
/** Maximum bytes of an event: a post, its properties and small previews of its files. */
const MAX_EVENT_BYTES = 16_000_000;
/** Maximum events about messages that wait for the gateway; with more, the stream ends, and the next run fetches the posts. */
const MAX_WAITING = 2_000;

export interface StreamContext {
  readonly clock: Pick<Clock, "setTimeout" | "setInterval">;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The server has answered. */
  readonly onAlive: () => void;
  /** The established stream was lost; events that have arrived can still be read. */
  readonly onLost: (reason: string) => void;
}

export interface Stream {
  /** The next event, in order; `undefined` after an abort. @throws GatewayError `UNAVAILABLE`: the stream was lost */
  next(): Promise<NetworkEvent | undefined>;
  /** Resolves when the socket is closed. Safe to call twice. */
  close(): Promise<void>;
}

const library = lazy(() => import("ws"));

/**
 * Resolves when the server has accepted the token, or after an abort.
 * @throws GatewayError `UNAVAILABLE`: the server cannot be reached, or it closed the connection
 */
export async function openStream(settings: Settings, context: StreamContext): Promise<Stream> {
  const { WebSocket } = await library();
  const url = `${settings.baseUrl.replace(/^http/, "ws")}/api/v4/websocket`;
  const socket = new WebSocket(url, {
    handshakeTimeout: CONNECT_MS,
    maxPayload: MAX_EVENT_BYTES,
    perMessageDeflate: false,
  });
  const stream = follow(socket, settings, context);
  try {
    await stream.opened;
  } catch (error) {
    await stream.close();
    throw error;
  }
  return stream;
}

function follow(
  socket: WebSocket,
  { botToken, pingMs }: Settings,
  { clock, log, signal, onAlive, onLost }: StreamContext,
): Stream & { readonly opened: Promise<void> } {
  const waiting: NetworkEvent[] = [];
  let open = () => {};
  let onClosed = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const closed = new Promise<void>((resolve) => (onClosed = resolve));
  let isOpen = false;
  let over: string | undefined;
  let wake = () => {};
  let requests = 0;
  /** `seq` of the next event. */
  let expected = 0;
  let cancelDeadline: (() => void) | undefined = clock.setTimeout(
    () => end("it did not accept the token in time"),
    CONNECT_MS,
  );
  let stopPings = () => {};

  const request = (action: string, data?: object) => socket.send(JSON.stringify({ seq: ++requests, action, data }));
  const end = (reason: string) => {
    if (over !== undefined) return;
    over = reason;
    cancelDeadline?.();
    stopPings();
    signal.removeEventListener("abort", onAbort);
    socket.terminate();
    open();
    wake();
    if (isOpen && !signal.aborted) onLost(reason);
  };
  const answered = () => {
    cancelDeadline?.();
    cancelDeadline = undefined;
    onAlive();
  };
  const onAbort = () => end("the account was stopped");
  const ping = () => {
    request("ping");
    cancelDeadline ??= clock.setTimeout(() => end("it does not answer"), pingMs * 1.25);
  };
  const onFrame = (frame: Frame) => {
    if (frame.seq_reply !== undefined) {
      if (!isOpen && frame.status === "FAIL") end("it refused the token");
      return;
    }
    if (frame.seq === undefined) return log.warn({}, "a message of the Mattermost server without a number was skipped");
    // Events are missing; the next run fetches the posts.
    if (frame.seq !== expected) return end(`event ${expected} is missing`);
    expected += 1;
    if (frame.event === "hello" && !isOpen) {
      isOpen = true;
      answered();
      stopPings = clock.setInterval(ping, pingMs);
      return open();
    }
    const event = readEvent(frame);
    if (!event) return;
    if (waiting.length === MAX_WAITING) return end("too many events are waiting for the gateway");
    waiting.push(event);
    wake();
  };

  socket.on("open", () => request("authentication_challenge", { token: botToken }));
  socket.on("message", (bytes) => {
    if (over !== undefined) return;
    if (isOpen) answered();
    try {
      onFrame(readFrame(Buffer.isBuffer(bytes) ? bytes.toString("utf8") : ""));
    } catch (error) {
      log.warn({ err: error }, "a malformed message of the Mattermost server was skipped");
    }
  });
  socket.on("error", (error) => end(messageOf(error)));
  socket.on("close", () => {
    end("it closed the connection");
    onClosed();
  });
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();

  const lost = () => unavailable(`the connection to the Mattermost server ended: ${over}`);
  return {
    opened: opened.then(() => (isOpen || signal.aborted ? undefined : lost())),
    async next() {
      for (;;) {
        if (signal.aborted) return undefined;
        const event = waiting.shift();
        if (event) return event;
        if (over !== undefined) return lost();
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    close() {
      end("it is no longer needed");
      return closed;
    },
  };
}
