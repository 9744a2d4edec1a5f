/** A generation: a project of its own with the package in it, what the package depends on, and the host's plugin API. */
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generationTree, linkSdk, SDK_LINK, sdkDirectory, type TreeEntry } from "@svc/host/local";
import { step } from "./failure.ts";
import type { Npm } from "./npm.ts";

/** The archive a generation was made from, within it. */
const ARCHIVE = "package.tgz";

/** Stands for the plugin API while npm works, so that npm neither looks for it in the registry nor installs a second one. */
const STAND_IN = ".plugin-api";

/**
 * Choice: `--legacy-peer-deps` beside `--omit=peer`, since npm looks up even the peers it leaves out, and refuses when one
 * is in no registry. A package needs no program of its own to be run by name, so no links are made for those.
 */
const INSTALL = [
  "install",
  "--omit=dev",
  "--omit=peer",
  "--include=optional",
  "--legacy-peer-deps",
  "--install-strategy=hoisted",
  "--no-install-links",
  "--no-bin-links",
  "--no-package-lock",
  "--no-dry-run",
];

/** @param directory not there yet. @throws InstallFailure at `dependencies` */
export async function makeGeneration(directory: string, name: string, archive: string, npm: Npm): Promise<void> {
  await step("dependencies", "try again", async () => {
    await mkdir(join(directory, STAND_IN), { recursive: true, mode: 0o700 });
    await copyFile(archive, join(directory, ARCHIVE));
    const { version } = JSON.parse(await readFile(join(sdkDirectory(), "package.json"), "utf8")) as { version: string };
    const sdk = { "@svc/sdk": `file:${STAND_IN}` };
    await writeFile(join(directory, STAND_IN, "package.json"), JSON.stringify({ name: "@svc/sdk", version }));
    const project = { private: true, dependencies: { [name]: `file:${ARCHIVE}` } };
    const file = join(directory, "package.json");
    const asked = {
      ...project,
      dependencies: { ...project.dependencies, ...sdk },
      overrides: { "@svc/sdk": "$@svc/sdk" },
    };
    await writeFile(file, JSON.stringify(asked));
    await npm("dependencies", INSTALL, directory);
    await writeFile(file, `${JSON.stringify(project, null, 2)}\n`);
    await rm(join(directory, STAND_IN), { recursive: true });
    linkSdk(directory);
    await removeCopies(directory);
    await settleModes(directory, await generationTree(directory));
  });
}

/** Further copies of the plugin API, as packages bring them that bundle what they depend on. */
async function removeCopies(directory: string): Promise<void> {
  for (const { path } of await generationTree(directory))
    if (path.endsWith(`/${SDK_LINK}`)) await rm(join(directory, path), { recursive: true, force: true });
}

/** Takes set-uid bits and the right of others to write away from what was just unpacked. */
export async function settleModes(root: string, entries: readonly TreeEntry[]): Promise<void> {
  for (const { path, stats } of entries) {
    const mode = stats.mode & 0o7777;
    const settled = (mode & 0o755) | 0o600 | (stats.isDirectory() ? 0o700 : 0);
    if (mode !== settled) await chmod(join(root, path), settled);
  }
}
