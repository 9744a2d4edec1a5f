/** Whether a database file is intact: asked of a copy, so that the file itself and what lies beside it stay as they are. */
import { copyFile, mkdtemp, rm, stat, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { messageOf } from "@svc/sdk";
import type { Finding } from "./finding.ts";

/** Bytes of a database that is looked at as a whole. Choice. */
const LARGEST = 2 * 1_024 ** 3;

/** @param path of a database that nobody writes now */
export async function databaseFindings(path: string): Promise<Finding[]> {
  const finding = (severity: Finding["severity"], message: string, next: string): Finding[] => [
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
    // What was committed last may only stand in the log beside it.
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
