/** Allows one gateway per state directory: a second one would end the runs of the first and write the same files. */
import { messageOf } from "@svc/sdk/errors";
import { once } from "node:events";
import { chmodSync, closeSync, existsSync, openSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { withWriteLock } from "@svc/sdk/files";
import { stopWithinMs } from "./drain.ts";

/** Maximum bytes of a socket path that every system accepts. */
const LONGEST_PATH = 100;
/** Choice: milliseconds to wait for the holder's description. A suspended holder does not answer but still holds the lock. */
const ANSWER_MS = 500;

/** Message that makes the holder stop. Only a process with access to the socket can send it. */
const STOP = "stop\n";
/** Milliseconds between two checks whether the holder is gone. */
const LOOK_EVERY_MS = 100;

export interface StateLock {
  /** Why a second gateway would not be detected; `undefined`: it would be. */
  readonly warning?: string;
  /** Resolves when a process with access to the state directory asks the gateway to stop: `svc gateway stop`. */
  readonly toldToStop: Promise<void>;
  /** Sets the description that later processes receive of the gateway holding the directory. Called again after each restart. */
  describe(facts: () => HeldBy): void;
  /** Safe to call twice. */
  release(): void;
}

/** Another gateway uses the directory; a caller may treat this as success. */
export class StateDirHeld extends Error {
  override readonly name = "StateDirHeld";
}

/** Description of the gateway that holds a state directory. */
export interface HeldBy {
  readonly url: string;
  /** Milliseconds its stop waits for work in flight. */
  readonly drainMs: number;
  /** Ids of plugins with work in flight. */
  readonly busy: readonly string[];
  /** Number of connected clients. */
  readonly clients: number;
  /** Number of other gateways on the same state. */
  readonly others: number;
}

/** A holder's description of itself. Fields are missing if it is suspended, still starting, or of an older version. */
export interface Holder extends Partial<HeldBy> {
  readonly pid?: number;
  readonly startedAt?: string;
}

/**
 * Holds the directory, which must exist, until `release` or the end of the process.
 * Choice: a socket instead of a file with a process id. The system closes it however the process ends, and other containers
 * can query it, so a lock is never stale. On a file system without sockets the gateway starts without a lock.
 * @throws StateDirHeld when another gateway holds the directory
 */
export async function lockStateDir(stateDir: string): Promise<StateLock> {
  const place = placeIn(stateDir);
  if (!place) return unlocked("its path is too long for a socket");
  const self = { pid: process.pid, startedAt: new Date().toISOString() };
  let facts = (): Partial<HeldBy> => ({});
  let stop = () => {};
  const toldToStop = new Promise<void>((resolve) => (stop = resolve));
  const answer = (socket: Socket) => {
    socket.on("error", () => {}).on("data", (said) => said.toString() === STOP && stop());
    socket.end(JSON.stringify({ ...self, ...facts() }));
  };
  let server: Server | undefined;
  try {
    server = (await listen(place.path, answer)) ?? (await takeOver(place.path, stateDir, answer));
  } catch (error) {
    place.close();
    if (error instanceof StateDirHeld) throw error;
    return unlocked(messageOf(error));
  }
  if (!server) {
    place.close();
    throw taken(stateDir, {});
  }
  const held = server.on("close", place.close);
  return {
    toldToStop,
    describe: (said) => void (facts = said),
    release: () => void held.close(),
  };
}

/** The gateway that holds the directory, as it describes itself; `undefined` if none does. */
export async function stateHolder(stateDir: string): Promise<Holder | undefined> {
  if (!existsSync(stateDir)) return undefined;
  const place = placeIn(stateDir);
  try {
    return place && (await holderOf(place.path));
  } finally {
    place?.close();
  }
}

/**
 * Stops the gateway on this state directory, however it was started, and waits until it is gone.
 * Choice: through the socket instead of a signal, because its process id means another process in another container.
 * @param waits called once if the gateway waits for work in flight
 * @returns the stopped gateway; `undefined` if none runs @throws Error when it still runs after `stopWithinMs`
 */
export async function stopHolder(stateDir: string, waits: (holder: Holder) => void): Promise<Holder | undefined> {
  const place = placeIn(stateDir);
  try {
    const holder = place && (await holderOf(place.path, STOP));
    if (!place || !holder) return undefined;
    if (holder.busy?.length) waits(holder);
    const withinMs = stopWithinMs(holder.drainMs);
    for (const until = performance.now() + withinMs; performance.now() < until; await pause(LOOK_EVERY_MS))
      if (!(await holderOf(place.path))) return holder;
    throw new Error(
      `the gateway is still running after ${withinMs / 1_000} s (process ${holder.pid ?? "unknown"})\nNext: svc logs, or kill that process`,
    );
  } finally {
    place?.close();
  }
}

/** Path of the socket. On Linux, a path that is too long is shortened through the directory's descriptor. */
function placeIn(stateDir: string): { readonly path: string; close(): void } | undefined {
  const path = join(stateDir, "gateway.sock");
  if (Buffer.byteLength(path) <= LONGEST_PATH) return { path, close() {} };
  if (process.platform !== "linux") return undefined;
  const directory = openSync(stateDir, "r");
  let isOpen = true;
  const close = () => {
    if (isOpen) closeSync(directory);
    isOpen = false;
  };
  return { path: `/proc/self/fd/${directory}/gateway.sock`, close };
}

/** Replaces the socket of a killed gateway, under a lock: otherwise another process could remove the socket just created. */
async function takeOver(path: string, stateDir: string, answer: (socket: Socket) => void): Promise<Server | undefined> {
  return withWriteLock(join(stateDir, "gateway.sock"), async () => {
    const holder = await holderOf(path);
    if (holder) throw taken(stateDir, holder);
    rmSync(path, { force: true });
    return listen(path, answer);
  });
}

function unlocked(why: string): StateLock {
  const warning = `a second gateway on this state directory would not be detected: ${why}`;
  return { warning, toldToStop: new Promise(() => {}), describe() {}, release() {} };
}

function taken(stateDir: string, { pid, startedAt, url }: Holder): StateDirHeld {
  const who = pid === undefined ? "it does not respond" : `process ${pid}, since ${startedAt}`;
  const where = url === undefined ? "" : `, at ${url}`;
  return new StateDirHeld(
    `another gateway uses the state directory ${stateDir}: ${who}${where}\n` +
      "Next: svc gateway status, or svc gateway stop, or set SVC_STATE_DIR to another directory for this gateway",
  );
}

/** @returns `undefined` when the path is in use */
async function listen(path: string, answer: (socket: Socket) => void): Promise<Server | undefined> {
  const server = createServer(answer).unref();
  server.listen(path);
  try {
    await once(server, "listening");
    chmodSync(path, 0o600);
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return undefined;
    throw error;
  }
}

/** @returns the holder's description, `{}` if it does not respond; `undefined` if there is no holder */
async function holderOf(path: string, word?: string): Promise<Holder | undefined> {
  const socket = connect(path).on("error", () => {});
  try {
    await once(socket, "connect");
  } catch {
    return undefined;
  }
  if (word !== undefined) socket.write(word);
  socket.setTimeout(ANSWER_MS, () => socket.destroy());
  try {
    return JSON.parse(await text(socket)) as Holder; // written by this program
  } catch {
    return {};
  } finally {
    socket.destroy();
  }
}
