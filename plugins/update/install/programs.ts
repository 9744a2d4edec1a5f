/** Finds git, npm and Node. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { findOnPath, type ProgramPlaces } from "@svc/kit/exec";
import type { Program } from "./steps.ts";

export interface Programs {
  readonly node: Program;
  readonly git: Program | undefined;
  readonly npm: Program | undefined;
}

/** Disables programs that a repository runs implicitly: hooks, and file system monitors. */
const GIT_ALWAYS = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false"];

/** Scripts of packages never run. */
const NPM_ALWAYS = [
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--no-update-notifier",
  "--no-progress",
  "--no-color",
  "--loglevel=error",
];

/**
 * @param node path of the running Node. Choice: the npm on `PATH`, as in the user's shell; else the npm installed with
 * Node.
 */
export async function findPrograms(places: ProgramPlaces, node: string): Promise<Programs> {
  const [git, npm] = await Promise.all([findOnPath("git", places), findOnPath("npm", places)]);
  const beside = [
    join(dirname(node), "../lib/node_modules/npm/bin/npm-cli.js"),
    join(dirname(node), "node_modules/npm/bin/npm-cli.js"),
  ].find(existsSync);
  const found = npm
    ? { file: npm, args: NPM_ALWAYS }
    : beside
      ? { file: node, args: [beside, ...NPM_ALWAYS] }
      : undefined;
  return { node: { file: node, args: [] }, git: git ? { file: git, args: GIT_ALWAYS } : undefined, npm: found };
}
