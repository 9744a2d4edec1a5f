/** Runs installers: programs of a skill go into its own directory below the state directory. */
import { chmod, mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { unpackArchive } from "@svc/kit/archive";
import { findOnPath, runProgram } from "@svc/kit/exec";
import { installerEnvironment } from "@svc/kit/npm";
import { AnySignal } from "@svc/kit/time";
import { messageOf, type ResultOf } from "@svc/sdk";
import type { skills } from "@svc/sdk/skills";
import type { OutboundFetch } from "@svc/sdk/web";
import type { SkillsConfig } from "../config.ts";
import type { InstallSpec } from "../library/manifest.ts";
import { folderName, type ToolPlaces } from "../library/library.ts";
import { DOWNLOAD_LIMITS, fetchFile } from "./fetch.ts";
import { installCommand } from "./commands.ts";

export type InstallResult = ResultOf<typeof skills.install>;

export interface InstallerSources {
  readonly tools: ToolPlaces;
  readonly settings: () => SkillsConfig["install"];
  readonly outbound: () => OutboundFetch | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends running installers. */
  readonly signal: AbortSignal;
}

export interface InstallRequest {
  readonly skillKey: string;
  readonly spec: InstallSpec;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The result of an installer that did not run. */
export function notRun(message: string): InstallResult {
  return { ok: false, message, stdout: "", stderr: "", code: null };
}

export function createInstaller(sources: InstallerSources) {
  /** Keys of skills whose programs are being installed. */
  const busy = new Set<string>();

  /** Never rejects: a failure is a result. */
  return async function install(request: InstallRequest): Promise<InstallResult> {
    const { skillKey } = request;
    if (busy.has(skillKey)) return notRun("an installer of this skill is already running; wait until it has ended");
    busy.add(skillKey);
    const ending = new AnySignal(request.signal, sources.signal);
    try {
      const home = sources.tools.home(skillKey);
      const place = { ...request, signal: ending.signal, home };
      const result = request.spec.kind === "download" ? await download(place, sources) : await run(place, sources);
      return result.ok ? await checked(result, request, sources) : result;
    } catch (error) {
      return notRun(messageOf(error));
    } finally {
      ending.release();
      busy.delete(skillKey);
    }
  };
}

interface Placed extends InstallRequest {
  readonly home: string;
}

async function run(
  { spec, timeoutMs, signal, home }: Placed,
  { settings, env }: InstallerSources,
): Promise<InstallResult> {
  const command = installCommand(spec, home, settings());
  if ("refusal" in command) return notRun(command.refusal);
  const [name = ""] = command.argv;
  const file = isAbsolute(name)
    ? name
    : await findOnPath(name, { path: env["PATH"] ?? "", platform: process.platform });
  if (file === undefined)
    return notRun(`${name} is not installed; install it, or choose another installer of the skill`);
  await mkdir(join(home, "bin"), { recursive: true, mode: 0o700 });
  // npm takes the nearest directory with a package.json for its project.
  if (spec.kind === "node") {
    await writeFile(join(home, "package.json"), '{ "private": true }\n', { flag: "wx" }).catch(() => undefined);
  }
  const { argv } = command;
  const variables = { ...installerEnvironment(env), ...command.env };
  const end = await runProgram({
    file,
    argv,
    cwd: home,
    env: variables,
    timeoutMs,
    signal,
    stopReason: "the installation was stopped",
  });
  const { exitCode: code, stdout, stderr, timedOut, error } = end;
  const ok = code === 0 && !timedOut;
  const why = timedOut ? `did not end within ${timeoutMs} ms` : (error ?? `ended with exit code ${code}`);
  return { ok, message: ok ? "Installed" : `${basename(name)} ${why}; see stderr`, stdout, stderr, code };
}

async function download(
  { spec, timeoutMs, signal, home }: Placed,
  { outbound }: InstallerSources,
): Promise<InstallResult> {
  await mkdir(join(home, "bin"), { recursive: true, mode: 0o700 });
  const staged = await mkdtemp(join(home, "incoming-"));
  try {
    const file = join(staged, "file");
    await fetchFile(spec.what, file, { outbound: outbound(), timeoutMs, signal });
    const target = join(home, "downloads", folderName(spec.id));
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    const content = join(staged, "content");
    await mkdir(content, { mode: 0o700 });
    if (spec.extract) await unpackArchive(file, content, DOWNLOAD_LIMITS);
    else await rename(file, join(content, spec.bins[0] ?? fileName(spec.what)));
    await rm(target, { recursive: true, force: true });
    await rename(content, target);
    await linkPrograms(target, spec.bins, join(home, "bin"));
    return { ok: true, message: "Installed", stdout: "", stderr: "", code: 0 };
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}

function fileName(url: string): string {
  return (
    basename(new URL(url).pathname)
      .replaceAll(/[^\w.-]/g, "_")
      .replace(/^\.+/, "") || "download"
  );
}

/** Makes the named files executable and reachable; the unpacked tree has no links. */
async function linkPrograms(tree: string, bins: readonly string[], bin: string): Promise<void> {
  const entries = await readdir(tree, { recursive: true, withFileTypes: true });
  const root = await realpath(tree);
  for (const name of bins) {
    const found = entries.find((entry) => entry.isFile() && entry.name === name);
    if (!found) continue;
    const file = join(root, relative(tree, found.parentPath), name);
    await chmod(file, 0o700);
    await rm(join(bin, name), { force: true });
    await symlink(relative(await realpath(bin), file), join(bin, name));
  }
}

/** Warns about programs that the installer did not bring. */
async function checked(
  result: InstallResult,
  { skillKey, spec }: InstallRequest,
  { tools, env }: InstallerSources,
): Promise<InstallResult> {
  const path = [...tools.path(skillKey), env["PATH"] ?? ""].join(":");
  const found = await Promise.all(spec.bins.map((name) => findOnPath(name, { path, platform: process.platform })));
  const absent = spec.bins.filter((_, index) => found[index] === undefined);
  if (absent.length === 0) return result;
  return { ...result, warnings: absent.map((name) => `the installer brought no program ${name}`) };
}
