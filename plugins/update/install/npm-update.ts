/**
 * Installs the newest packages beside the ones that run, proves them there, and puts them in their place. Until then nothing
 * that runs is touched.
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

/** Its version is that of the gateway. */
const HOST = "@svc/host";

/** Tag of the registry, by channel. */
const TAGS = { stable: "latest", beta: "beta", dev: "dev" } as const;

const NO_NPM = { reason: "no-npm", why: "there is no npm here", byHand: ["install npm, then: svc update"] };

/** @throws StepFailed; Error of the file system. All is as it was then. */
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

/** The version the registry names by the channel's tag. `undefined`: it has none. @throws StepFailed it could not be asked */
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

/** Choice: a version that cannot be compared is no newer one. */
export function isNewer(candidate: string, current: string): boolean {
  return semver.valid(candidate) !== null && semver.valid(current) !== null && semver.gt(candidate, current);
}

function planOf({ root, layout }: Installed, wanted: readonly string[]): PlannedStep[] {
  const beside = join(root, `${WORK_PREFIX}…`);
  const where = layout === "global" ? `--global --prefix ${beside} ` : "";
  return [
    { name: "install", command: `npm install --ignore-scripts ${where}${wanted.join(" ")}`, cwd: beside },
    { name: "prove", command: "svc gateway run --port 0, on an empty state directory", cwd: beside },
    { name: "switch", command: `node_modules of ${beside} in the place of that of ${root}`, cwd: root },
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
      throw new Error(`${newest} was asked for, and npm installed ${found ?? "no host where the running one lies"}`);
    const version = await work.prove(join(lib, host));
    const aside = join(beside, "former");
    mkdirSync(aside);
    swapAll(exchangesOf(installation, lib), aside);
    return version;
  } finally {
    await rm(beside, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** What npm goes by; of the packages only ours are named, and there are no others. */
async function copyProject(root: string, beside: string): Promise<void> {
  await writeFile(join(beside, "package.json"), `${JSON.stringify((await readPackage(root)) ?? {}, null, 2)}\n`);
  for (const name of ["package-lock.json", ".npmrc"]) {
    if (existsSync(join(root, name))) await copyFile(join(root, name), join(beside, name));
  }
}

/** Of a directory without a lock file none is made. */
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
