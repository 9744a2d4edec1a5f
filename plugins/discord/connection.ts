/** One run of an account: its connection to the gateway of Discord. With `api.ts`, the only file that uses the network. */
import type { API } from "@discordjs/core";
import type { REST } from "@discordjs/rest";
import type { SimpleShardingStrategy, WebSocketManager } from "@discordjs/ws";
import { AnySignal } from "@svc/kit/time";
import {
  type Clock,
  GatewayError,
  lazy,
  type Logger,
  messageOf,
  unavailable,
  untilAborted,
  withStrayErrors,
} from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";
import { intentHint, registerCommands, toGatewayError, TOKEN_REFUSED } from "./api.ts";
import type { Settings } from "./config.ts";
import { createInbox } from "./inbox.ts";
import type { Memory } from "./memory.ts";
import { storedSession } from "./session.ts";

/** Milliseconds until the run ends if the library cannot connect or reconnect. */
const CONNECT_MS = 30_000;
/** Milliseconds after which a connection counts as a success. */
const STABLE_MS = 30_000;
/** Failures in a row after which the library may connect again; with one more the run ends: Discord resets the token of a bot that logs in a thousand times a day. */
const MAX_FAILURES = 3;
/** Milliseconds between two writes of the session. */
const SAVE_EVERY_MS = 2_000;
/** Milliseconds to wait until Discord closes the connection. */
const FAREWELL_MS = 500;

const GUILDS = 1;
const MESSAGE_CONTENT = 1 << 15;
/** Messages, reactions and polls, in servers and direct chats. */
const EVENTS = (1 << 9) | (1 << 10) | (1 << 12) | (1 << 13) | (1 << 24) | (1 << 25);
const SHARD = 0;
const HEARTBEAT = 1;

/** First close code of Discord; lower ones are of the protocol WebSocket. */
const FIRST_CODE = 4000;
/** With `RESUMABLE`, Discord keeps the session. */
const [RESUMABLE, AUTHENTICATION_FAILED, DISALLOWED_INTENTS] = [4200, 4004, 4014];
/** Close codes after which the next connection fails in the same way: invalid shard, API version or intents. */
const FATAL = new Set([4010, 4011, 4012, 4013]);

const library = lazy(() => import("@discordjs/ws"));

interface Surroundings {
  readonly api: API;
  readonly memory: Memory;
  readonly clock: Pick<Clock, "elapsed" | "setTimeout" | "setInterval">;
  readonly log: Logger;
}

/** @throws GatewayError `NOT_LINKED`: the token or the intents are refused; GatewayError or Error with another reason of the end */
export async function live(run: ChannelRun<Settings>, { api, memory, clock, log }: Surroundings): Promise<void> {
  const { settings, signal } = run;
  if (signal.aborted) return;
  run.report({ state: "connecting" });
  const { WebSocketManager, SimpleShardingStrategy, SimpleIdentifyThrottler, WebSocketShardEvents } = await library();
  const intents = GUILDS | EVENTS | (settings.messageContent ? MESSAGE_CONTENT : 0);
  const stored = storedSession(run, [settings.apiUrl, settings.token, intents], memory);
  let received = await stored.read();
  if (signal.aborted) return;

  const ending = new AnySignal(signal);
  const over = ending.signal;
  /** Only the first reason counts. */
  const end = (error: Error) => ending.abort(error);
  const inbox = createInbox(run, { api, memory, clock, log, signal: over });
  let connectedAt: number | undefined;
  let failures = 0;
  let isRegistered = false;
  let strategy: SimpleShardingStrategy | undefined;
  const deadline = createDeadline(clock, () => end(new Error("Discord did not complete the connection in time")));

  const manager = new WebSocketManager({
    token: settings.token,
    intents,
    shardCount: 1,
    rest: gatewayAddress(api, over),
    buildIdentifyThrottler: () => new SimpleIdentifyThrottler(1),
    buildStrategy: (owner) => (strategy = new SimpleShardingStrategy(owner)),
    handshakeTimeout: 10_000,
    helloTimeout: 10_000,
    // Every connection and heartbeat of the library begins with this call, so a run that is over starts no more of them.
    retrieveSessionInfo: () => (over.aborted ? new Promise<never>(() => {}) : (received ?? null)),
    updateSessionInfo: (_, session) => {
      if (!over.aborted) received = session ?? undefined;
    },
  });
  const heartbeats = createHeartbeats(clock, {
    intervalMs: settings.heartbeatMs,
    send: async () => manager.send(SHARD, { op: HEARTBEAT, d: received?.sequence ?? null }),
    onSilence: () => socketOf(strategy)?.terminate(),
  });

  const save = async () => {
    if (!received) return;
    try {
      await stored.save({ ...received, sequence: inbox.processed(received.sequence) });
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "a session with Discord was not saved");
    }
  };

  const connected = () => {
    deadline.cancel();
    connectedAt = clock.elapsed();
    heartbeats.start();
    run.report({ state: "connected", detail: `as ${memory.self?.name ?? "the bot"}` });
    run.alive();
    if (isRegistered || !memory.self) return;
    isRegistered = true;
    void registerCommands(run.commands, memory.self.applicationId, api, over).catch((error: unknown) =>
      log.warn({ reason: messageOf(error) }, "the command menu of Discord could not be changed"),
    );
  };
  const closed = (code: number) => {
    if (over.aborted) return;
    heartbeats.stop();
    const detail = `Discord closed the connection (${code})`;
    if (code === AUTHENTICATION_FAILED) return end(new GatewayError("NOT_LINKED", TOKEN_REFUSED));
    if (code === DISALLOWED_INTENTS) {
      const hint = intentHint(memory.self?.applicationId);
      return end(new GatewayError("NOT_LINKED", `the intent MESSAGE_CONTENT is not allowed: ${hint}`));
    }
    const wasConnected = connectedAt !== undefined;
    failures = connectedAt !== undefined && clock.elapsed() - connectedAt > STABLE_MS ? 1 : failures + 1;
    connectedAt = undefined;
    if (!wasConnected && code >= FIRST_CODE && code !== RESUMABLE) received = undefined; // Discord does not resume it
    run.report({ state: "disconnected", detail });
    if (FATAL.has(code) || failures > MAX_FAILURES) end(new Error(detail));
    else deadline.start(CONNECT_MS);
  };

  manager.on(WebSocketShardEvents.Ready, ({ user, application }) => {
    memory.self = { id: user.id, name: user.username, applicationId: application.id };
    void save();
    connected();
  });
  manager.on(WebSocketShardEvents.Resumed, connected);
  manager.on(WebSocketShardEvents.HeartbeatComplete, () => {
    heartbeats.heard();
    run.alive();
  });
  manager.on(WebSocketShardEvents.Dispatch, (event) => {
    heartbeats.heard();
    if (!inbox.take(event)) end(new Error("too many events of Discord wait for the gateway"));
  });
  manager.on(WebSocketShardEvents.Closed, closed);
  manager.on(WebSocketShardEvents.Error, () => {}); // reported with its close code
  manager.on(WebSocketShardEvents.SocketError, (error) =>
    log.debug({ reason: messageOf(error) }, "the connection to Discord failed"),
  );

  deadline.start(CONNECT_MS);
  const stopSaving = clock.setInterval(() => void save(), SAVE_EVERY_MS);
  try {
    withStrayErrors(
      (error) => end(new Error(`the library of Discord failed: ${messageOf(error)}`)),
      () => void manager.connect().catch((error: unknown) => end(toGatewayError(error))),
    );
    await untilAborted(new Promise<never>(() => {}), over);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    heartbeats.stop();
    deadline.cancel();
    ending.release();
    stopSaving();
    await Promise.all([save(), close(manager, strategy, clock)]);
  }
}

function createDeadline(clock: Pick<Clock, "setTimeout">, onLate: () => void) {
  let cancel = () => {};
  return {
    start(ms: number) {
      cancel();
      cancel = clock.setTimeout(onLate, ms);
    },
    cancel: () => cancel(),
  };
}

interface Heartbeats {
  readonly intervalMs: number;
  send(): Promise<void>;
  onSilence(): void;
}

/** Heartbeats while connected: the library notices a silent connection only after two intervals of Discord, about 80 seconds. */
function createHeartbeats(clock: Pick<Clock, "setInterval">, { intervalMs, send, onSilence }: Heartbeats) {
  let isUnanswered = false;
  let cancel = () => {};
  const beat = () => {
    // Answers that waited for a busy event loop are read before the callback of `setImmediate`.
    if (isUnanswered) return void setImmediate(() => isUnanswered && onSilence());
    isUnanswered = true;
    send().catch(() => {}); // closed meanwhile
  };
  const stop = () => cancel();
  return {
    start() {
      stop();
      isUnanswered = false;
      cancel = clock.setInterval(beat, intervalMs);
    },
    stop,
    heard: () => void (isUnanswered = false),
  };
}

/** The part of the library's client that its connection uses. It cannot be stopped, and does not check the address. */
function gatewayAddress(api: API, signal: AbortSignal): REST {
  const client = {
    async get() {
      const info = await api.gateway.getBot({ signal });
      if (!/^wss?:\/\//.test(info.url)) unavailable("Discord sent an invalid address of its gateway");
      return info;
    },
  };
  return client as unknown as REST; // only `get` is called
}

interface Socket {
  readonly readyState: number;
  on(event: "error", listener: () => void): unknown;
  once(event: "close", listener: () => void): unknown;
  terminate(): void;
}
const [CONNECTING, CLOSED] = [0, 3];

/** The library closes silent connections only after 30 seconds, and none that is still connecting: that needs the socket. */
function socketOf(strategy: SimpleShardingStrategy | undefined): Socket | undefined {
  const shards = strategy?.["shards"] as ReadonlyMap<number, { readonly connection: Socket | null }> | undefined; // private, so it has no type
  return shards?.get(SHARD)?.connection ?? undefined;
}

async function close(
  manager: WebSocketManager,
  strategy: SimpleShardingStrategy | undefined,
  clock: Pick<Clock, "setTimeout">,
): Promise<void> {
  const socket = socketOf(strategy);
  withStrayErrors(
    () => {},
    () => void Promise.resolve(manager.destroy({ code: RESUMABLE })).catch(() => {}), // never settles in some states
  );
  if (!socket || socket.readyState === CLOSED) return;
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", resolve));
  const cancel = clock.setTimeout(() => socket.terminate(), socket.readyState === CONNECTING ? 0 : FAREWELL_MS);
  await closed;
  cancel();
}
