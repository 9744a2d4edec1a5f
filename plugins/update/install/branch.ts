/** Whether a checkout can be brought forward, from what git says of it. Pure. */
import { gitByHand, type Refusal } from "./place.ts";

export interface BranchFacts {
  readonly root: string;
  /** Of `git status --porcelain` without untracked files. */
  readonly status: string;
  /** `undefined`: HEAD is on none. */
  readonly branch: string | undefined;
  /** `undefined`: the branch follows none. */
  readonly upstream: Upstream | undefined;
}

export interface Upstream {
  readonly remote: string;
  /** Whole name at the remote, e.g. `refs/heads/main`. */
  readonly ref: string;
}

/** @returns why not, or the branch at the remote that is followed */
export function judgeBranch({ root, status, branch, upstream }: BranchFacts): Refusal | Upstream {
  const cd = `cd ${root}`;
  if (branch === undefined) {
    const why = "the checkout is on no branch, so there is none to follow";
    return { reason: "detached", why, byHand: [cd, "git switch <branch>", "svc update"] };
  }
  if (!upstream) {
    const why = `the branch ${branch} follows no branch of a remote`;
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

/** @param counts of `git rev-list --left-right --count HEAD...<upstream>` @returns why not; `behind`: how many commits there are to come */
export function judgeDistance(counts: string, root: string): Refusal | { readonly behind: number } {
  const [ahead, behind] = counts.split(/\s+/).map(Number);
  if (ahead === undefined || behind === undefined || Number.isNaN(ahead + behind)) {
    return {
      reason: "unknown-distance",
      why: `git says "${counts.slice(0, 100)}" of how far it is`,
      byHand: gitByHand(root),
    };
  }
  if (ahead === 0 || behind === 0) return { behind };
  const why = `there are ${ahead} commits here that are not at the remote, and ${behind} there that are not here`;
  return {
    reason: "diverged",
    why,
    byHand: [`cd ${root}`, "git rebase @{upstream}", "npm ci", "npm run build", "svc gateway restart"],
  };
}
