/**
 * Updates a checkout. The new version is built and tested in its own directory; then the branch is fast-forwarded, and the build
 * output replaces the former one. Until then no running file is touched.
 */
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { judgeBranch, judgeDistance, type Upstream } from "./branch.ts";
import { versionIn } from "./facts.ts";
import {
  type Outcome,
  type PlannedStep,
  refused,
  type UpdateWork,
  upToDate,
  type Version,
  WORK_PREFIX,
} from "./outcome.ts";
import type { Installation } from "./place.ts";
import type { Program, Steps } from "./steps.ts";
import { swapAll } from "./swap.ts";

type Checkout = Installation & { readonly mode: "git" };

interface Repository {
  readonly root: string;
  readonly git: Program;
  readonly steps: Steps;
}

/** @throws StepFailed; Error of the file system. After an error, the former version is in place. */
export async function updateCheckout(installation: Checkout, work: UpdateWork): Promise<Outcome> {
  const { root } = installation;
  const { git, npm } = work.programs;
  const missing = git ? "npm" : "git";
  if (!git || !npm)
    return refused({
      reason: `no-${missing}`,
      why: `${missing} was not found`,
      byHand: [`install ${missing}, then: svc update`],
    });
  const repository = { root, git, steps: work.steps };
  const ask = (name: string, ...args: string[]) => work.steps.run(name, git, args, { cwd: root });
  const before: Version = { sha: await ask("head", "rev-parse", "HEAD"), version: work.version };
  const judged = judgeBranch({
    root,
    status: await ask("status", "status", "--porcelain", "--untracked-files=no"),
    ...(await followed(repository)),
  });
  if ("why" in judged) return refused(judged, before);
  if (work.dryRun) return lookOnly(judged, before, repository);

  await ask("fetch", "fetch", "--no-tags", judged.remote);
  const distance = judgeDistance(
    await ask("compare", "rev-list", "--left-right", "--count", "HEAD...@{upstream}"),
    root,
  );
  if ("why" in distance) return refused(distance, before);
  if (distance.behind === 0) return upToDate(before, String(before.sha));
  const sha = await ask("target", "rev-parse", "@{upstream}");
  const version = await build(installation, { ...repository, npm, sha, before: String(before.sha) }, work);
  return { status: "ok", before, after: { sha, version } };
}

/** The current branch and its upstream. */
export async function followed({
  root,
  git,
  steps,
}: Repository): Promise<{ branch: string | undefined; upstream: Upstream | undefined }> {
  const ask = async (name: string, ...args: string[]) => {
    const { exitCode, stdout } = await steps.attempt(name, git, args, { cwd: root });
    return exitCode === 0 ? stdout.trim() || undefined : undefined;
  };
  const branch = await ask("branch", "symbolic-ref", "--quiet", "--short", "HEAD");
  if (branch === undefined) return { branch, upstream: undefined };
  const remote = await ask("remote", "config", "--get", `branch.${branch}.remote`);
  const ref = await ask("follows", "config", "--get", `branch.${branch}.merge`);
  // A remote `.` is a branch of this repository.
  const upstream = remote !== undefined && remote !== "." && ref !== undefined ? { remote, ref } : undefined;
  return { branch, upstream };
}

/** The commit of the upstream branch, read from the remote; writes nothing. `undefined`: the branch does not exist there. */
export async function remoteHead(
  { remote, ref }: Upstream,
  { root, git, steps }: Repository,
): Promise<string | undefined> {
  const line = await steps.run("look", git, ["ls-remote", remote, ref], { cwd: root });
  return /^[0-9a-f]{40,64}(?=\s)/.exec(line)?.[0];
}

async function lookOnly(upstream: Upstream, before: Version, repository: Repository): Promise<Outcome> {
  const { root } = repository;
  const sha = await remoteHead(upstream, repository);
  if (sha === undefined) {
    const why = `the remote ${upstream.remote} has no ${upstream.ref}`;
    return refused(
      { reason: "no-upstream", why, byHand: [`cd ${root}`, "git branch --set-upstream-to=<remote>/<branch>"] },
      before,
    );
  }
  if (sha === before.sha) return upToDate(before, sha);
  const beside = join(root, `${WORK_PREFIX}…`);
  const plan: PlannedStep[] = [
    { name: "fetch", command: `git fetch ${upstream.remote}`, cwd: root },
    { name: "worktree", command: `git worktree add --detach ${beside} ${sha}`, cwd: root },
    { name: "install", command: "npm ci --ignore-scripts", cwd: beside },
    { name: "build", command: "npm run build", cwd: beside },
    { name: "prove", command: "svc gateway run --port 0, on an empty state directory", cwd: beside },
    { name: "switch", command: `git merge --ff-only ${sha}, then the build output in its place`, cwd: root },
  ];
  return {
    status: "skipped",
    reason: "dry-run",
    why: `${sha} would be installed, if it is a fast-forward`,
    before,
    after: { sha },
    plan,
  };
}

interface Target extends Repository {
  readonly npm: Program;
  readonly sha: string;
  readonly before: string;
}

/** @returns the version that is now in place */
async function build({ root, host }: Checkout, target: Target, { prove, random }: UpdateWork): Promise<string> {
  const { git, npm, steps, sha } = target;
  const beside = join(root, `${WORK_PREFIX}${random()}`);
  try {
    await steps.run("worktree", git, ["worktree", "add", "--quiet", "--detach", beside, sha], { cwd: root });
    await steps.run("install", npm, ["ci", "--ignore-scripts"], { cwd: beside });
    await steps.run("build", npm, ["run", "--silent", "build"], { cwd: beside });
    const version = await prove(join(beside, host));
    await takeOver(beside, target);
    return (await versionIn(join(root, host))) ?? version;
  } finally {
    await steps.attempt("clean up", git, ["worktree", "remove", "--force", beside], { cwd: root, isShielded: true });
    await rm(beside, { recursive: true, force: true });
  }
}

/**
 * Fast-forwards the branch, and replaces the ignored files of the running version with those that the build created.
 */
async function takeOver(beside: string, { root, git, steps, sha, before }: Target): Promise<void> {
  const listed = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
  const made = (await steps.run("made", git, listed, { cwd: beside })).split("\0").filter(Boolean);
  const now = await steps.run("still clean", git, ["status", "--porcelain", "--untracked-files=no"], { cwd: root });
  if (now !== "")
    throw new Error(
      `tracked files in ${root} were changed while the update was built; commit or stash the changes, then: svc update`,
    );
  const aside = join(beside, `${WORK_PREFIX}former`);
  mkdirSync(aside);
  await steps.run("switch", git, ["merge", "--ff-only", "--quiet", sha], { cwd: root, isShielded: true });
  const exchanges = made
    .map((path) => path.replace(/\/$/, ""))
    .map((path) => ({ fresh: join(beside, path), place: join(root, path) }));
  try {
    swapAll(exchanges, aside);
  } catch (error) {
    await steps.attempt("switch back", git, ["reset", "--keep", before], { cwd: root, isShielded: true });
    throw error;
  }
}
