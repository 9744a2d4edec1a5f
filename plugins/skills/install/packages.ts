/** Skills from elsewhere: fetched into a private directory, described, and installed below the state directory. */
import { createHash } from "node:crypto";
import { copyFile, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, isAbsolute, join, relative } from "node:path";
import { ArchiveRefusal, type ArchiveLimits, unpackArchive } from "@svc/kit/archive";
import { runProgram } from "@svc/kit/exec";
import { installerEnvironment, NPM_FLAGS, npmCommand } from "@svc/kit/npm";
import { GatewayError, invalidRequest, notFound, unavailable } from "@svc/sdk";
import type { SkillPackage } from "@svc/sdk/skills";
import type { OutboundFetch } from "@svc/sdk/web";
import { type Manifest, parseManifest, shownInstaller } from "../library/manifest.ts";
import { FILE } from "../library/sources.ts";
import { isRegistryName } from "./commands.ts";
import { fetchFile } from "./fetch.ts";

/** Choice: limits of a skill from elsewhere. */
const LIMITS: ArchiveLimits = { packedBytes: 16 * 1024 * 1024, unpackedBytes: 64 * 1024 * 1024, entries: 2_000 };
const TIMEOUT_MS = 120_000;
/** Choice: depth at which a skill is looked for in an archive or folder. */
const MAX_DEPTH = 3;

export interface PackageSources {
  readonly managedDir: string;
  /** Private directory of the plugin, on the same disk as `managedDir`. */
  readonly workDir: string;
  readonly outbound: () => OutboundFetch | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface AddRequest {
  readonly source: string;
  readonly name?: string | undefined;
  readonly digest?: string | undefined;
  readonly replace?: boolean | undefined;
}

/**
 * @throws GatewayError `INVALID_REQUEST`: what the source has is no skill, or not what was inspected; `NOT_FOUND`;
 * `CONFLICT`: a skill of this name is installed; `UNAVAILABLE`: it could not be fetched
 */
export async function addSkill(
  request: AddRequest,
  sources: PackageSources,
  signal: AbortSignal,
): Promise<SkillPackage> {
  const work = await mkdtemp(join(sources.workDir, "incoming-"));
  try {
    const tree = await fetched(request.source, work, sources, signal);
    const { folder, manifest } = await skillIn(tree, request);
    const files = await filesOf(folder);
    const digest = await digestOf(folder, files);
    const { name, description, needs, install } = manifest;
    const directory = join(sources.managedDir, name);
    const isThere = (await lstat(directory).catch(() => undefined)) !== undefined;
    const about = {
      name,
      description,
      requirements: needs,
      install: install.map(shownInstaller),
      directory,
      replaces: isThere,
      files,
      digest,
    };
    if (request.digest === undefined) return { ...about, installed: false };
    if (request.digest !== digest) {
      invalidRequest("the source has changed since it was inspected; inspect it again: skills.add without digest");
    }
    if (isThere && request.replace !== true) {
      throw new GatewayError(
        "CONFLICT",
        `a skill ${name} is already installed; replace it with --force, or remove it first`,
      );
    }
    await mkdir(sources.managedDir, { recursive: true, mode: 0o700 });
    if (isThere) await rename(directory, join(work, "former"));
    await rename(folder, directory);
    return { ...about, installed: true };
  } catch (error) {
    throw error instanceof ArchiveRefusal
      ? new GatewayError("INVALID_REQUEST", `not unpacked: ${error.message}`)
      : error;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** A private copy of what the source has. */
async function fetched(source: string, work: string, sources: PackageSources, signal: AbortSignal): Promise<string> {
  const [tree, file] = [join(work, "tree"), join(work, "file")];
  await mkdir(tree, { mode: 0o700 });
  if (source.startsWith("npm:")) {
    await unpackArchive(await packed(source.slice(4), work, sources, signal), tree, LIMITS);
  } else if (/^[a-z][a-z0-9+.-]*:\/\//i.test(source)) {
    const options = { outbound: sources.outbound(), timeoutMs: TIMEOUT_MS, signal, maxBytes: LIMITS.packedBytes };
    await fetchFile(source, file, options);
    if (/\.md$/i.test(new URL(source).pathname)) await rename(file, join(tree, FILE));
    else await unpackArchive(file, tree, LIMITS);
  } else {
    if (!isAbsolute(source))
      invalidRequest(`${JSON.stringify(source)} is neither an absolute path, an https URL nor npm:<package>`);
    const stats = await stat(source).catch(() => notFound(`${source} does not exist on the gateway's machine`));
    if (stats.isDirectory()) await copyTree(source, join(tree, basename(source)));
    else if (stats.isFile()) await unpackArchive(source, tree, LIMITS);
    else invalidRequest(`${source} is neither a folder nor a file`);
  }
  return tree;
}

async function packed(name: string, work: string, { env }: PackageSources, signal: AbortSignal): Promise<string> {
  if (!isRegistryName("node", name)) invalidRequest(`${JSON.stringify(name)} is not the name of an npm package`);
  const out = join(work, "packed");
  await mkdir(out, { mode: 0o700 });
  const argv = [...npmCommand(process.execPath), "pack", name, "--json", `--pack-destination=${out}`, ...NPM_FLAGS];
  const [file = ""] = argv;
  const end = await runProgram({ file, argv, cwd: out, env: installerEnvironment(env), timeoutMs: TIMEOUT_MS, signal });
  const [archive] = await readdir(out);
  if (end.exitCode === 0 && archive !== undefined) return join(out, archive);
  return unavailable(`npm could not fetch ${name}: ${end.stderr.trim().slice(0, 500) || (end.error ?? "no output")}`);
}

/** Only regular files: a link could lead to other files of this machine. */
async function copyTree(from: string, to: string): Promise<void> {
  let [entries, bytes] = [0, 0];
  const copy = async (source: string, target: string) => {
    await mkdir(target, { mode: 0o700 });
    for (const entry of await readdir(source, { withFileTypes: true })) {
      const path = join(source, entry.name);
      if (entry.name === ".git" || entry.name === "node_modules") continue;
      if ((entries += 1) > LIMITS.entries) invalidRequest(`${from} has more than ${LIMITS.entries} entries`);
      if (entry.isDirectory()) await copy(path, join(target, entry.name));
      else if (entry.isFile()) {
        if ((bytes += (await lstat(path)).size) > LIMITS.unpackedBytes)
          invalidRequest(`${from} has more than ${LIMITS.unpackedBytes} bytes`);
        await copyFile(path, join(target, entry.name));
      } else invalidRequest(`${path} is a link or a special file; replace it with a regular file`);
    }
  };
  await copy(from, to);
}

/** The one skill in a tree, or the named one. */
async function skillIn(tree: string, { name, source }: AddRequest): Promise<{ folder: string; manifest: Manifest }> {
  const found: { folder: string; manifest: Manifest }[] = [];
  const reasons: string[] = [];
  const look = async (folder: string, depth: number): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true });
    if (entries.some((entry) => entry.name === FILE && entry.isFile())) {
      try {
        const text = await readFile(join(folder, FILE), "utf8");
        found.push({ folder, manifest: parseManifest(text, folder === tree ? "" : basename(folder)) });
      } catch (error) {
        reasons.push(`${relative(tree, join(folder, FILE))}: ${error instanceof Error ? error.message : "unreadable"}`);
      }
    } else if (depth < MAX_DEPTH) {
      for (const entry of entries) if (entry.isDirectory()) await look(join(folder, entry.name), depth + 1);
    }
  };
  await look(tree, 0);
  const wanted = name === undefined ? found : found.filter(({ manifest }) => manifest.name === name);
  const [only, ...more] = wanted;
  if (only && more.length === 0) return only;
  if (only) {
    const names = wanted.map(({ manifest }) => manifest.name).join(", ");
    return invalidRequest(`${source} has several skills; choose one with --skill: ${names}`);
  }
  const why = reasons.length > 0 ? ` (${reasons.slice(0, 3).join("; ")})` : "";
  return invalidRequest(`${source} has no ${name === undefined ? `folder with a ${FILE}` : `skill ${name}`}${why}`);
}

async function filesOf(folder: string): Promise<SkillPackage["files"]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      const { size, mode } = await lstat(path);
      return { path: relative(folder, path), bytes: size, executable: (mode & 0o111) !== 0 };
    });
  return (await Promise.all(files)).toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

async function digestOf(folder: string, files: SkillPackage["files"]): Promise<string> {
  const hash = createHash("sha256");
  for (const { path, bytes, executable } of files) {
    hash.update(JSON.stringify([path, bytes, executable]));
    hash.update(await readFile(join(folder, path)));
  }
  return hash.digest("hex");
}
