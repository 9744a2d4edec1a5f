/** Runs all checks of `svc doctor`. A check that throws becomes a finding; the others continue. Reads only. */
import { existsSync } from "node:fs";
import { readFile, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isGatewayError } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { isAlive } from "@svc/sdk/files";
import { NODE_RANGE } from "../package-json.ts";
import { isOurs, renderService } from "../service/definition.ts";
import { difference } from "../service/difference.ts";
import { serviceScene } from "../service/service.ts";
import { eventLoopFindings } from "./event-loop.ts";
import { type Finding, sorted, withoutRepeats } from "./finding.ts";
import { diskFindings, nodeFindings } from "./machine-checks.ts";
import { type AskVerb, configFindings, failed, verbFindings } from "./other-verbs.ts";
import { isOwnJson, leftoverFindings, permissionFindings, socketFindings, tornFindings } from "./state-checks.ts";
import { isAbandoned, isAnswered, listState, lookAt, type StateFile } from "./state-files.ts";

export interface Examination {
  readonly findings: readonly Finding[];
  /** Whether a gateway uses this state directory now. */
  readonly isRunning: boolean;
}

export interface ExamineOptions {
  readonly context: Pick<CommandContext, "stateDir" | "connect" | "options">;
  readonly ask: AskVerb;
  /** Verbs with which plugins check their own data, e.g. `update doctor`. */
  readonly pluginVerbs: readonly string[];
}

/** Milliseconds to wait for the gateway's response. */
const PATIENCE = 5_000;

type Check = readonly [name: string, next: string, check: () => Promise<Finding[]>];

export async function examine({ context, ask, pluginVerbs }: ExamineOptions): Promise<Examination> {
  const { stateDir } = context;
  const files = await listState(stateDir);
  const isRunning = (await isHeld(files)) || (await answers(context, files));
  const flags = isRunning ? runningFlags(context) : [];
  const checks: readonly Check[] = [
    ["node", "node --version", async () => nodeFindings(process.version, NODE_RANGE)],
    ["config", "svc config validate", async () => configFindings(await ask(["config", "validate"]))],
    ["permissions", "check the owner of the state directory", async () => permissions(stateDir, files, ask)],
    ["sockets", "svc gateway probe", async () => socketFindings(await deadSockets(files))],
    [
      "leftovers",
      "check the owner of the state directory",
      async () => leftoverFindings(await pathsOf(files, (file) => isAbandoned(file, Date.now()))),
    ],
    [
      "half-written",
      "check the owner of the state directory",
      async () => tornFindings(await pathsOf(files, (file) => isTorn(file, stateDir))),
    ],
    ...pluginVerbs.map((verb): Check => {
      const [name = verb, ...words] = verb.split(" ");
      return [name, `svc ${verb}`, async () => verbFindings(name, await ask([name, ...words, ...flags]))];
    }),
    ["event-loop", "svc logs --level error", async () => eventLoop(stateDir)],
    ["disk", "df", async () => disk(stateDir)],
    ["service", "svc gateway install --dry-run", () => service(stateDir)],
  ];
  const found = await Promise.all(
    checks.map(([name, next, check]) => check().catch((error: unknown) => [failed(name, error, next)])),
  );
  return { findings: sorted(withoutRepeats(found.flat())), isRunning };
}

/** Flags with which a plugin's verb reaches the running gateway. */
function runningFlags({ options }: ExamineOptions["context"]): string[] {
  const given = Object.entries({ token: options["token"], password: options["password"] });
  return ["--running", ...given.flatMap(([name, value]) => (typeof value === "string" ? [`--${name}`, value] : []))];
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

/** Finds a gateway without a visible socket. Connects only if a gateway was started from this state directory before. */
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

async function eventLoop(stateDir: string): Promise<Finding[]> {
  const text = await readFile(join(stateDir, "event-loop-report.json"), "utf8").catch(() => ""); // no block was recorded
  return eventLoopFindings(text, Date.now(), isAlive);
}

async function deadSockets(files: readonly StateFile[]): Promise<string[]> {
  const found: string[] = [];
  for (const { path, kind } of files) if (kind === "socket" && !(await isAnswered(path))) found.push(path);
  return found;
}

async function disk(stateDir: string): Promise<Finding[]> {
  const place = existsSync(stateDir) ? stateDir : dirname(stateDir);
  const { bavail, bsize } = await statfs(place);
  return diskFindings(place, bavail * bsize);
}

async function service(stateDir: string): Promise<Finding[]> {
  const { present, facts, kind, path } = await serviceScene(stateDir);
  if (present === undefined) return [];
  const about = path;
  if (!isOurs(present)) {
    const message = "it has the path of this gateway's service file, but svc did not write it";
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
  // PATH may differ from the PATH at installation.
  const wanted = renderService({ ...facts, env: { ...facts.env, PATH: pathIn(present) } }, kind);
  const differs = difference(present, wanted).filter((line) => !line.startsWith(" "));
  if (differs.length === 0) return [];
  const message = `it differs from what svc gateway install would write now: ${differs.slice(0, 4).join(" ")}`.slice(
    0,
    300,
  );
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

/** The PATH in a service file. */
function pathIn(text: string): string | undefined {
  const [, unit] = /^Environment="PATH=(.*)"$/m.exec(text) ?? [];
  const [, plist] = /<key>PATH<\/key><string>(.*)<\/string>/.exec(text) ?? [];
  return (
    unit?.replaceAll("%%", "%").replaceAll('\\"', '"').replaceAll("\\\\", "\\") ??
    plist?.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&")
  );
}
