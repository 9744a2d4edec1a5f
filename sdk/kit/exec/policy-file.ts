/**
 * The policy file on disk: `exec-approvals.json`, mode 0600, replaced as a whole, and only by a writer that has seen
 * its latest version. Spec: protocol/methods-exec-approvals.md §1.
 */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError, isGatewayError, unavailable } from "@svc/sdk";
import type { ExecPolicyFile, ExecPolicySnapshot } from "@svc/sdk/approvals";
import { createFile, replaceFile, withWriteLock, type WriteLock } from "@svc/sdk/files";
import { readPrivateFile } from "../files/private.ts";
import { checkBaseHash, normalisePolicy, parsePolicy, snapshotOf } from "./policy-shape.ts";

/** A policy file. */
export interface ExecPolicyStore {
  /**
   * Creates the file with defaults (and a token for its socket) if it is missing.
   * @throws GatewayError `UNAVAILABLE` if it cannot be read or is not a policy file
   */
  get(): Promise<ExecPolicySnapshot>;
  /**
   * The file, if there is one. Never writes.
   * @throws GatewayError `UNAVAILABLE` if it cannot be read or is not a policy file
   */
  find(): Promise<ExecPolicySnapshot | undefined>;
  /**
   * Durable when it resolves.
   * @throws GatewayError `INVALID_REQUEST` if the base hash is missing or outdated, or a value is invalid;
   * `UNAVAILABLE` if the file cannot be written
   */
  set(file: ExecPolicyFile, baseHash: string | undefined): Promise<ExecPolicySnapshot>;
  /** For use on this machine: the current file, validated; denies everything while it cannot be read. Never writes. */
  policy(): Promise<ExecPolicyFile>;
}

/** Choice: maximum bytes of a policy file. */
const MAX_BYTES = 1024 * 1024;
/** Policy while there is no trustworthy file. */
const DENY_ALL: ExecPolicyFile = { version: 1, defaults: { security: "deny" } };

/** The text of the file and its parsed value. */
interface Read {
  readonly raw: string;
  readonly file: ExecPolicyFile;
}

/** @param directory state directory, created with mode 0700 if missing; the file is `exec-approvals.json` in it */
export function openExecPolicy(directory: string): ExecPolicyStore {
  const path = join(directory, "exec-approvals.json");
  const defaults = (): ExecPolicyFile => ({
    version: 1,
    socket: { path: join(directory, "exec-approvals.sock"), token: randomBytes(24).toString("base64url") },
    defaults: {},
    agents: {},
  });

  async function create(): Promise<Read> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await createFile(path, textOf(defaults())); // or another process created it first
    return (
      (await read(path)) ??
      unavailable(`${path} was removed while it was being created; try again`, { retryAfterMs: 100 })
    );
  }

  async function replace(given: ExecPolicyFile, baseHash: string | undefined, lock: WriteLock) {
    const current = await read(path);
    checkBaseHash(current?.raw, baseHash);
    const raw = textOf(normalisePolicy(given, current?.file ?? defaults()));
    if (Buffer.byteLength(raw) > MAX_BYTES) unavailable(`a policy file has at most ${MAX_BYTES} bytes; shorten it`);
    await replaceFile(path, raw, {
      async before() {
        // It may have been edited by hand, or another process took over the lock while this one was suspended.
        checkBaseHash((await read(path))?.raw, baseHash);
        if (!lock.isMine())
          unavailable(`${path} is being written by another process; try again`, { retryAfterMs: 1_000 });
      },
    });
    return snapshotOf(path, raw, parsePolicy(raw));
  }

  return {
    get: () =>
      explained(path, async () => {
        const { raw, file } = (await read(path)) ?? (await create());
        return snapshotOf(path, raw, file);
      }),
    find: () =>
      explained(path, async () => {
        const found = await read(path);
        return found && snapshotOf(path, found.raw, found.file);
      }),
    set: (file, baseHash) =>
      explained(path, async () => {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        return withWriteLock(path, (lock) => replace(file, baseHash, lock));
      }),
    policy: () =>
      explained(path, () => read(path)).then(
        (found) => found?.file ?? DENY_ALL,
        () => DENY_ALL,
      ),
  };
}

function textOf(file: ExecPolicyFile): string {
  return `${JSON.stringify(file, null, 2)}\n`;
}

/**
 * `undefined`: the file does not exist. A link, a pipe, or a file that others may write is rejected: anyone who can
 * change it decides what may run.
 */
async function read(path: string): Promise<Read | undefined> {
  const found = await readPrivateFile(path, { maxBytes: MAX_BYTES, denied: 0o022 });
  if (!("fault" in found)) {
    const raw = found.toString("utf8");
    return { raw, file: parsed(path, raw) };
  }
  switch (found.fault) {
    case "missing":
      return undefined;
    case "link":
      return refuse(path, "it is a symbolic link", "replace it with the file itself");
    case "special":
      return refuse(path, "it is not a file", "move it away");
    case "foreign":
      return refuse(path, "it belongs to another user", `chown it to the user of the gateway`);
    case "open-to-others":
      return refuse(path, "other users may write it", `chmod 600 ${path}`);
    case "too-large":
      return refuse(path, `it has more than ${MAX_BYTES} bytes`, "shorten it, or move it away");
  }
}

function parsed(path: string, raw: string): ExecPolicyFile {
  try {
    return parsePolicy(raw);
  } catch (error) {
    return refuse(
      path,
      error instanceof Error ? error.message : "unknown",
      "correct it, or move it away to start with a new one",
    );
  }
}

function refuse(path: string, why: string, next: string): never {
  unavailable(`${path} is not a usable policy file, so all commands are denied: ${why}. Next: ${next}`);
}

/** Adds the path to errors of the file system. */
async function explained<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isGatewayError(error)) throw error;
    const why = codeOf(error) ?? "unknown";
    throw new GatewayError(
      "UNAVAILABLE",
      `${path} cannot be read or written (${why}). Next: check the disk, and that the directory belongs to the user of the gateway`,
      { cause: error },
    );
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}
