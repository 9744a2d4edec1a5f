/** The audit log of configuration writes: author, time and size, never values. Spec: protocol/stores.md §9. */
import type { ConfigAuthor } from "@svc/sdk/config";
import { messageOf } from "@svc/sdk/errors";
import { constants } from "node:fs";
import { mkdir, open, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ConfigFile } from "./file.ts";
import { own } from "./plain-data.ts";

/** One successful or failed write. */
export interface AuditedWrite extends ConfigAuthor {
  /** epoch ms */
  readonly at: number;
  /** Version of the gateway. */
  readonly version: string;
  readonly before: ConfigFile;
  readonly after: ConfigFile;
  readonly changedPathCount: number;
  /** The error of a failed write. */
  readonly error?: unknown;
}

/** Path of the audit log below the state directory. */
export function auditPath(stateDir: string): string {
  return join(stateDir, "logs", "config-audit.jsonl");
}

/** Fields of one line. Process arguments after the script are omitted: they may be secrets. */
export function auditRecord(write: AuditedWrite): Record<string, unknown> {
  const { actor, action, at, version, before, after, changedPathCount, error } = write;
  const [previousBytes, nextBytes] = [Buffer.byteLength(before.text), Buffer.byteLength(after.text)];
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const failure = {
    errorCode: codeOf(cause) ?? codeOf(error) ?? "UNKNOWN",
    errorMessage: messageOf(error),
  };
  return {
    ts: new Date(at).toISOString(),
    source: "config-io",
    event: "config.write",
    actor,
    action,
    version,
    configPath: after.path,
    pid: process.pid,
    ppid: process.ppid,
    cwd: process.cwd(),
    argv: process.argv.slice(0, 2),
    execArgv: [],
    watchMode: false,
    watchSession: null,
    watchCommand: null,
    existsBefore: before.exists,
    previousHash: before.exists ? before.hash : null,
    nextHash: after.hash,
    previousBytes: before.exists ? previousBytes : null,
    nextBytes,
    changedPathCount,
    hasMetaBefore: Object.hasOwn(before.parsed, "meta"),
    hasMetaAfter: Object.hasOwn(after.parsed, "meta"),
    gatewayModeBefore: gatewayMode(before),
    gatewayModeAfter: gatewayMode(after),
    suspicious: suspicions(before, after),
    result: error === undefined ? "rename" : "failed",
    ...(error === undefined ? {} : failure),
  };
}

function codeOf(error: unknown): string | undefined {
  const code = own(error, "code");
  return typeof code === "string" ? code : undefined;
}

/** `local`, `remote` or null: the log contains no other value of the file. */
function gatewayMode({ parsed }: ConfigFile): string | null {
  const mode = own(own(parsed, "gateway"), "mode");
  return mode === "local" || mode === "remote" ? mode : null;
}

/** Spec: http/config.md §4.2, without the rule about `meta`. */
function suspicions(before: ConfigFile, after: ConfigFile): string[] {
  const [was, is] = [Buffer.byteLength(before.text), Buffer.byteLength(after.text)];
  const found: string[] = [];
  if (was >= 512 && is < was / 2) found.push(`size-drop:${was}->${is}`);
  if (gatewayMode(before) && !gatewayMode(after)) found.push("gateway-mode-removed");
  return found;
}

/** Choice: size in bytes above which the next line begins a new file; previous files are kept as `<path>.1` to `.3`. */
export const MAX_AUDIT_BYTES = 1_048_576;
const FORMER = 3;

/** Renames the files if the log is full. A crash in between leaves a gap in the numbers but loses no line. */
async function rotate(path: string): Promise<void> {
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size < MAX_AUDIT_BYTES) return;
  for (let index = FORMER - 1; index >= 0; index--)
    await rename(index === 0 ? path : `${path}.${index}`, `${path}.${index + 1}`).catch(() => {}); // not created yet
}

/** Appends one line in one write; sets mode 0600. @throws Error of the file system */
export async function appendAudit(path: string, record: Record<string, unknown>): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rotate(path);
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
  const handle = await open(path, flags, 0o600);
  try {
    await handle.chmod(0o600); // an older file may have a wider mode
    const { size } = await handle.stat();
    const { buffer } = await handle.read(Buffer.alloc(1, "\n"), 0, 1, Math.max(size - 1, 0));
    const start = buffer.toString() === "\n" ? "" : "\n"; // keeps a line truncated by a full disk separate
    await handle.appendFile(`${start}${JSON.stringify(record)}\n`);
  } finally {
    await handle.close();
  }
}
