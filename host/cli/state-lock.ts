/** One gateway for one state directory: a second one would end the runs of the first and write the same files. */
import { messageOf } from "@svc/sdk/errors";
import { once } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { withWriteLock } from "@svc/sdk/files";
import { StartupRefusal } from "../auth/settings.ts";

/** Bytes a path of a socket may have on every system. */
const LONGEST_PATH = 100;

export interface StateLock {
  /** Why a second gateway would not be noticed; `undefined`: it would. */
  readonly warning?: string;
  /** Safe to call twice. */
  release(): void;
}

/**
 * Holds the directory, which must be there, until `release` or the end of the process.
 * Choice: a socket instead of a file with a process id: the system closes it however the process ends, and it can be
 * asked from another container, so a lock is never stale. A file system without sockets holds no gateway up.
 * @throws StartupRefusal another gateway holds it
 */
export async function lockStateDir(stateDir: string): Promise<StateLock> {
  const path = join(stateDir, "gateway.sock");
  if (Buffer.byteLength(path) > LONGEST_PATH) return unlocked("its path is too long for a socket");
  let server: Server | undefined;
  try {
    server = (await listen(path)) ?? (await takeOver(path, stateDir));
  } catch (error) {
    if (error instanceof StartupRefusal) throw error;
    return unlocked(messageOf(error));
  }
  if (!server) throw taken(stateDir);
  const held = server;
  return { release: () => void held.close() };
}

/** What a killed gateway left behind, by one at a time: another one would remove the socket that has just been made. */
async function takeOver(path: string, stateDir: string): Promise<Server | undefined> {
  return withWriteLock(path, async () => {
    if (await isAnswered(path)) throw taken(stateDir);
    rmSync(path, { force: true });
    return listen(path);
  });
}

function unlocked(why: string): StateLock {
  return { warning: `a second gateway on this state directory would not be noticed: ${why}`, release() {} };
}

function taken(stateDir: string): StartupRefusal {
  return new StartupRefusal(
    `another gateway uses the state directory ${stateDir}\n` +
      "Next: svc gateway status, or stop it, or give this one a directory of its own with SVC_STATE_DIR",
  );
}

/** @returns `undefined` when the path is in use */
async function listen(path: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).unref();
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

async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.on("error", () => {}).destroy();
  }
}
