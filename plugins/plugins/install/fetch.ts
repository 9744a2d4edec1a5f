/** Whatever was asked for becomes one archive, as npm would publish it. Nothing of it runs. */
import { constants, lstatSync } from "node:fs";
import { copyFile, mkdir, readdir, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isOutside, treeFault, treeOf, withoutLinks } from "@svc/host/local";
import { InstallFailure, step } from "./failure.ts";
import { lastWords, type Npm, type Run } from "./npm.ts";
import type { InstallSpec } from "./spec.ts";
import { integrityOf } from "./archive.ts";

/** With what archives are made. */
export interface FetchTools {
  readonly npm: Npm;
  readonly run: Run;
}

/** An archive, and its sha512. */
export interface FetchedArchive {
  readonly file: string;
  readonly integrity: string;
}

const NEXT = "set its owner and permissions right (chmod -R o-w), or install a copy of your own";

/** @param work an empty directory for it. @throws InstallFailure at `fetch` */
export async function fetchArchive(spec: InstallSpec, work: string, tools: FetchTools): Promise<FetchedArchive> {
  return step("fetch", "look at what it says, then try again", async () => {
    // npm takes the directory with a package.json for its project: this one, and none around it.
    await writeFile(join(work, "package.json"), '{ "private": true }\n');
    const out = join(work, "out");
    await mkdir(out);
    if (spec.source === "archive") {
      await mustBeOwn(spec.path, [dirname(await realpath(spec.path))]);
      await copyFile(spec.path, join(out, "package.tgz"), constants.COPYFILE_EXCL);
    } else {
      await pack(spec, work, out, tools);
    }
    const [name, ...more] = await readdir(out);
    if (name === undefined || more.length > 0) throw new Error("npm made no archive, or several");
    const file = join(out, name);
    return { file, integrity: await integrityOf(file) };
  });
}

async function pack(spec: InstallSpec, work: string, out: string, tools: FetchTools) {
  const { npm } = tools;
  const packed = (what: string) => npm("fetch", ["pack", what, "--json", `--pack-destination=${out}`], work);
  if (spec.source === "npm") {
    await packed(spec.range === undefined ? spec.name : `${spec.name}@${spec.range}`);
  } else if (spec.source === "directory") {
    await mustBeOwn(spec.path, [await realpath(spec.path)]);
    await mustBeFit(spec.path);
    await packed(spec.path);
  } else if (spec.source === "git") {
    const checkout = join(work, "checkout");
    await checkOut(spec.path, spec.ref, checkout, tools);
    await packed(checkout);
  }
}

/** The file or directory itself and the directories around it: who can change those can change what is read. */
async function mustBeOwn(path: string, around: readonly string[]): Promise<void> {
  const user = process.getuid?.();
  if (user === undefined) return;
  for (let directory of [path, ...around]) {
    for (;;) {
      const { uid, mode } = lstatSync(await realpath(directory));
      if (uid !== user && uid !== 0) throw new InstallFailure("fetch", `${directory} belongs to another user`, NEXT);
      const isShared = (mode & 0o002) !== 0 && (mode & 0o1000) === 0; // with the sticky bit others change only what is theirs
      if (isShared) throw new InstallFailure("fetch", `everybody may write ${directory}`, NEXT);
      const parent = dirname(directory);
      if (parent === directory) break;
      directory = parent;
    }
  }
}

/** All files that would be packed; what lies in `node_modules` and `.git` would not. Links are not packed either. */
async function mustBeFit(directory: string): Promise<void> {
  const entries = await treeOf(directory, isOutside);
  const fault = treeFault(withoutLinks(entries), directory);
  if (fault) throw new InstallFailure("fetch", fault, NEXT);
}

/** Milliseconds git may take. */
const GIT_TIMEOUT = 5 * 60_000;

/** A checkout of its own: no hooks, no links, no filters of the repository. git itself refuses one that belongs to somebody else. */
async function checkOut(path: string, ref: string | undefined, to: string, { run }: FetchTools): Promise<void> {
  const quiet = { GIT_TERMINAL_PROMPT: "0", GIT_LFS_SKIP_SMUDGE: "1" };
  const git = async (args: readonly string[], cwd: string) => {
    const { exitCode, stderr, error = "" } = await run(["git", ...args], { cwd, env: quiet, timeoutMs: GIT_TIMEOUT });
    if (exitCode === 0) return;
    throw new InstallFailure("fetch", `git says:\n${lastWords(stderr || error)}`, "do what git says, then try again");
  };
  const cwd = dirname(to);
  await git(["clone", "--quiet", "--no-checkout", "--no-hardlinks", "--template=", "--", `file://${path}`, to], cwd);
  const safely = ["-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=false", "-c", "advice.detachedHead=false"];
  // A branch of the original is a remote one here; tags and commits are the same.
  const refs = ref === undefined ? ["HEAD"] : [`origin/${ref}`, ref];
  for (const [index, one] of refs.entries()) {
    try {
      await git([...safely, "checkout", "--quiet", "--detach", one], to);
      return;
    } catch (error) {
      if (index === refs.length - 1) throw error;
    }
  }
}
