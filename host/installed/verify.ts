/** Verifies that an installed plugin is still what was installed and agreed to. Runs before any of its code is imported. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "@svc/sdk/files";
import type { Manifest } from "../kernel/manifest.ts";
import { addedItems, itemsOf, summaryOf } from "./agreed.ts";
import { inspectPackage, nativeFiles } from "./package.ts";
import { type InstalledVersion, packageDirectory } from "./record.ts";
import { linkSdk } from "./sdk-link.ts";
import {
  generationTree,
  isOutside,
  sealOf,
  treeFault,
  treeHash,
  treeOf,
  type TreeEntry,
  withoutLinks,
} from "./tree.ts";

/** @throws Error why the plugin must not run, with the next step */
export async function verifyInstalled(id: string, version: InstalledVersion, extensions: string): Promise<Manifest> {
  const isLink = version.source === "link";
  const root = isLink ? version.directory : join(extensions, version.directory);
  const entries = await entriesOf(id, root, isLink);
  const fault = treeFault(isLink ? withoutLinks(entries) : entries, root);
  if (fault) throw new Error(`${fault}, so its content cannot be trusted\nNext: ${repair(id, version)}`);
  if (!isLink) {
    if (!(await isAsInstalled(version, extensions, root, entries)))
      throw new Error(`its files changed since it was installed\nNext: ${repair(id, version)}`);
    linkSdk(root);
  }
  const manifest = inspectPackage(packageDirectory(extensions, version));
  if (manifest.id !== id)
    throw new Error(
      `its package now has the id "${manifest.id}", but it was installed as ${id}\nNext: ${repair(id, version)}`,
    );
  const added = addedItems(itemsOf(manifest, isLink ? [] : nativeFiles(entries)), version.agreed);
  if (added.length > 0)
    throw new Error(
      `it asks for permissions that were not agreed to: ${summaryOf(added).join("; ")}\nNext: svc plugins update ${id}`,
    );
  return manifest;
}

async function entriesOf(id: string, root: string, isLink: boolean): Promise<readonly TreeEntry[]> {
  try {
    return isLink ? await treeOf(root, isOutside) : await generationTree(root);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new Error(
      `its files no longer exist in ${root}\nNext: svc plugins update ${id}, or svc plugins remove ${id}`,
      {
        cause: error,
      },
    );
  }
}

function repair(id: string, { source }: InstalledVersion): string {
  if (source === "link") return `fix its owner and permissions, or run: svc plugins remove ${id}`;
  return `svc plugins update ${id}, which reinstalls it, or svc plugins remove ${id}`;
}

/** Compares the seal; if an entry was touched since, compares the hash of all contents and writes a new seal. */
async function isAsInstalled(
  version: InstalledVersion,
  extensions: string,
  root: string,
  entries: readonly TreeEntry[],
): Promise<boolean> {
  const seal = sealOf(entries);
  if (readSeal(extensions, version) === `${version.tree} ${seal}`) return true;
  if ((await treeHash(root, entries)) !== version.tree) return false;
  await keepSeal(extensions, version, seal).catch(() => undefined); // without the seal the next check is only slower
  return true;
}

function sealPath(extensions: string, { directory }: InstalledVersion): string {
  return join(extensions, `${directory}.seal`);
}

function readSeal(extensions: string, version: InstalledVersion): string | undefined {
  try {
    return readFileSync(sealPath(extensions, version), "utf8").trim();
  } catch {
    return undefined; // not sealed yet
  }
}

/** Records that these files match the record. */
async function keepSeal(extensions: string, version: InstalledVersion, seal: string): Promise<void> {
  await replaceFile(sealPath(extensions, version), `${version.tree} ${seal}\n`);
}
