/** Fetches any spec as one archive, in the format npm publishes. Runs no code of the package. */
import { constants, lstatSync } from "node:fs";
import { copyFile, mkdir, readdir, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isOutside, treeFault, treeOf, withoutLinks } from "@svc/host/local";
import { InstallFailure, step } from "./failure.ts";
import { lastWords, type Npm, type Run } from "./npm.ts";
import type { InstallSpec } from "./spec.ts";
import { integrityOf } from "./archive.ts";

/** Programs used for fetching. */
export interface FetchTools {
  readonly npm: Npm;
  readonly run: Run;
}

/** An archive and its SHA-512 integrity. */
export interface FetchedArchive {
  readonly file: string;
  readonly integrity: string;
}

const NEXT = "correct its owner and permissions (chmod -R o-w), or install your own copy";

/** @param work an empty directory @throws InstallFailure at `fetch` */
export async function fetchArchive(spec: InstallSpec, work: string, tools: FetchTools): Promise<FetchedArchive> {
  return step("fetch", "fix the problem, then try again", async () => {
    // npm treats the nearest directory with a package.json as its project: the work directory, and no directory above.
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
    if (name === undefined || more.length > 0) throw new Error("npm created no archive, or several");
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

/**
 * Checks the owner and mode of the path and of all directories above it: whoever can write there can change the
 * package.
 */
async function mustBeOwn(path: string, around: readonly string[]): Promise<void> {
  const user = process.getuid?.();
  if (user === undefined) return;
  for (let directory of [path, ...around]) {
    for (;;) {
      const { uid, mode } = lstatSync(await realpath(directory));
      if (uid !== user && uid !== 0) throw new InstallFailure("fetch", `${directory} belongs to another user`, NEXT);
      const isShared = (mode & 0o002) !== 0 && (mode & 0o1000) === 0; // with the sticky bit, others can only change their own entries
      if (isShared) throw new InstallFailure("fetch", `${directory} is world-writable`, NEXT);
      const parent = dirname(directory);
      if (parent === directory) break;
      directory = parent;
    }
  }
}

/** Checks all files that would be packed; `node_modules`, `.git` and links are not packed. */
async function mustBeFit(directory: string): Promise<void> {
  const entries = await treeOf(directory, isOutside);
  const fault = treeFault(withoutLinks(entries), directory);
  if (fault) throw new InstallFailure("fetch", fault, NEXT);
}

/** Milliseconds that git may take. */
const GIT_TIMEOUT = 5 * 60_000;

/**
 * Creates a checkout without hooks, links or filters of the repository. git itself rejects a repository that belongs to
 * another user.
 */
async function checkOut(path: string, ref: string | undefined, to: string, { run }: FetchTools): Promise<void> {
  const quiet = { GIT_TERMINAL_PROMPT: "0", GIT_LFS_SKIP_SMUDGE: "1" };
  const git = async (args: readonly string[], cwd: string) => {
    const { exitCode, stderr, error = "" } = await run(["git", ...args], { cwd, env: quiet, timeoutMs: GIT_TIMEOUT });
    if (exitCode === 0) return;
    throw new InstallFailure(
      "fetch",
      `git says:\n${lastWords(stderr || error)}`,
      "fix the problem reported by git, then try again",
    );
  };
  const cwd = dirname(to);
  await git(["clone", "--quiet", "--no-checkout", "--no-hardlinks", "--template=", "--", `file://${path}`, to], cwd);
  const safely = ["-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=false", "-c", "advice.detachedHead=false"];
  // A branch of the original is a remote branch here; tags and commits are the same.
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
