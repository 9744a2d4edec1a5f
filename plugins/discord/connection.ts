/** One run of an account: its connection to the gateway of Discord. With `api.ts`, the only file that uses the network. */
import type { API } from "@discordjs/core";
import type { REST } from "@discordjs/rest";
import type { SimpleShardingStrategy, WebSocketManager } from "@discordjs/ws";
import { type Clock, lazy, type Logger, messageOf, unavailable, withStrayErrors } from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";
import { intentHint, isTokenRefused, registerCommands, toGatewayError, TOKEN_REFUSED } from "./api.ts";
import type { Settings } from "./config.ts";
import { createInbox } from "./inbox.ts";
import type { Memory } from "./memory.ts";

/** Milliseconds until the run ends if the library cannot connect or reconnect. */
const CONNECT_MS = 30_000;
/** Milliseconds after which a connection counts as a success. */
const STABLE_MS = 30_000;
/** Failures in a row after which the library may connect again; with one more the run ends: Discord resets the token of a bot that logs in a thousand times a day. */
const MAX_FAILURES = 3;
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
const [NORMAL, RESUMABLE, AUTHENTICATION_FAILED, DISALLOWED_INTENTS] = [1000, 4200, 4004, 4014];
/** Close codes after which the next connection fails in the same way: invalid shard, API version or intents. */
const FATAL = new Set([4010, 4011, 4012, 4013]);

const library = lazy(() => import("@discordjs/ws"));

export interface Surroundings {
  readonly api: API;
  readonly memory: Memory;
  readonly clock: Pick<Clock, "elapsed" | "setTimeout" | "setInterval">;
  readonly log: Logger;
}

/** @throws GatewayError or Error with the reason if the run ended without an abort or a missing login */
export async function live(run: ChannelRun<Settings>, { api, memory, clock, log }: Surroundings): Promise<void> {
  const { settings, signal } = run;
  if (signal.aborted) return;
  run.report({ state: "connecting" });
  const { WebSocketManager, SimpleShardingStrategy, SimpleIdentifyThrottler, WebSocketShardEvents } = await library();
  if (signal.aborted) return;

  const ending = createEnding(run);
  const { over, end, needsLogin } = ending;
  const inbox = createInbox(run, { api, memory, clock, log, signal: over });
  let received = memory.session;
  let connectedAt: number | undefined;
  let failures = 0;
  let strategy: SimpleShardingStrategy | undefined;
  const deadline = createDeadline(clock, () => end(new Error("Discord did not complete the connection in time")));

  const manager = new WebSocketManager({
    token: settings.token,
    intents: GUILDS | EVENTS | (settings.messageContent ? MESSAGE_CONTENT : 0),
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

  const connected = () => {
    deadline.cancel();
    connectedAt = clock.elapsed();
    heartbeats.start();
    run.report({ state: "connected", detail: `as ${memory.self?.name ?? "the bot"}` });
    run.alive();
  };
  const closed = (code: number) => {
    if (over.aborted) return;
    heartbeats.stop();
    const detail = `Discord closed the connection (${code})`;
    if (code === AUTHENTICATION_FAILED) return needsLogin(TOKEN_REFUSED);
    if (code === DISALLOWED_INTENTS)
      return needsLogin(`the intent MESSAGE_CONTENT is not allowed: ${intentHint(memory.self?.applicationId)}`);
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
    connected();
    void registerCommands(run.commands, application.id, api, over).catch((error: unknown) =>
      log.warn({ reason: messageOf(error) }, "the command menu of Discord could not be changed"),
    );
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
  try {
    withStrayErrors(
      (error) => end(new Error(`the library of Discord failed: ${messageOf(error)}`)),
      () =>
        void manager.connect().catch((error: unknown) => {
          if (isTokenRefused(error)) needsLogin(TOKEN_REFUSED);
          else end(toGatewayError(error));
        }),
    );
    await ending.ended;
  } finally {
    heartbeats.stop();
    deadline.cancel();
    ending.release();
    // The session is kept if the next run needs it: Discord then repeats what was not processed.
    const processed = received && { ...received, sequence: inbox.processed(received.sequence) };
    memory.session = ending.failure() || processed?.sequence !== received?.sequence ? processed : undefined;
    await close(manager, strategy, { code: memory.session ? RESUMABLE : NORMAL, clock });
  }
}

/** How the run ends; only the first reason counts. */
function createEnding({ signal, report }: Pick<ChannelRun, "signal" | "report">) {
  const controller = new AbortController();
  let failure: Error | undefined;
  let settle: (error?: Error) => void = () => {};
  const ended = new Promise<void>((resolve, reject) => {
    settle = (error) => (error ? reject(error) : resolve());
  });
  const end = (error?: Error) => {
    if (controller.signal.aborted) return;
    failure = error;
    controller.abort();
    settle(error);
  };
  const stop = () => end();
  signal.addEventListener("abort", stop, { once: true });
  return {
    /** Aborts when the run is over. */
    over: controller.signal,
    ended,
    end,
    needsLogin(detail: string) {
      report({ state: "needs-login", detail });
      end();
    },
    failure: () => failure,
    release: () => signal.removeEventListener("abort", stop),
  };
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
  { code, clock }: { code: number; clock: Pick<Clock, "setTimeout"> },
): Promise<void> {
  const socket = socketOf(strategy);
  withStrayErrors(
    () => {},
    () => void Promise.resolve(manager.destroy({ code })).catch(() => {}), // never settles in some states
  );
  if (!socket || socket.readyState === CLOSED) return;
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", resolve));
  const cancel = clock.setTimeout(() => socket.terminate(), socket.readyState === CONNECTING ? 0 : FAREWELL_MS);
  await closed;
  cancel();
}
