/**
 * Installs the newest packages in a separate directory, tests them there, and puts them in the place of the running ones. Until
 * then no running file is touched.
 */
import { existsSync, mkdirSync } from "node:fs";
import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import semver from "semver";
import { readPackage, versionIn } from "./facts.ts";
import { type Outcome, type PlannedStep, refused, type UpdateWork, upToDate, WORK_PREFIX } from "./outcome.ts";
import { isOwnPackage, type Installation } from "./place.ts";
import type { Program, Steps } from "./steps.ts";
import { type Exchange, swapAll } from "./swap.ts";

type Installed = Installation & { readonly mode: "npm" };

/** The package whose version is the gateway's. */
const HOST = "@svc/host";

/** Registry tag of each channel. */
const TAGS = { stable: "latest", beta: "beta", dev: "dev" } as const;

const NO_NPM = { reason: "no-npm", why: "npm was not found", byHand: ["install npm, then: svc update"] };

/** @throws StepFailed; Error of the file system. After an error, the former version is in place. */
export async function updatePackages(installation: Installed, work: UpdateWork): Promise<Outcome> {
  const { npm } = work.programs;
  if (!npm) return refused(NO_NPM);
  const before = { version: work.version };
  const newest = await newestVersion({ root: installation.root, npm, steps: work.steps, channel: work.channel });
  if (newest === undefined) {
    const why = `the registry has no ${HOST} with the tag ${TAGS[work.channel]}`;
    const byHand = ["npm config get registry", `npm view ${HOST} dist-tags`];
    return refused({ reason: "not-published", why, byHand }, before);
  }
  if (!isNewer(newest, work.version)) return upToDate(before, work.version);
  const wanted = installation.packages.map((name) => `${name}@${TAGS[work.channel]}`);
  if (work.dryRun) {
    const why = `${newest} would be installed`;
    return {
      status: "skipped",
      reason: "dry-run",
      why,
      before,
      after: { version: newest },
      plan: planOf(installation, wanted),
    };
  }
  const version = await install(installation, { npm, wanted, newest }, work);
  return { status: "ok", before, after: { version } };
}

/**
 * The version with the channel's tag in the registry; `undefined`: no version has the tag.
 * @throws StepFailed when npm fails
 */
export async function newestVersion(asked: {
  readonly root: string;
  readonly npm: Program;
  readonly steps: Steps;
  readonly channel: keyof typeof TAGS;
}): Promise<string | undefined> {
  const { root, npm, steps, channel } = asked;
  const args = ["view", `${HOST}@${TAGS[channel]}`, "version", "--json"];
  const end = await steps.attempt("look", npm, args, { cwd: root });
  if (end.exitCode !== 0 && /\bE404\b|\bETARGET\b/.test(end.stdout + end.stderr)) return undefined;
  if (end.exitCode !== 0) return steps.run("look again", npm, args, { cwd: root });
  return semver.valid(end.stdout.trim().replace(/^"|"$/g, "")) ?? undefined;
}

/** Choice: a version that cannot be compared is not newer. */
export function isNewer(candidate: string, current: string): boolean {
  return semver.valid(candidate) !== null && semver.valid(current) !== null && semver.gt(candidate, current);
}

function planOf({ root, layout }: Installed, wanted: readonly string[]): PlannedStep[] {
  const beside = join(root, `${WORK_PREFIX}…`);
  const where = layout === "global" ? `--global --prefix ${beside} ` : "";
  return [
    { name: "install", command: `npm install --ignore-scripts ${where}${wanted.join(" ")}`, cwd: beside },
    { name: "prove", command: "svc gateway run --port 0, on an empty state directory", cwd: beside },
    { name: "switch", command: `node_modules of ${beside} replaces that of ${root}`, cwd: root },
  ];
}

interface Wanted {
  readonly npm: Program;
  readonly wanted: readonly string[];
  readonly newest: string;
}

async function install(installation: Installed, { npm, wanted, newest }: Wanted, work: UpdateWork): Promise<string> {
  const { root, host, layout } = installation;
  const beside = join(root, `${WORK_PREFIX}${work.random()}`);
  try {
    await mkdir(beside, { mode: 0o700 });
    if (layout === "project") await copyProject(root, beside);
    const args = layout === "global" ? ["--global", "--prefix", beside] : ["--save-exact"];
    await work.steps.run("install", npm, ["install", ...args, ...wanted], { cwd: beside });
    const lib = layout === "global" ? join(beside, "lib") : beside;
    const found = await versionIn(join(lib, host));
    if (found !== newest)
      throw new Error(
        `npm should have installed ${newest}, but installed ${found ?? "no host at the path of the running one"}`,
      );
    const version = await work.prove(join(lib, host));
    const aside = join(beside, "former");
    mkdirSync(aside);
    swapAll(exchangesOf(installation, lib), aside);
    return version;
  } finally {
    await rm(beside, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Copies the files that npm reads. `package.json` lists only packages of this project; `foreign` refuses others. */
async function copyProject(root: string, beside: string): Promise<void> {
  await writeFile(join(beside, "package.json"), `${JSON.stringify((await readPackage(root)) ?? {}, null, 2)}\n`);
  for (const name of ["package-lock.json", ".npmrc"]) {
    if (existsSync(join(root, name))) await copyFile(join(root, name), join(beside, name));
  }
}

/** The files to swap. A directory without a lock file gets no lock file. */
function exchangesOf({ root, layout, packages }: Installed, lib: string): Exchange[] {
  if (layout === "global") {
    return packages
      .filter(isOwnPackage)
      .map((name) => ({ fresh: join(lib, "node_modules", name), place: join(root, "node_modules", name) }));
  }
  const names = ["node_modules", "package.json", "package-lock.json"];
  const there = names.filter((name) => existsSync(join(root, name)) && existsSync(join(lib, name)));
  return there.map((name) => ({ fresh: join(lib, name), place: join(root, name) }));
}
