/** Finds the skills of one directory. Folders that cannot be read safely are skipped with a reason. */
import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { readWithin } from "@svc/kit/files";
import { messageOf } from "@svc/sdk";
import { isInside } from "@svc/sdk/files";
import type { SkillProblem } from "@svc/sdk/skills";
import type { SkillsConfig } from "../config.ts";
import { type Manifest, parseManifest } from "./manifest.ts";

export type Source =
  | "svc-extra"
  | "svc-bundled"
  | "svc-managed"
  | "agents-skills-personal"
  | "agents-skills-project"
  | "svc-workspace";

/** A directory with a folder per skill, or the folder of one skill. */
export interface Root {
  readonly source: Source;
  readonly directory: string;
  /** A workspace that the directory must not leave: agents can make links there. Default: links may lead anywhere. */
  readonly workspace?: string;
}

/** The folder of a skill. */
interface Folder {
  readonly source: Source;
  /** Directory above that agents cannot replace; absolute, without links. */
  readonly top: string;
  /** Absolute, without links when it was found. */
  readonly baseDir: string;
}

export interface Skill extends Manifest, Folder {
  readonly filePath: string;
}

/** What was read of a file, until it changes. */
export type ManifestCache = Map<string, { readonly version: string; readonly found: Manifest | string }>;

export interface Found {
  readonly skills: readonly Skill[];
  readonly problems: readonly SkillProblem[];
}

export const FILE = "SKILL.md";
/** Maximum remembered files: folders come and go. */
const MAX_CACHED = 5_000;

/** A missing directory has no skills. Never rejects. */
export async function scan(root: Root, limits: SkillsConfig["limits"], cache: ManifestCache): Promise<Found> {
  const skills: Skill[] = [];
  const problems: SkillProblem[] = [];
  const skip = (path: string, reason: string) => void problems.push({ path, reason });
  const real = await realOf(root.directory);
  if (real === undefined) return { skills, problems };
  const top = (root.workspace && (await realOf(root.workspace))) ?? real;
  if (!isInside(top, real)) {
    skip(root.directory, "it is a symbolic link that leaves the workspace; see skills.load.extraDirs");
    return { skills, problems };
  }
  const isOneSkill = (await lstat(join(real, FILE)).catch(() => undefined)) !== undefined;
  const folders = isOneSkill ? [""] : await foldersOf(real, skip);
  const { maxCandidatesPerRoot, maxSkillsLoadedPerSource } = limits;
  if (folders.length > maxCandidatesPerRoot) {
    skip(
      real,
      `it has ${folders.length} folders; only ${maxCandidatesPerRoot} are examined (skills.limits.maxCandidatesPerRoot)`,
    );
  }
  const read = folders.slice(0, maxCandidatesPerRoot).map(async (folder) => {
    const baseDir = await realOf(join(real, folder));
    if (baseDir === undefined) return undefined;
    const found = isInside(real, baseDir)
      ? await manifestOf({ source: root.source, top, baseDir }, limits, cache)
      : "its folder is a symbolic link that leaves the directory of skills";
    return found === undefined ? undefined : { baseDir, found };
  });
  for (const one of await Promise.all(read)) {
    if (one === undefined) continue;
    const { found, baseDir } = one;
    const filePath = join(baseDir, FILE);
    if (typeof found === "string") skip(filePath, found);
    else if (skills.length < maxSkillsLoadedPerSource)
      skills.push({ ...found, source: root.source, top, filePath, baseDir });
    else
      skip(
        filePath,
        `this source already has ${maxSkillsLoadedPerSource} skills (skills.limits.maxSkillsLoadedPerSource)`,
      );
  }
  return { skills, problems };
}

/** `undefined`: it does not exist. */
async function realOf(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}

async function foldersOf(directory: string, skip: (path: string, reason: string) => void): Promise<string[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
    return folders
      .map(({ name }) => name)
      .filter((name) => !name.startsWith(".") && name !== "node_modules")
      .sort();
  } catch (error) {
    skip(directory, `it cannot be read: ${messageOf(error)}`);
    return [];
  }
}

/** A text is the reason why the file is skipped; `undefined`: there is none. */
async function manifestOf(
  folder: Folder,
  { maxSkillFileBytes }: SkillsConfig["limits"],
  cache: ManifestCache,
): Promise<Manifest | string | undefined> {
  const filePath = join(folder.baseDir, FILE);
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await lstat(filePath);
    const version = [dev, ino, size, mtimeMs, ctimeMs, maxSkillFileBytes].join(":");
    const known = cache.get(filePath);
    if (known?.version === version) return known.found;
    const found = await parsed(folder, maxSkillFileBytes);
    if (cache.size >= MAX_CACHED) cache.clear();
    cache.set(filePath, { version, found });
    return found;
  } catch (error) {
    cache.delete(filePath);
    const { code } = Object(error) as { readonly code?: unknown };
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    return messageOf(error);
  }
}

async function parsed(folder: Folder, maxBytes: number): Promise<Manifest | string> {
  try {
    const file = await readSkillFile(folder, FILE, maxBytes);
    if (file === undefined) return "it was removed while it was read";
    if (file.isCut) return `it has more than ${maxBytes} bytes (skills.limits.maxSkillFileBytes)`;
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(file.bytes);
    return parseManifest(text, basename(folder.baseDir));
  } catch (error) {
    return error instanceof TypeError ? "it is not UTF-8 text" : messageOf(error);
  }
}

/**
 * Reads a file of a skill, and follows no links: the folder may have been replaced since it was found.
 * @param path below the folder
 * @param head bytes to read at most; default: the whole file
 * @returns `undefined`: there is none
 * @throws GatewayError `INVALID_REQUEST` for a link, a path that leads out, or a file that is too large
 */
export async function readSkillFile(
  { source, top, baseDir }: Folder,
  path: string,
  head?: number,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean } | undefined> {
  // No agent can write there, and a package manager may have made hard links, which are refused elsewhere.
  if (source === "svc-bundled" && path === FILE) {
    const bytes = await readFile(join(baseDir, FILE));
    return { bytes, isCut: head !== undefined && bytes.length > head };
  }
  const below = relative(top, baseDir); // not `join`: `..` in the path must stay visible to the check
  return readWithin(top, below === "" ? path : `${below}/${path}`, head);
}
