/** `svc storage doctor`: checks whether databases are intact. Uses copies, so that the files and their side files are unchanged. */
import { existsSync, statSync } from "node:fs";
import { copyFile, mkdtemp, open, readdir, rm, stat, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { isGatewayError, messageOf } from "@svc/sdk";
import { type CommandContext, configuredValue, type DoctorFinding } from "@svc/sdk/cli";
import { health } from "@svc/sdk/health";
import { isLost, lossOf, wayBack } from "./database-file.ts";

/** Choice: maximum bytes of a database that is copied. */
const LARGEST = 2 * 1_024 ** 3;
/** Milliseconds within which a gateway must respond. */
const PATIENCE = 5_000;
/** Levels below the state directory that are searched for databases, and directories that are skipped. */
const DEPTH = 3;
const SKIPPED: ReadonlySet<string> = new Set(["cache", "extensions", "doctor", "node_modules"]);

/** Reads the setting `storage-sqlite.file`; `undefined` if it is not set or cannot be read. */
export type AskFile = () => Promise<string | undefined>;

/** Checks all databases in the state directory, whatever their names, lost databases, and the configured one. */
export async function stateFindings(stateDir: string, askFile: AskFile = configuredFile): Promise<DoctorFinding[]> {
  const configured = await askFile();
  const paths = new Set(await filesBelow(stateDir, DEPTH));
  const owned = new Set([...paths].flatMap((path) => ownerOf(path) ?? []));
  if (configured !== undefined) owned.add(resolve(stateDir, "plugins", "storage-sqlite", configured));
  const found: DoctorFinding[] = [];
  for (const path of new Set([...paths, ...owned].toSorted())) {
    const isOwned = owned.has(path);
    if (isLost(path)) {
      const message = `it held data and is now ${lossOf(path)}: the gateway does not start`;
      found.push({ severity: "error", check: "database", about: path, message, next: wayBack(path) });
    } else if (isOwned ? existsSync(path) && statSync(path).size > 0 : await isDatabase(path)) {
      found.push(...(await databaseFindings(path)));
    }
  }
  return found;
}

/** The database to which a log or marker file belongs. */
function ownerOf(path: string): string | undefined {
  const [, owner] = /^(.+)(?:-wal|\.holds-data)$/.exec(path) ?? [];
  return owner;
}

async function configuredFile(): Promise<string | undefined> {
  const value = await configuredValue("storage-sqlite.file");
  return typeof value === "string" ? value : undefined;
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

/** Only the gateway can check the database that it is writing. */
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
    const message = `the health check failed: ${error.message.split("\n")[0] ?? error.code}`;
    const next = "svc gateway probe; see its log";
    return [{ severity: "error", check: "database", about: "the running gateway", message, next }];
  }
}

/** @param path of a database that no process is writing */
export async function databaseFindings(path: string): Promise<DoctorFinding[]> {
  const finding = (severity: DoctorFinding["severity"], message: string, next: string): DoctorFinding[] => [
    { severity, check: "database", about: path, message, next },
  ];
  const backup = `stop the gateway, keep a copy of it, and restore a backup of ${path}`;
  // If there is a log, SQLite reads the first page from it; the gateway does not start with such a file.
  if (!(await isDatabase(path))) return finding("error", "it has no SQLite header: it was overwritten", backup);
  const { size } = await stat(path);
  const copies = await mkdtemp(join(tmpdir(), "svc-doctor-"));
  try {
    const { bavail, bsize } = await statfs(copies);
    if (size > LARGEST || size * 2 > bavail * bsize)
      return finding(
        "warning",
        `its ${size} bytes are too many to check in a copy`,
        "start the gateway, which opens it: svc gateway run",
      );
    const copy = join(copies, basename(path));
    await copyFile(path, copy);
    // The latest commits may only be in the log next to the database.
    await copyFile(`${path}-wal`, `${copy}-wal`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    const fault = await faultOf(copy);
    if (fault === undefined) return [];
    return finding("error", `it is damaged: ${fault}`, backup);
  } catch (error) {
    return finding("error", `it cannot be checked: ${messageOf(error)}`, "check its owner, and free space on the disk");
  } finally {
    await rm(copies, { recursive: true, force: true });
  }
}

/** The problem of the database; `undefined` if the database is intact. */
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

/** Whether the file starts with the SQLite header. */
async function isDatabase(path: string): Promise<boolean> {
  const handle = await open(path, "r").catch(() => undefined);
  if (!handle) return false;
  try {
    const { buffer } = await handle.read(Buffer.alloc(HEADER.length), 0, HEADER.length, 0);
    return buffer.toString("latin1") === HEADER;
  } finally {
    await handle.close();
  }
}
