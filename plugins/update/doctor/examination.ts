/** All checks of `svc doctor`, each on its own: one that fails says so, and the others go on. Reads only. */
import { existsSync } from "node:fs";
import { readdir, readFile, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isGatewayError } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { health } from "@svc/sdk/health";
import { readPackage, hostDirectoryOf } from "../install/facts.ts";
import { WORK_PREFIX } from "../install/outcome.ts";
import { placeOf } from "../install/place.ts";
import { isOurs, renderService } from "../service/definition.ts";
import { difference } from "../service/difference.ts";
import { serviceScene } from "../service/service-verbs.ts";
import { databaseFindings } from "./database.ts";
import { type Finding, sorted } from "./finding.ts";
import { diskFindings, nodeFindings } from "./machine-checks.ts";
import { type AskVerb, configFindings, failed, pluginFindings } from "./other-verbs.ts";
import { isOwnJson, leftoverFindings, permissionFindings, socketFindings, tornFindings } from "./state-checks.ts";
import { isAbandoned, isAnswered, isDatabase, listState, lookAt, type StateFile } from "./state-files.ts";

export interface Examination {
  readonly findings: readonly Finding[];
  /** A gateway uses this state directory now. */
  readonly isRunning: boolean;
}

export interface ExamineOptions {
  readonly context: Pick<CommandContext, "stateDir" | "connect">;
  readonly ask: AskVerb;
  /** The command that runs now, without links. */
  readonly script: string;
}

/** Milliseconds a gateway has to answer. */
const PATIENCE = 5_000;

export async function examine({ context, ask, script }: ExamineOptions): Promise<Examination> {
  const { stateDir } = context;
  const files = await listState(stateDir);
  const hostDirectory = hostDirectoryOf(script);
  const isRunning = (await isHeld(files)) || (await answers(context, files));
  const checks: readonly [name: string, next: string, check: () => Promise<Finding[]>][] = [
    ["node", "node --version", async () => nodeFindings(process.version, await enginesOf(hostDirectory))],
    ["config", "svc config validate", async () => configFindings(await ask(["config", "validate"]))],
    ["permissions", "see who owns the state directory", async () => permissions(stateDir, files, ask)],
    ["sockets", "svc gateway probe", async () => socketFindings(await deadSockets(files))],
    [
      "leftovers",
      "see who owns the state directory",
      async () => leftoverFindings(await pathsOf(files, (file) => isAbandoned(file, Date.now()))),
    ],
    [
      "half-written",
      "see who owns the state directory",
      async () => tornFindings(await pathsOf(files, (file) => isTorn(file, stateDir))),
    ],
    ["database", "svc gateway health", () => (isRunning ? askRunning(context) : databases(files))],
    ["plugins", "svc plugins doctor", async () => pluginFindings(await ask(["plugins", "doctor"]))],
    ["disk", "df", async () => disk(stateDir)],
    ["update", "svc update --dry-run", () => interrupted(hostDirectory)],
    ["service", "svc gateway install --dry-run", () => service(stateDir)],
  ];
  const found = await Promise.all(
    checks.map(([name, next, check]) => check().catch((error: unknown) => [failed(name, error, next)])),
  );
  return { findings: sorted(found.flat()), isRunning };
}

async function enginesOf(hostDirectory: string | undefined): Promise<string | undefined> {
  if (hostDirectory === undefined) return undefined;
  const { node } = Object((await readPackage(hostDirectory))?.["engines"]) as { node?: unknown };
  return typeof node === "string" ? node : undefined;
}

async function permissions(stateDir: string, files: readonly StateFile[], ask: AskVerb): Promise<Finding[]> {
  const { path: configPath } = Object(await ask(["config", "file"])) as { path?: unknown };
  const known = typeof configPath === "string" ? configPath : join(stateDir, "svc.json");
  const config = files.some(({ path }) => path === known) ? undefined : await lookAt(known);
  return permissionFindings({
    stateDir,
    configPath: known,
    files: config ? [...files, config] : files,
    uid: process.getuid?.(),
  });
}

async function pathsOf(files: readonly StateFile[], holds: (file: StateFile) => Promise<boolean>): Promise<string[]> {
  const found: string[] = [];
  for (const file of files) if (file.kind === "file" && (await holds(file))) found.push(file.path);
  return found;
}

async function isTorn(file: StateFile, stateDir: string): Promise<boolean> {
  if (!isOwnJson(file, stateDir)) return false;
  try {
    JSON.parse(await readFile(file.path, "utf8"));
    return false;
  } catch (error) {
    return error instanceof SyntaxError;
  }
}

async function isHeld(files: readonly StateFile[]): Promise<boolean> {
  const sockets = files.filter(({ kind }) => kind === "socket");
  return (await Promise.all(sockets.map(({ path }) => isAnswered(path)))).some(Boolean);
}

/** Where one was started before, its address is known: one whose socket cannot be seen is found by that. */
async function answers(
  { connect, stateDir }: ExamineOptions["context"],
  files: readonly StateFile[],
): Promise<boolean> {
  if (!files.some(({ path }) => path === join(stateDir, "startup-report.json"))) return false;
  try {
    await (await connect({ scopes: [], timeoutMs: PATIENCE })).close();
    return true;
  } catch (error) {
    return isGatewayError(error) && error.code !== "UNAVAILABLE";
  }
}

async function deadSockets(files: readonly StateFile[]): Promise<string[]> {
  const found: string[] = [];
  for (const { path, kind } of files) if (kind === "socket" && !(await isAnswered(path))) found.push(path);
  return found;
}

async function databases(files: readonly StateFile[]): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const file of files) if (await isDatabase(file)) found.push(...(await databaseFindings(file.path)));
  return found;
}

/** A database that is being written is known by whoever writes it. */
async function askRunning({ connect }: ExamineOptions["context"]): Promise<Finding[]> {
  const about = "the running gateway";
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
    return [{ severity: "error", check: "database", about, message, next: "svc gateway probe; its log says more" }];
  }
}

async function disk(stateDir: string): Promise<Finding[]> {
  const place = existsSync(stateDir) ? stateDir : dirname(stateDir);
  const { bavail, bsize } = await statfs(place);
  return diskFindings(place, bavail * bsize);
}

/** An update that was killed leaves its directory; the version that was there before still starts. */
async function interrupted(hostDirectory: string | undefined): Promise<Finding[]> {
  if (hostDirectory === undefined) return [];
  const { root } = placeOf(hostDirectory);
  if (existsSync(join(root, ".svc-update.lock"))) return []; // one is under way, or the next one tidies up
  const left = (await readdir(root)).filter((name) => name.startsWith(WORK_PREFIX));
  return left.map((name) => ({
    severity: "warning",
    check: "update",
    about: join(root, name),
    message: "an update was interrupted and left it behind",
    next: `svc --version; if that works: rm -r ${join(root, name)}, then svc update`,
  }));
}

async function service(stateDir: string): Promise<Finding[]> {
  const { present, facts, kind, path } = await serviceScene(stateDir);
  if (present === undefined) return [];
  const about = path;
  if (!isOurs(present)) {
    const message = "it stands where the service of this gateway would, and somebody else wrote it";
    return [
      {
        severity: "warning",
        check: "service",
        about,
        message,
        next: "svc gateway install --dry-run shows what would be written",
      },
    ];
  }
  // Whoever types this may have another PATH than whoever installed it.
  const wanted = renderService({ ...facts, env: { ...facts.env, PATH: pathIn(present) } }, kind);
  const differs = difference(present, wanted).filter((line) => !line.startsWith(" "));
  if (differs.length === 0) return [];
  const message = `it is not what would be written now: ${differs.slice(0, 4).join(" ")}`.slice(0, 300);
  return [
    {
      severity: "warning",
      check: "service",
      about,
      message,
      next: "svc gateway install --dry-run, then svc gateway install",
    },
  ];
}

/** As the service has it. */
function pathIn(text: string): string | undefined {
  const [, unit] = /^Environment="PATH=(.*)"$/m.exec(text) ?? [];
  const [, plist] = /<key>PATH<\/key><string>(.*)<\/string>/.exec(text) ?? [];
  return (
    unit?.replaceAll("%%", "%").replaceAll('\\"', '"').replaceAll("\\\\", "\\") ??
    plist?.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&")
  );
}
