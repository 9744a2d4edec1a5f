/** `svc storage doctor`: whether the databases are intact. Checks copies, so that the files and what lies beside them stay as they are. */
import { copyFile, mkdtemp, open, readdir, rm, stat, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { isGatewayError, messageOf } from "@svc/sdk";
import type { CommandContext, DoctorFinding } from "@svc/sdk/cli";
import { health } from "@svc/sdk/health";

/** Most bytes of a database that is copied. Choice. */
const LARGEST = 2 * 1_024 ** 3;
/** Milliseconds a gateway has to answer. */
const PATIENCE = 5_000;
/** Levels below the state directory that are searched for databases, and directories that are not. */
const DEPTH = 3;
const SKIPPED: ReadonlySet<string> = new Set(["cache", "extensions", "doctor", "node_modules"]);

/** All databases in the state directory. */
export async function stateFindings(stateDir: string): Promise<DoctorFinding[]> {
  const found: DoctorFinding[] = [];
  for (const path of await filesBelow(stateDir, DEPTH))
    if (await isDatabase(path)) found.push(...(await databaseFindings(path)));
  return found;
}

async function filesBelow(directory: string, depth: number): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const found = entries.map(async (entry) => {
    const path = join(directory, entry.name);
    if (entry.isFile()) return [path];
    return entry.isDirectory() && depth > 1 && !SKIPPED.has(entry.name) ? filesBelow(path, depth - 1) : [];
  });
  return (await Promise.all(found)).flat();
}

/** A running gateway writes its database, so only the gateway can check it. */
export async function askGateway({ connect }: Pick<CommandContext, "connect">): Promise<DoctorFinding[]> {
  try {
    const client = await connect({ scopes: ["operator.read"], timeoutMs: PATIENCE });
    try {
      await client.request(health.check.name, { probe: true }, { timeoutMs: PATIENCE });
      return [];
    } finally {
      await client.close();
    }
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    const message = `it does not say how it is: ${error.message.split("\n")[0] ?? error.code}`;
    const next = "svc gateway probe; its log says more";
    return [{ severity: "error", check: "database", about: "the running gateway", message, next }];
  }
}

/** @param path of a database that no process writes now */
export async function databaseFindings(path: string): Promise<DoctorFinding[]> {
  const finding = (severity: DoctorFinding["severity"], message: string, next: string): DoctorFinding[] => [
    { severity, check: "database", about: path, message, next },
  ];
  const { size } = await stat(path);
  const copies = await mkdtemp(join(tmpdir(), "svc-doctor-"));
  try {
    const { bavail, bsize } = await statfs(copies);
    if (size > LARGEST || size * 2 > bavail * bsize)
      return finding(
        "warning",
        `it has ${size} bytes, too many to be looked at in a copy`,
        "start the gateway, which opens it: svc gateway run",
      );
    const copy = join(copies, basename(path));
    await copyFile(path, copy);
    // The latest commits may only be in the log beside it.
    await copyFile(`${path}-wal`, `${copy}-wal`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    const fault = await faultOf(copy);
    if (fault === undefined) return [];
    return finding(
      "error",
      `it is damaged: ${fault}`,
      `stop the gateway, keep a copy of it, and restore a backup of ${path}`,
    );
  } catch (error) {
    return finding(
      "error",
      `it cannot be looked at: ${messageOf(error)}`,
      "see who owns it, and make room on the disk",
    );
  } finally {
    await rm(copies, { recursive: true, force: true });
  }
}

/** `undefined`: it is intact. */
async function faultOf(path: string): Promise<string | undefined> {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  let database: InstanceType<typeof DatabaseSync> | undefined;
  try {
    database = new DatabaseSync(path);
    const rows = database.prepare("PRAGMA quick_check(5)").all() as { quick_check?: unknown }[];
    const lines = rows.map(({ quick_check: line }) => String(line));
    return lines.length === 1 && lines[0] === "ok" ? undefined : lines.join("; ").slice(0, 500);
  } catch (error) {
    return messageOf(error);
  } finally {
    database?.close();
  }
}

const HEADER = "SQLite format 3\0";

/** Whether the file is a database; an empty file is one that was never written. */
async function isDatabase(path: string): Promise<boolean> {
  if (!path.endsWith(".db")) return false;
  const handle = await open(path, "r").catch(() => undefined);
  if (!handle) return false;
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(HEADER.length), 0, HEADER.length, 0);
    return bytesRead > 0 && (buffer.toString("latin1") === HEADER || basename(dirname(path)).includes("sqlite"));
  } finally {
    await handle.close();
  }
}
