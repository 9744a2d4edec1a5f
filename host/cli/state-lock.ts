/** One gateway for one state directory: a second one would end the runs of the first and write the same files. */
import { messageOf } from "@svc/sdk/errors";
import { once } from "node:events";
import { chmodSync, closeSync, existsSync, openSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { withWriteLock } from "@svc/sdk/files";
import { stopWithinMs } from "./drain.ts";

/** Bytes a path of a socket may have on every system. */
const LONGEST_PATH = 100;
/** Choice: milliseconds the holder has to say who it is. One that is suspended says nothing, and holds it all the same. */
const ANSWER_MS = 500;

/** What the holder obeys. Only whoever may open the socket can say it. */
const STOP = "stop\n";
/** Milliseconds between two looks whether the holder is gone. */
const LOOK_EVERY_MS = 100;

export interface StateLock {
  /** Why a second gateway would not be noticed; `undefined`: it would. */
  readonly warning?: string;
  /** Somebody who may write to the state directory asked the gateway to stop: `svc gateway stop`. */
  readonly toldToStop: Promise<void>;
  /** What those who come next are told of the gateway that holds the directory. Called again for each gateway. */
  describe(facts: () => HeldBy): void;
  /** Safe to call twice. */
  release(): void;
}

/** Another gateway uses the directory, which may be just what the caller wants. */
export class StateDirHeld extends Error {
  override readonly name = "StateDirHeld";
}

/** The gateway of a holder. */
export interface HeldBy {
  readonly url: string;
  /** Milliseconds its stop waits for work in flight. */
  readonly drainMs: number;
  /** Ids of plugins with work in flight now. */
  readonly busy: readonly string[];
}

/** What a holder says of itself: all of it unless it is suspended, still starts, or is of an older version. */
export interface Holder extends Partial<HeldBy> {
  readonly pid?: number;
  readonly startedAt?: string;
}

/**
 * Holds the directory, which must be there, until `release` or the end of the process.
 * Choice: a socket instead of a file with a process id: the system closes it however the process ends, and it can be
 * asked from another container, so a lock is never stale. A file system without sockets holds no gateway up.
 * @throws StateDirHeld another gateway holds it
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

/** The gateway that holds the directory, as it describes itself; `undefined`: there is none. */
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
 * Has the gateway on this state directory stop, however it was started, and waits until it is gone.
 * Choice: by the socket and not by a signal to its process id, which means another process in another container.
 * @param waits told once, when it waits for work in flight
 * @returns who it was; `undefined`: there is none. @throws Error it still runs after its drain and what a stop takes besides
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
      `the gateway still runs after ${withinMs / 1_000} s (process ${holder.pid ?? "unknown"})\nNext: svc logs, or kill that process`,
    );
  } finally {
    place?.close();
  }
}

/** Where the socket lies. A path that is too long is shortened through the directory's descriptor, where the system can. */
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

/** What a killed gateway left behind, by one at a time: another one would remove the socket that has just been made. */
async function takeOver(path: string, stateDir: string, answer: (socket: Socket) => void): Promise<Server | undefined> {
  return withWriteLock(join(stateDir, "gateway.sock"), async () => {
    const holder = await holderOf(path);
    if (holder) throw taken(stateDir, holder);
    rmSync(path, { force: true });
    return listen(path, answer);
  });
}

function unlocked(why: string): StateLock {
  const warning = `a second gateway on this state directory would not be noticed: ${why}`;
  return { warning, toldToStop: new Promise(() => {}), describe() {}, release() {} };
}

function taken(stateDir: string, { pid, startedAt, url }: Holder): StateDirHeld {
  const who = pid === undefined ? "which does not say who it is" : `process ${pid}, since ${startedAt}`;
  const where = url === undefined ? "" : `, at ${url}`;
  return new StateDirHeld(
    `another gateway uses the state directory ${stateDir}: ${who}${where}\n` +
      "Next: svc gateway status, or stop it, or give this one a directory of its own with SVC_STATE_DIR",
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

/** @returns what the holder says of itself, nothing where it says nothing; `undefined` when there is none */
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
    return JSON.parse(await text(socket)) as Holder; // of this program
  } catch {
    return {};
  } finally {
    socket.destroy();
  }
}
