/** Visitors of a website: clients of the WebSocket, as the widget and other programs are. */
import { randomUUID } from "node:crypto";
import { WebSocket } from "ws";
import type { ClientFrame, ServerFrame, ShownMessage } from "../../../plugins/webchat/protocol.ts";
import { until } from "../../until.ts";

export const ORIGIN = "https://example.com";

interface TestContext {
  after(cleanUp: () => Promise<void> | void): void;
}

export type FrameOf<T extends ServerFrame["type"]> = Extract<ServerFrame, { type: T }>;

/** One socket. */
export interface Socket {
  readonly frames: readonly ServerFrame[];
  send(frame: ClientFrame | object | string): void;
  /** The frame number `count` of this type, counted from 1. */
  next<T extends ServerFrame["type"]>(type: T, count?: number): Promise<FrameOf<T>>;
  close(): void;
  /** The code with which it was closed; `undefined`: it is open. */
  code(): number | undefined;
  readonly ws: WebSocket;
}

/** Options of a socket. */
export interface SocketOptions {
  readonly account?: string;
  /** `null`: sends none. */
  readonly origin?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @param http address of the gateway. @throws Error `refused with <status>` */
export async function openSocket(
  t: TestContext,
  http: string,
  { account = "default", origin = ORIGIN, headers = {} }: SocketOptions = {},
): Promise<Socket> {
  const ws = new WebSocket(`${http.replace(/^http/, "ws")}/plugins/webchat/${account}/socket`, {
    headers: { ...headers },
    ...(origin === null ? {} : { origin }),
  });
  t.after(() => ws.terminate());
  const frames: ServerFrame[] = [];
  let code: number | undefined;
  ws.on("message", (data: Buffer) => frames.push(JSON.parse(data.toString()) as ServerFrame)); // sent by the plugin
  ws.on("close", (given) => (code = given));
  await new Promise((resolve, reject) => {
    ws.once("open", resolve);
    ws.once("error", reject);
    ws.once("unexpected-response", (request, { statusCode }) => {
      request.destroy();
      reject(new Error(`refused with ${statusCode}`));
    });
  });
  const ofType = <T extends ServerFrame["type"]>(type: T) =>
    frames.filter((frame): frame is FrameOf<T> => frame.type === type);
  return {
    ws,
    frames,
    send: (frame) => ws.send(typeof frame === "string" ? frame : JSON.stringify(frame)),
    async next(type, count = 1) {
      await until(() => ofType(type).length >= count, `${count} frames ${type}`);
      return ofType(type)[count - 1] as FrameOf<typeof type>;
    },
    close: () => ws.close(),
    code: () => code,
  };
}

/** A socket that has said hello. */
export async function meet(t: TestContext, http: string, options: SocketOptions & { readonly token?: string } = {}) {
  const { token, ...rest } = options;
  const socket = await openSocket(t, http, rest);
  socket.send({ type: "hello", ...(token === undefined ? {} : { token }) });
  return { socket, welcome: await socket.next("welcome") };
}

const AGAIN_MS = 50;

/** A visitor who connects again, and repeats messages until they are accepted. */
export interface PatientVisitor {
  /** Connects to another gateway from now on. */
  goTo(http: string): void;
  says(text: string): void;
  presses(label: string): void;
  /** Sends the last message again. */
  repeats(): void;
  /** Own and received messages, by id, as they are now. */
  readonly shown: ReadonlyMap<string, ShownMessage>;
  /** Ids and texts of the agent in the order in which they were sent or changed. */
  readonly heard: readonly { readonly id: string; readonly text: string }[];
  /** Number of typing signals. */
  typings(): number;
}

export function patientVisitor(t: TestContext, token: string): PatientVisitor {
  const shown = new Map<string, ShownMessage>();
  const heard: { id: string; text: string }[] = [];
  const waiting = new Map<string, object>();
  let last: object = {};
  let address: string | undefined;
  let [ws, isWelcome, isOver, typings] = [undefined as WebSocket | undefined, false, false, 0];
  t.after(() => {
    isOver = true;
    ws?.terminate();
  });

  const send = (frame: object) => {
    if (isWelcome) ws?.send(JSON.stringify(frame));
  };
  const submit = (frame: object) => {
    const id = randomUUID();
    last = { id, ...frame };
    waiting.set(id, last);
    send(last);
  };
  const hear = (message: ShownMessage) => {
    if (message.from === "agent" && shown.get(message.id)?.text !== message.text)
      heard.push({ id: message.id, text: message.text });
    shown.set(message.id, message);
  };

  function take(frame: ServerFrame): void {
    if (frame.type === "message") hear(frame);
    if (frame.type === "typing") typings += 1;
    if (frame.type === "accepted") waiting.delete(frame.id);
    if (frame.type === "refused" && frame.id !== undefined && frame.reason !== "rate") waiting.delete(frame.id);
    if (frame.type === "edit") {
      const { messageId: id, text, buttons } = frame;
      hear({ id, from: "agent", at: 0, text, ...(buttons ? { buttons } : {}) });
    }
    if (frame.type === "welcome") {
      isWelcome = true;
      for (const message of frame.messages) hear(message);
      for (const one of waiting.values()) send(one);
    }
  }

  function connect(): void {
    if (isOver || address === undefined) return;
    const own = new WebSocket(`${address.replace(/^http/, "ws")}/plugins/webchat/default/socket`, { origin: ORIGIN });
    ws = own;
    isWelcome = false;
    own.on("open", () => own.send(JSON.stringify({ type: "hello", token })));
    own.on("message", (data: Buffer) => take(JSON.parse(data.toString()) as ServerFrame)); // sent by the plugin
    own.on("error", () => undefined); // followed by close
    own.on("close", () => {
      if (ws !== own) return;
      isWelcome = false;
      setTimeout(() => ws === own && connect(), AGAIN_MS).unref();
    });
  }

  return {
    goTo(http) {
      address = http;
      ws?.terminate();
      connect();
    },
    says: (text) => submit({ type: "send", text }),
    presses(label) {
      const message = [...shown.values()].findLast(({ buttons }) => buttons?.flat().some((one) => one.label === label));
      const value = message?.buttons?.flat().find((one) => one.label === label)?.value;
      if (!message || value === undefined) throw new Error(`no message has a button ${label}`);
      submit({ type: "press", messageId: message.id, value });
    },
    repeats: () => send(last),
    shown,
    heard,
    typings: () => typings,
  };
}
