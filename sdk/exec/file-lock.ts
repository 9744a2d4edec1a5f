/** A lock between processes of one machine: a file that names its owner. */
import { randomUUID } from "node:crypto";
import { link, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { unavailable } from "../errors.ts";

/** Milliseconds between looks, until it is given up, and after which an owner counts as stopped: the work takes some milliseconds. */
const LOOK_EVERY_MS = 15;
const GIVE_UP_MS = 10_000;
const STALE_MS = 5_000;

/**
 * Runs `work` while no other process (and nobody else in this one) does. Its own owner is gone, or stopped for 5 s: it is taken over.
 * @param work gets a check whether the lock is still its own, to be asked right before the effect
 * @throws GatewayError `UNAVAILABLE` after 10 s
 */
export async function underLock<T>(path: string, work: (held: () => Promise<boolean>) => Promise<T>): Promise<T> {
  const mark = `${process.pid} ${randomUUID()}`;
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, mark, { flag: "wx", mode: 0o600 });
  try {
    await acquire(path, draft);
  } finally {
    await rm(draft, { force: true });
  }
  const held = async () => (await ownerOf(path)) === mark;
  try {
    return await work(held);
  } finally {
    if (await held()) await rm(path, { force: true });
  }
}

async function acquire(path: string, draft: string): Promise<void> {
  const start = performance.now();
  for (;;) {
    try {
      return await link(draft, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    await takeOver(path);
    if (performance.now() - start > GIVE_UP_MS) {
      unavailable(`${path} is held by another process. Next: try again, or remove it when none runs`, {
        retryAfterMs: 1_000,
      });
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Removes the lock of an owner that is gone; two that do so at once remove only the one both saw. */
async function takeOver(path: string): Promise<void> {
  const owner = await ownerOf(path);
  if (owner === undefined || (isAlive(Number.parseInt(owner, 10)) && !(await isOld(path)))) return;
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
    if ((await ownerOf(aside)) !== owner) await link(aside, path);
  } catch {
    // Somebody else was faster; the next look tells.
  } finally {
    await rm(aside, { force: true });
  }
}

async function ownerOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}

/** By the time it was taken: linking it changed that, and not when it was written. */
async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.ctimeMs > STALE_MS;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
