/** Decides from facts of git whether a checkout can be updated. Pure. */
import { gitByHand, type Refusal } from "./place.ts";

export interface BranchFacts {
  readonly root: string;
  /** Output of `git status --porcelain` without untracked files. */
  readonly status: string;
  /** `undefined`: detached HEAD. */
  readonly branch: string | undefined;
  /** `undefined`: the branch has no upstream. */
  readonly upstream: Upstream | undefined;
}

export interface Upstream {
  readonly remote: string;
  /** Full name at the remote, e.g. `refs/heads/main`. */
  readonly ref: string;
}

/** @returns the upstream branch, or the reason why the checkout cannot be updated */
export function judgeBranch({ root, status, branch, upstream }: BranchFacts): Refusal | Upstream {
  const cd = `cd ${root}`;
  if (branch === undefined) {
    const why = "the checkout has a detached HEAD, so there is no branch to follow";
    return { reason: "detached", why, byHand: [cd, "git switch <branch>", "svc update"] };
  }
  if (!upstream) {
    const why = `the branch ${branch} has no upstream branch`;
    return {
      reason: "no-upstream",
      why,
      byHand: [cd, `git branch --set-upstream-to=<remote>/${branch}`, "svc update"],
    };
  }
  if (status !== "") {
    const files = status.split("\n").length;
    const why = `${files} tracked ${files === 1 ? "file has" : "files have"} changes that are not committed`;
    return { reason: "dirty", why, byHand: [cd, "git stash", "svc update", "git stash pop"] };
  }
  return upstream;
}

/**
 * @param counts of `git rev-list --left-right --count HEAD...<upstream>`
 * @returns `behind`: number of commits to pull; or the reason why not
 */
export function judgeDistance(counts: string, root: string): Refusal | { readonly behind: number } {
  const [ahead, behind] = counts.split(/\s+/).map(Number);
  if (ahead === undefined || behind === undefined || Number.isNaN(ahead + behind)) {
    return {
      reason: "unknown-distance",
      why: `git counts the commits as "${counts.slice(0, 100)}"`,
      byHand: gitByHand(root),
    };
  }
  if (ahead === 0 || behind === 0) return { behind };
  const why = `${ahead} commits here are not on the remote, and ${behind} on the remote are not here`;
  return {
    reason: "diverged",
    why,
    byHand: [`cd ${root}`, "git rebase @{upstream}", "npm ci", "npm run build", "svc gateway restart"],
  };
}
