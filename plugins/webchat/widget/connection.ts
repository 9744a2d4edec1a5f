/** The socket to the gateway: says hello, connects again, and repeats messages until they are accepted. */
import type { ClientFrame, ServerFrame } from "../protocol.ts";

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

type Outgoing = Extract<ClientFrame, { id: string }>;

export interface Connection {
  /** Sends a message or a press now, or with the next connection; again until the gateway has answered. */
  submit(frame: Outgoing): void;
  /** Sends a request that is lost with the connection. */
  ask(frame: ClientFrame): void;
}

export function connect(
  url: string,
  onFrame: (frame: ServerFrame) => void,
  onState: (isConnected: boolean) => void,
): Connection {
  const key = `svc-webchat ${url}`;
  const waiting = new Map<string, Outgoing>();
  let token = remembered(key);
  let socket: WebSocket | undefined;
  let isWelcome = false;
  let pauseMs = FIRST_PAUSE_MS;
  let notBeforeMs = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const send = (frame: ClientFrame) => {
    if (isWelcome) socket?.send(JSON.stringify(frame));
  };

  function take(frame: ServerFrame): void {
    if (frame.type === "welcome") {
      isWelcome = true;
      pauseMs = FIRST_PAUSE_MS;
      if (frame.token !== undefined) token = remembered(key, frame.token);
      onState(true);
      onFrame(frame);
      for (const one of waiting.values()) send(one);
      return;
    }
    if (frame.type === "refused" && frame.reason === "rate") {
      const again = frame.id === undefined ? undefined : waiting.get(frame.id);
      if (again) setTimeout(() => waiting.has(again.id) && send(again), frame.retryAfterMs ?? LONGEST_PAUSE_MS);
      else notBeforeMs = frame.retryAfterMs ?? LONGEST_PAUSE_MS;
    } else if (frame.type === "refused" && frame.reason === "tabs") notBeforeMs = LONGEST_PAUSE_MS;
    else if ((frame.type === "accepted" || frame.type === "refused") && frame.id !== undefined)
      waiting.delete(frame.id);
    onFrame(frame);
  }

  function open(): void {
    clearTimeout(timer);
    const own = (socket = new WebSocket(url));
    own.onopen = () => own.send(JSON.stringify({ type: "hello", ...(token === undefined ? {} : { token }) }));
    own.onmessage = ({ data }) => take(JSON.parse(String(data)) as ServerFrame); // written by the gateway
    own.onclose = () => {
      isWelcome = false;
      onState(false);
      timer = setTimeout(open, Math.max(notBeforeMs, pauseMs * (0.75 + Math.random() / 2)));
      [pauseMs, notBeforeMs] = [Math.min(pauseMs * 2, LONGEST_PAUSE_MS), 0];
    };
  }
  addEventListener("online", () => socket?.readyState === WebSocket.CLOSED && open());
  open();

  return {
    submit(frame) {
      waiting.set(frame.id, frame);
      send(frame);
    },
    ask: send,
  };
}

/** The stored token, or a new one. Storage is refused in some browsers; the conversation then ends with the page. */
function remembered(key: string, token?: string): string | undefined {
  try {
    if (token !== undefined) localStorage.setItem(key, token);
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return token;
  }
}
