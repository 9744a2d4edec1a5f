/** Turns a spec into a version that is ready for the switch: fully checked, not yet in use. */
import { realpathSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  inspectPackage,
  generationTree,
  type InstalledVersion,
  isOutside,
  itemsOf,
  type Manifest,
  nativeFiles,
  sealOf,
  treeFault,
  treeHash,
  treeOf,
  withoutLinks,
} from "@svc/host/local";
import { lookInto } from "./archive-thread.ts";
import { makeGeneration } from "./dependencies.ts";
import type { InstallEffects } from "./effects.ts";
import { InstallFailure, type InstallStep, step } from "./failure.ts";
import { fetchArchive } from "./fetch.ts";
import { createNpm, createRun } from "./npm.ts";
import { factsOf, refusePaths } from "./package-facts.ts";
import { absoluteSpec, type InstallSpec, parseSpec } from "./spec.ts";
import { type Fetched, noteFetched } from "./waiting.ts";

/** Environment in which a version is prepared. */
export interface CandidateOptions {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly effects: InstallEffects;
  progress(step: InstallStep, what: string): void;
  /** Checks that this package may have its id. @throws InstallFailure at `manifest` */
  admit(name: string, manifest: Manifest): void;
  /** Whether this archive is already installed. */
  isThere(name: string, manifest: Manifest, integrity: string): Promise<boolean>;
  /** @throws InstallFailure at `agree` without an agreement */
  agree(name: string, manifest: Manifest, integrity: string, items: readonly string[]): Promise<void>;
}

/** A version that is ready for the switch. */
export interface Candidate {
  readonly manifest: Manifest;
  /** Without the fields that the switch sets. */
  readonly version: Omit<InstalledVersion, "directory" | "generation" | "installedAt">;
  /** The directory of the version, still in the staging directory; for a link, the linked directory. */
  readonly directory: string;
}

/**
 * @param staging an empty private directory; with `waited`, the directory of the earlier fetch
 * @param waited result of an earlier install that is reused instead of fetching again
 * @returns the manifest alone if this archive is already installed
 * @throws InstallFailure at the failed step
 */
export async function makeCandidate(
  text: string,
  staging: string,
  options: CandidateOptions,
  waited?: Fetched,
): Promise<Candidate | { readonly there: Manifest }> {
  const fetched = waited ?? (await fetchGeneration(text, staging, options));
  if ("there" in fetched) return fetched;
  const { source, name, integrity } = fetched;
  const directory = join(staging, "generation");
  const entries = await generationTree(directory);
  const inside = join(directory, "node_modules", name);
  const manifest = await step("manifest", "report it to the author of the plugin", async () => {
    const fault = treeFault(entries, directory);
    if (fault) throw new Error(`${fault}; a plugin may only contain its own files`);
    return { ...inspectPackage(inside), directory: inside };
  });
  const tree = await treeHash(directory, entries, true);
  if (waited) mustBeUnchanged(waited, tree, manifest, options);
  else await noteFetched(staging, { ...fetched, spec: text, tree });
  const items = itemsOf(manifest, nativeFiles(entries));
  await options.agree(name, manifest, integrity, items);
  await tryIn(staging, inside, manifest, options);
  if (sealOf(await generationTree(directory)) !== sealOf(entries))
    throw new InstallFailure(
      "trial",
      "the plugin changes its own files when it is imported",
      "report it to the author of the plugin",
    );
  const { version } = manifest;
  const facts = { source, spec: text, name, version, integrity, tree };
  return { manifest, directory, version: { ...facts, agreed: [...items] } };
}

/**
 * Checks the waiting package, and again that the id of the plugin is free.
 * @throws InstallFailure at `fetch` or `manifest`
 */
function mustBeUnchanged({ name, tree }: Fetched, now: string, manifest: Manifest, { admit }: CandidateOptions): void {
  if (tree !== now)
    throw new InstallFailure("fetch", "the fetched package was changed meanwhile", "install again, without --agree");
  admit(name, manifest);
}

/**
 * Fetches the package and its dependencies into the directory `generation` of the staging directory.
 * @throws InstallFailure
 */
async function fetchGeneration(
  text: string,
  staging: string,
  options: CandidateOptions,
): Promise<Pick<Fetched, "source" | "name" | "integrity"> | { readonly there: Manifest }> {
  const { effects, env, progress } = options;
  const run = createRun(effects.run, env);
  const npm = createNpm(run);
  progress("fetch", text);
  const spec = parseSpec(text, lookAt, options.home);
  const work = join(staging, "work");
  await effects.files.mkdir(work, { mode: 0o700 });
  const archive = await fetchArchive(spec, work, { npm, run });

  progress("archive", archive.integrity);
  const { packageJson } = await step("archive", "download it again from its publisher", () => lookInto(archive.file));

  progress("manifest", "");
  const { name, manifest: told } = factsOf(packageJson, text);
  if (spec.source === "npm" && name !== spec.name)
    throw new InstallFailure(
      "manifest",
      `requested ${spec.name}, but got ${name}`,
      "check the package in the registry",
    );
  refusePaths(packageJson, name);
  options.admit(name, told);
  if (await options.isThere(name, told, archive.integrity)) return { there: told };

  progress("dependencies", `${name} ${told.version}`);
  await makeGeneration(join(staging, "generation"), name, archive.file, npm);
  return { source: spec.source, name, integrity: archive.integrity };
}

/** Prepares a linked directory, which is used in place: not copied, not sealed. */
export async function makeLink(path: string, staging: string, options: CandidateOptions): Promise<Candidate> {
  options.progress("fetch", path);
  const directory = linkedDirectory(path, options.home);
  options.progress("manifest", "");
  const entries = await step("manifest", "link a smaller directory", () => treeOf(directory, isOutside));
  const fault = treeFault(withoutLinks(entries), directory);
  if (fault) throw new InstallFailure("manifest", fault, "correct its owner and permissions (chmod -R o-w)");
  const packageJson = await step("manifest", "link the directory of a package", () =>
    readFile(join(directory, "package.json"), "utf8"),
  );
  const { name } = factsOf(packageJson, directory);
  const manifest = await step("manifest", "correct its package.json", async () => inspectPackage(directory));
  options.admit(name, manifest);
  const items = itemsOf(manifest, []);
  await options.agree(name, manifest, directory, items);
  await tryIn(staging, directory, manifest, options);
  const facts = { source: "link" as const, spec: directory, name, version: manifest.version, integrity: "", tree: "" };
  return { manifest, directory, version: { ...facts, agreed: [...items] } };
}

function linkedDirectory(path: string, home: string): string {
  const spec: InstallSpec = parseSpec(absoluteSpec(path, "/"), lookAt, home);
  if (spec.source === "directory") return realpathSync(spec.path);
  throw new InstallFailure(
    "fetch",
    `${path} is not a directory, and only directories can be linked`,
    "svc plugins install ./<directory> --link",
  );
}

async function tryIn(staging: string, directory: string, manifest: Manifest, options: CandidateOptions) {
  const { effects, env, progress } = options;
  progress("trial", "");
  const empty = join(staging, "empty");
  await effects.files.mkdir(empty, { mode: 0o700 });
  await step("trial", "report it to the author of the plugin", () =>
    effects.trial({ directory, manifest }, empty, env["PATH"]),
  );
}

function lookAt(path: string): "file" | "directory" | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() ? "file" : stats?.isDirectory() ? "directory" : undefined;
}
