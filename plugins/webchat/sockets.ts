/** Sockets of visitors: who may open one, and what its texts do. */
import { randomBytes } from "node:crypto";
import { jsonOf } from "@svc/kit/body";
import { bounded, repeated } from "@svc/kit/channels";
import { networkOf } from "@svc/kit/net";
import { AnySignal } from "@svc/kit/time";
import { type Clock, GatewayError, type Logger, matches, notFound, unavailable } from "@svc/sdk";
import type { PluginSocket, PluginSocketEvents, RouteRequest } from "@svc/sdk";
import type { ChannelAccount, ChannelRun, InboundMessage } from "@svc/sdk/channels";
import { isAllowed, type Settings } from "./config.ts";
import { ClientFrame, FILE_PART_BYTES, type RefusedFrame, type ServerFrame, type ShownMessage } from "./protocol.ts";
import { createRate } from "./rate.ts";
import { hashOf, type Store } from "./store.ts";
import { inboundOf, newestThatFit } from "./translate.ts";

/** Sockets of one visitor, e.g. tabs. */
const MAX_TABS = 5;
/** Sockets of one address that have not said hello yet, and the milliseconds in which they must. */
const MAX_SILENT = 20;
const HELLO_MS = 10_000;
/** Texts of one socket per minute, of any type. */
const FRAMES_PER_MINUTE = 600;

/** Milliseconds for which a page that is loaded again shows that an answer is being written, and visitors that are remembered. */
const TYPING_MS = 6_000;
const MAX_TYPED = 1_000;

const CLOSE = { restart: 1012, policy: 1008, later: 1013 } as const;

/** An open socket. */
interface Connection {
  readonly network: string;
  readonly socket: PluginSocket;
  /** Aborts when the socket is closed. */
  readonly gone: AbortController;
  readonly send: (frame: ServerFrame) => void;
  /** Absent before `hello`. */
  visitor?: string;
  /** Frames that wait for the welcome, which has the messages up to now. */
  early?: ServerFrame[];
}

/** A running account. */
interface Live {
  readonly run: ChannelRun<Settings>;
  readonly connections: Set<Connection>;
}

export interface Sockets {
  /** Accepts visitors of the account until its run ends. */
  serve(run: ChannelRun<Settings>): Promise<void>;
  /** @throws GatewayError why the socket is refused */
  upgrade(
    request: Pick<RouteRequest<undefined>, "params" | "headers" | "remoteAddress">,
    socket: PluginSocket,
  ): PluginSocketEvents;
  /** Sends it to all sockets of the visitor. */
  deliver(accountId: string, visitor: string, frame: ServerFrame): void;
  /** Number of open sockets. */
  count(accountId: string): number;
}

export interface SocketSources {
  readonly accounts: readonly Pick<ChannelAccount<Settings>, "id">[];
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
}

export function createSockets({ accounts, store, clock, log }: SocketSources): Sockets {
  const running = new Map<string, Live>();
  const [messages, arrivals, frames] = [createRate(clock), createRate(clock), createRate(clock)];
  const typed = bounded<number>(MAX_TYPED);
  let serial = 0;

  function deliver(accountId: string, visitor: string, frame: ServerFrame, except?: Connection): void {
    if (frame.type === "typing") typed.set(`${accountId} ${visitor}`, clock.elapsed() + TYPING_MS);
    for (const connection of running.get(accountId)?.connections ?? [])
      if (connection.visitor === visitor && connection !== except) pass(connection, frame);
  }

  /** Recognizes or registers the visitor, and shows the conversation. */
  async function hello(live: Live, connection: Connection, given: string | undefined): Promise<void> {
    const { accountId, settings, alive } = live.run;
    const { visitorDays: days, visitorsPerMinute, historyMessages, greeting } = settings;
    const close = (code: number, frame: Omit<RefusedFrame, "type">) => {
      connection.send({ type: "refused", ...frame });
      connection.socket.close(code, frame.reason);
    };
    let visitor = given === undefined ? undefined : await find(live.run, given);
    let token: string | undefined;
    if (visitor === undefined) {
      const retryAfterMs = arrivals.take(`${accountId} ${connection.network}`, visitorsPerMinute);
      if (retryAfterMs > 0) return close(CLOSE.later, { reason: "rate", retryAfterMs });
      token = randomBytes(32).toString("base64url");
      visitor = randomBytes(16).toString("hex");
      await store.addVisitor({ account: accountId, visitor }, token, days, clock.now());
    }
    const tabs = [...live.connections].filter((other) => other.visitor === visitor);
    if (tabs.length >= MAX_TABS) return close(CLOSE.policy, { reason: "tabs" });
    connection.early = [];
    connection.visitor = visitor;
    const newest = newestThatFit(await store.newest({ account: accountId, visitor }, historyMessages));
    connection.send({
      type: "welcome",
      visitor,
      ...(token === undefined ? {} : { token }),
      ...(greeting === undefined ? {} : { greeting }),
      messages: newest,
    });
    const { early } = connection;
    delete connection.early;
    for (const frame of early) connection.send(frame);
    if ((typed.get(`${accountId} ${visitor}`) ?? 0) > clock.elapsed()) connection.send({ type: "typing" });
    alive();
  }

  async function find({ accountId, settings }: ChannelRun<Settings>, token: string): Promise<string | undefined> {
    const hash = hashOf(token);
    const known = Object.entries(settings.knownVisitors).find(([, tokenHash]) => tokenHash === hash);
    return known?.[0] ?? store.visitorOf(accountId, token, settings.visitorDays, clock.now());
  }

  /** Stores and submits a message. Only then is it accepted; the client repeats it until then. */
  async function submit(live: Live, connection: Connection, visitor: string, words: Words): Promise<void> {
    const { accountId, settings, receive, signal } = live.run;
    const { id } = words;
    const retryAfterMs = messages.take(`${accountId} ${visitor}`, settings.messagesPerMinute);
    if (retryAfterMs > 0) return connection.send({ type: "refused", id, reason: "rate", retryAfterMs });
    const place = { account: accountId, visitor };
    const shown: ShownMessage = { id: `v-${id}`, from: "visitor", text: words.text, at: clock.now() };
    const isNew = await store.add(place, shown, settings.visitorDays);
    const ending = new AnySignal(signal, connection.gone.signal);
    const message = inboundOf(visitor, shown, words.event);
    const receipt = await repeated(() => receive(message), { clock, log, signal: ending.signal }).finally(() =>
      ending.release(),
    );
    if (receipt.accepted || receipt.reason === "duplicate") {
      connection.send({ type: "accepted", id, messageId: shown.id });
      if (isNew) deliver(accountId, visitor, { type: "message", ...shown }, connection);
      return;
    }
    if (isNew) await store.remove(place, shown.id);
    connection.send({ type: "refused", id, reason: receipt.reason });
  }

  async function act(live: Live, connection: Connection, visitor: string, frame: ClientFrame): Promise<void> {
    const place = { account: live.run.accountId, visitor };
    if (frame.type === "send") return submit(live, connection, visitor, frame);
    if (frame.type === "press") {
      const { id, messageId, value } = frame;
      const buttons = (await store.find(place, messageId))?.buttons?.flat();
      const label = buttons?.find((button) => button.value === value)?.label;
      if (label === undefined) return connection.send({ type: "refused", id, reason: "gone" });
      return submit(live, connection, visitor, { id, text: label, event: { kind: "button", messageId, value } });
    }
    if (frame.type === "file") {
      const { messageId, offset } = frame;
      const size = (await store.find(place, messageId))?.file?.size ?? 0;
      const part = await store.filePart(place, messageId, offset, FILE_PART_BYTES);
      if (!part || offset >= size) return connection.send({ type: "refused", id: messageId, reason: "gone" });
      const data = Buffer.from(part).toString("base64");
      return connection.send({ type: "file", messageId, offset, data, isLast: offset + part.byteLength >= size });
    }
    connection.send({ type: "refused", reason: "invalid" });
  }

  return {
    async serve(run) {
      if (run.signal.aborted) return;
      const live: Live = { run, connections: new Set() };
      running.set(run.accountId, live);
      run.report({ state: "connected" });
      await new Promise((resolve) => run.signal.addEventListener("abort", resolve, { once: true }));
      if (running.get(run.accountId) === live) running.delete(run.accountId);
      for (const { socket } of live.connections) socket.close(CLOSE.restart, "the account stops");
    },

    upgrade({ params, headers, remoteAddress }, socket) {
      const { account = "" } = params;
      if (!accounts.some(({ id }) => id === account)) notFound("no such account");
      const live = running.get(account) ?? unavailable("the account does not run", { retryAfterMs: 5_000 });
      const { origin } = headers;
      if (!isAllowed(typeof origin === "string" ? origin : undefined, live.run.settings))
        throw new GatewayError("FORBIDDEN", "this origin is not allowed; next: add it to allowedOrigins");
      if (live.connections.size >= live.run.settings.maxVisitors)
        unavailable("too many visitors are connected", { retryAfterMs: 10_000 });
      const network = networkOf(remoteAddress);
      const silent = [...live.connections].filter((other) => other.network === network && other.visitor === undefined);
      if (silent.length >= MAX_SILENT)
        throw new GatewayError("TOO_MANY_ATTEMPTS", "too many connections without a hello", { retryAfterMs: HELLO_MS });

      const key = `${(serial += 1)}`;
      const gone = new AbortController();
      const connection: Connection = { network, socket, gone, send: (frame) => socket.send(JSON.stringify(frame)) };
      live.connections.add(connection);
      const stopWaiting = clock.setTimeout(() => {
        if (connection.visitor === undefined) socket.close(CLOSE.policy, "no hello");
      }, HELLO_MS);
      return {
        async message(text) {
          if (frames.take(key, FRAMES_PER_MINUTE) > 0) return socket.close(CLOSE.policy, "too many texts");
          const frame = parsed(text);
          if (!frame) return connection.send({ type: "refused", reason: "invalid" });
          const { visitor } = connection;
          try {
            if (visitor !== undefined) return await act(live, connection, visitor, frame);
            if (frame.type === "hello") return await hello(live, connection, frame.token);
          } catch (error) {
            // The client repeats what was not accepted on its next socket.
            if (!gone.signal.aborted && !live.run.signal.aborted) throw error;
            return;
          }
          connection.send({ type: "refused", reason: "hello" });
          socket.close(CLOSE.policy, "hello must be first");
        },
        closed() {
          stopWaiting();
          gone.abort();
          live.connections.delete(connection);
        },
      };
    },

    deliver,
    count: (accountId) => running.get(accountId)?.connections.size ?? 0,
  };
}

interface Words {
  readonly id: string;
  readonly text: string;
  readonly event?: InboundMessage["event"];
}

/** Sends the frame, after the welcome if that is still being written. */
function pass({ early, send }: Connection, frame: ServerFrame): void {
  if (early) early.push(frame);
  else send(frame);
}

function parsed(text: string): ClientFrame | undefined {
  const frame = jsonOf(text);
  return matches(ClientFrame, frame) ? frame : undefined;
}
