/** Finds the skills of one directory. Folders that cannot be read safely are skipped with a reason. */
import { lstat, readdir, realpath } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { readPrivateFile, readWithin } from "@svc/kit/files";
import { isGatewayError, messageOf } from "@svc/sdk";
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
}

export interface Skill extends Manifest {
  readonly source: Source;
  readonly filePath: string;
  /** Absolute, without links. */
  readonly baseDir: string;
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
  const real = await realpath(root.directory).catch(() => undefined);
  if (real === undefined) return { skills, problems };
  const folders = (await exists(join(real, FILE))) ? [""] : await foldersOf(real, skip);
  const { maxCandidatesPerRoot, maxSkillsLoadedPerSource } = limits;
  if (folders.length > maxCandidatesPerRoot) {
    skip(
      real,
      `it has ${folders.length} folders; only ${maxCandidatesPerRoot} are examined (skills.limits.maxCandidatesPerRoot)`,
    );
  }
  const read = folders.slice(0, maxCandidatesPerRoot).map(async (folder) => {
    const baseDir = await realpath(join(real, folder)).catch(() => undefined);
    if (baseDir === undefined) return undefined;
    const filePath = join(baseDir, FILE);
    if (!isInside(real, baseDir))
      return { filePath, baseDir, found: "its folder is a symbolic link that leaves the directory of skills" };
    const found = await manifestOf({ root: real, filePath, isPackaged: root.source === "svc-bundled" }, limits, cache);
    return found === undefined ? undefined : { filePath, baseDir, found };
  });
  for (const one of await Promise.all(read)) {
    if (one === undefined) continue;
    const { found, filePath, baseDir } = one;
    if (typeof found === "string") skip(filePath, found);
    else if (skills.length < maxSkillsLoadedPerSource)
      skills.push({ ...found, source: root.source, filePath, baseDir });
    else
      skip(
        filePath,
        `this source already has ${maxSkillsLoadedPerSource} skills (skills.limits.maxSkillsLoadedPerSource)`,
      );
  }
  return { skills, problems };
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
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

interface Place {
  readonly root: string;
  readonly filePath: string;
  /** Part of this package: no agent can write it, and a package manager may have made hard links. */
  readonly isPackaged: boolean;
}

/** A text is the reason why the file is skipped; `undefined`: there is none. */
async function manifestOf(
  place: Place,
  { maxSkillFileBytes }: SkillsConfig["limits"],
  cache: ManifestCache,
): Promise<Manifest | string | undefined> {
  const { filePath } = place;
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await lstat(filePath);
    const version = [dev, ino, size, mtimeMs, ctimeMs, maxSkillFileBytes].join(":");
    const known = cache.get(filePath);
    if (known?.version === version) return known.found;
    const found = await parsed(place, maxSkillFileBytes);
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

async function parsed({ root, filePath, isPackaged }: Place, maxBytes: number): Promise<Manifest | string> {
  const large = `it has more than ${maxBytes} bytes (skills.limits.maxSkillFileBytes)`;
  try {
    const bytes = isPackaged ? await packaged(filePath, maxBytes) : await own(root, filePath, maxBytes);
    if (bytes === undefined) return large;
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return parseManifest(text, basename(join(filePath, "..")));
  } catch (error) {
    if (error instanceof TypeError) return "it is not UTF-8 text";
    if (isGatewayError(error) || error instanceof Error) return messageOf(error);
    throw error;
  }
}

/** `undefined`: too large. */
async function own(root: string, filePath: string, maxBytes: number): Promise<Buffer | undefined> {
  const file = await readWithin(root, relative(root, filePath), maxBytes);
  if (file === undefined) throw new Error("it was removed while it was read");
  return file.isCut ? undefined : file.bytes;
}

async function packaged(filePath: string, maxBytes: number): Promise<Buffer | undefined> {
  const bytes = await readPrivateFile(filePath, { maxBytes, denied: 0, uid: undefined });
  return "fault" in bytes ? undefined : bytes;
}
