/** Creates a generation: a directory with one version of the package, its dependencies and the host's plugin API. */
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generationTree, linkSdk, SDK_LINK, sdkDirectory, type TreeEntry } from "@svc/host/local";
import { step } from "./failure.ts";
import type { Npm } from "./npm.ts";

/** Name of the source archive within the generation. */
const ARCHIVE = "package.tgz";

/**
 * Placeholder for the plugin API while npm runs, so that npm neither looks up the plugin API in the registry nor
 * installs a second copy.
 */
const STAND_IN = ".plugin-api";

/**
 * Choice: `--legacy-peer-deps` in addition to `--omit=peer`, because npm looks up even omitted peers and fails if a
 * peer is in no registry. Packages need no programs by name, so no bin links are created.
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

/** @param directory must not exist yet @throws InstallFailure at `dependencies` */
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

/** Removes further copies of the plugin API from packages with bundled dependencies. */
async function removeCopies(directory: string): Promise<void> {
  for (const { path } of await generationTree(directory))
    if (path.endsWith(`/${SDK_LINK}`)) await rm(join(directory, path), { recursive: true, force: true });
}

/** Removes set-id bits and write permissions of others from freshly unpacked files. */
export async function settleModes(root: string, entries: readonly TreeEntry[]): Promise<void> {
  for (const { path, stats } of entries) {
    const mode = stats.mode & 0o7777;
    const settled = (mode & 0o755) | 0o600 | (stats.isDirectory() ? 0o700 : 0);
    if (mode !== settled) await chmod(join(root, path), settled);
  }
}
