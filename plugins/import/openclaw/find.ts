/** Finds the state directory of an OpenClaw gateway, and a gateway that uses it. */
import { createHash } from "node:crypto";
import { lstat, readdir, readFile, realpath, stat } from "node:fs/promises";
import { connect } from "node:net";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { RunningSource } from "@svc/kit/import";
import { invalidRequest, lazy } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import { isAlive, isInside } from "@svc/sdk/files";
import type { StateFiles } from "./state-files.ts";
import { isRecord, numberIn, textIn } from "./values.ts";

const loadDatabase = lazy(() => import("./database.ts"));

/** Versions that the readers know; later ones are refused without `--anyway`. */
const NEWEST = [2026, 9] as const;

/**
 * The state directory: `given`, `OPENCLAW_STATE_DIR`, or `.openclaw` in the home directory.
 * @throws GatewayError `IMPORT_UNREADABLE` when it has neither a configuration nor agents
 */
export async function findState(given: string | undefined, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const named = given ?? env["OPENCLAW_STATE_DIR"]?.trim();
  const directory = named ? resolve(named.replace(/^~(?=\/|$)/, homedir())) : join(homedir(), ".openclaw");
  const names = await readdir(directory).catch(() => undefined);
  if (names?.some((name) => name === "openclaw.json" || name === "agents")) return directory;
  const why = names ? "has no openclaw.json and no agents" : "cannot be read";
  throw refusal("IMPORT_UNREADABLE", `${directory} ${why}\nNext: svc import openclaw --from <state directory>`, {
    path: directory,
  });
}

/** @throws GatewayError `INVALID_REQUEST` for a place inside the state directory of the user's own OpenClaw */
export function refuseSource(place: string, env: NodeJS.ProcessEnv = process.env): void {
  const named = env["OPENCLAW_STATE_DIR"]?.trim();
  const own = [join(homedir(), ".openclaw"), ...(named ? [resolve(named)] : [])];
  const inside = own.find((directory) => isInside(directory, place));
  if (inside !== undefined)
    invalidRequest(`${place} is inside ${inside}, which stays as it is\nNext: name another directory with --to`);
}

/** How the state is stored. `database`: the files of newer versions. */
export async function formatOf(files: StateFiles): Promise<"files" | "database"> {
  return (await files.names("state", "file")).includes("openclaw.sqlite") ? "database" : "files";
}

/** Whether files of earlier versions are beside the database. @param names relative to the state directory */
export async function hasAny(files: StateFiles, names: readonly string[]): Promise<boolean> {
  for (const name of names) if ((await files.names(dirname(name), "file")).includes(basename(name))) return true;
  return false;
}

/** The version that last wrote the configuration. @throws GatewayError `IMPORT_NEWER` */
export function versionOf(config: unknown, isAnyway: boolean): string | undefined {
  const meta = isRecord(config) ? config["meta"] : undefined;
  const version = isRecord(meta) ? textIn(meta["lastTouchedVersion"]) : undefined;
  const [year = 0, month = 0] = version?.split(".").map(Number) ?? [];
  const isNewer = year > NEWEST[0] || (year === NEWEST[0] && month > NEWEST[1]);
  if (isNewer && !isAnyway)
    throw refusal("IMPORT_NEWER", `OpenClaw ${version} wrote this state, and the reader knows ${NEWEST.join(".")}`);
  return version;
}

export interface LockPlaces {
  /** Port of the gateway. */
  readonly port: number;
  /** Directory for temporary files of the source. Default: that of this process. */
  readonly temporary?: string;
  /** Where versions from 2026.9 keep the directory of their locks. */
  readonly shared?: string;
}

/**
 * A gateway of this machine that uses the directory.
 *
 * Trusted are the process that a lock file of versions up to 2026.3 names, while it lives, and a lock that a process
 * holds on a lock database of later versions. The mere existence of either means nothing: they stay when a gateway
 * ends. Where a lock cannot be checked, an answer on the port of the gateway decides; an answer alone means nothing,
 * because any program can use the port.
 */
export async function runningOn(
  directory: string,
  { port, temporary = tmpdir(), shared = "/tmp" }: LockPlaces,
): Promise<RunningSource | undefined> {
  const { uid } = await stat(directory);
  const locks = join(temporary, `openclaw-${uid}`);
  for (const name of await namesIn(locks)) {
    if (!name.endsWith(".lock")) continue;
    const { pid, configPath } = await lockIn(join(locks, name));
    if (pid === undefined || !isAlive(pid) || configPath === undefined) continue;
    if (resolve(configPath) === join(directory, "openclaw.json")) return { pid };
  }
  let isUnsure = false;
  for (const path of await lockDatabases(directory, uid, shared)) {
    const { isLocked } = await loadDatabase();
    const held = await isLocked(path);
    if (held === true) return holderOf(path);
    isUnsure ||= held === undefined;
  }
  return isUnsure && (await answers(port)) ? {} : undefined;
}

/** Plain files of the owner, in a directory of the owner: others can write to the directory for temporary files. */
async function lockDatabases(directory: string, uid: number, shared: string): Promise<string[]> {
  const database = join(await realpath(directory), "state", "openclaw.sqlite");
  const hash = createHash("sha256").update(database).digest("hex").slice(0, 8);
  const places = [
    { place: join(directory, "tmp", `openclaw-${uid}`), ending: ".lock.sqlite" },
    { place: join(shared, `openclaw-state-locks-${uid}`), ending: `.${hash}.lock.sqlite` },
  ];
  const found: string[] = [];
  for (const { place, ending } of places) {
    if ((await lstat(place).catch(() => undefined))?.uid !== uid) continue;
    for (const name of await namesIn(place)) {
      const stats = name.endsWith(ending) ? await lstat(join(place, name)) : undefined;
      if (stats?.isFile() && stats.uid === uid) found.push(join(place, name));
    }
  }
  return found;
}

function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

/** The process that holds a lock on a file, where the system tells. */
async function holderOf(path: string): Promise<RunningSource> {
  const { ino } = await stat(path);
  const locks = await readFile("/proc/locks", "utf8").catch(() => "");
  const pid = new RegExp(String.raw`WRITE (\d+) \w+:\w+:${ino} `).exec(locks)?.[1];
  return pid === undefined ? {} : { pid: Number(pid) };
}

/** Choice: milliseconds for an answer of this machine. */
const ANSWER_MS = 1_000;

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, timeout: ANSWER_MS });
    const end = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("connect", () => end(true));
    socket.once("timeout", () => end(false));
    socket.once("error", () => end(false));
  });
}

async function lockIn(path: string) {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    return isRecord(value) ? { pid: numberIn(value["pid"]), configPath: textIn(value["configPath"]) } : {};
  } catch {
    return {}; // written at this moment, or gone
  }
}
