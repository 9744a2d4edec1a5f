/** Switches to another version, and rolls back if it does not start. */
import { messageOf } from "@svc/sdk/errors";
import { replaceFile, type WriteLock } from "@svc/sdk/files";
import type { ReloadReport } from "@svc/sdk/plugins";
import { rmdirSync } from "node:fs";
import { join } from "node:path";
import {
  generationName,
  type Installed,
  type InstalledPlugin,
  type InstalledVersion,
  recordPath,
  recordText,
} from "@svc/host/local";
import type { Candidate } from "./candidate.ts";
import type { InstallEffects } from "./effects.ts";
import { InstallFailure, type InstallStep, step } from "./failure.ts";
import { nextGeneration, removeLeftovers } from "./generations.ts";

/** A gateway of this state directory, which may be running. */
export interface RunningGateway {
  /** State of a plugin; `undefined`: the gateway has no such plugin, or is not running. */
  stateOf(id: string): Promise<string | undefined>;
  /** Makes the gateway apply the record. @returns an empty list if no gateway is running */
  align(): Promise<readonly ReloadReport[]>;
}

/** Environment of a switch. */
export interface SwitchContext {
  readonly extensions: string;
  readonly effects: InstallEffects;
  /** Absent: no gateway is running. */
  readonly gateway: RunningGateway | undefined;
  progress(step: InstallStep, what: string): void;
}

/** The installed plugins and the held lock. */
export interface Held {
  readonly installed: Installed;
  readonly lock: WriteLock;
}

export interface Switched {
  readonly record: InstalledPlugin;
  /** Outcome in the running gateway; `undefined`: no gateway is running, or nothing changed. */
  readonly report: ReloadReport | undefined;
}

const NEXT = "free some disk space, then try again";

/** @throws InstallFailure at `switch` or `load`; the previous version is then restored and runs again */
export async function switchTo(candidate: Candidate, held: Held, ground: SwitchContext): Promise<Switched> {
  const { manifest, version, directory } = candidate;
  const { extensions, effects } = ground;
  const { id } = manifest;
  ground.progress("switch", `${version.name} ${version.version}`);
  const before = held.installed.get(id);
  const generation = nextGeneration(extensions, id, before);
  const isLink = version.source === "link";
  const at = isLink ? directory : generationName(id, generation);
  const fresh: InstalledVersion = { ...version, directory: at, generation, installedAt: effects.now() };
  const record: InstalledPlugin = before ? { ...fresh, previous: withoutPrevious(before) } : fresh;
  const after = new Map([...held.installed, [id, record] as const]);
  const discard = async () => {
    if (!isLink) await discardGeneration(join(extensions, at), ground);
    if (!before) removeIfEmpty(join(extensions, id));
  };
  try {
    if (!isLink) await step("switch", NEXT, () => place(id, directory, join(extensions, at), ground));
    await replaceRecord(after, held.lock, ground);
  } catch (error) {
    await discard();
    throw error;
  }
  const report = await bringUp(id, record, held, ground).catch(async (error: unknown) => {
    if (error instanceof TakenBack) await discard();
    throw error;
  });
  await removeLeftovers(extensions, after, effects.files).catch(() => undefined); // the next install removes them
  return { record, report };
}

function withoutPrevious({ previous: _former, ...version }: InstalledPlugin): InstalledVersion {
  return version;
}

/** Moves the directory of the version to its final place, and syncs it to the disk. */
async function place(id: string, from: string, target: string, { extensions, effects }: SwitchContext): Promise<void> {
  const { files } = effects;
  await files.mkdir(join(extensions, id), { recursive: true, mode: 0o700 });
  await files.rename(from, target);
  for (const directory of [join(extensions, id), extensions]) {
    const handle = await files.open(directory, "r");
    await handle.sync().catch(() => undefined); // some file systems cannot sync directories
    await handle.close();
  }
}

async function discardGeneration(target: string, { effects }: SwitchContext): Promise<void> {
  const { rm } = effects.files;
  for (const path of [target, `${target}.seal`])
    await rm(path, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined); // the next install removes it
}

/** Once this resolves, the new record is in effect, whatever happens. */
export async function replaceRecord(installed: Installed, lock: WriteLock, ground: SwitchContext): Promise<void> {
  await step("switch", NEXT, async () => {
    if (!lock.isMine())
      throw new Error("this process was suspended for so long that its lock expired; nothing was switched");
    const { extensions, effects } = ground;
    await replaceFile(recordPath(extensions), recordText(installed), { files: effects.files });
  });
}

/** The new version was switched to and rolled back. */
class TakenBack extends InstallFailure {}

/** If the previous version ran and the new one does not start, the previous one is restored. */
async function bringUp(id: string, record: InstalledPlugin, held: Held, ground: SwitchContext) {
  const { previous, name, version } = record;
  if (!ground.gateway) return undefined;
  ground.progress("load", id);
  const ran = previous !== undefined && (await ground.gateway.stateOf(id).catch(() => undefined)) === "active";
  const report = await follow(id, ground);
  if (!ran || !report || report.ok) return report;
  await replaceRecord(held.installed, held.lock, ground);
  await follow(id, ground);
  const why = report.reason ?? `it is ${report.state}`;
  throw new TakenBack(
    "load",
    `${name} ${version} does not start: ${why}\n${previous.version} is restored and runs again`,
    "report it to the author of the plugin",
  );
}

/** @returns the outcome for the plugin @throws InstallFailure at `load` if a running gateway cannot apply the record */
export async function follow(id: string, { gateway }: SwitchContext): Promise<ReloadReport | undefined> {
  if (!gateway) return undefined;
  try {
    return (await gateway.align()).find((report) => report.id === id);
  } catch (error) {
    const why = `the change is on disk, but the running gateway did not apply it: ${messageOf(error)}`;
    throw new InstallFailure("load", why, "svc plugins list; a restart of the gateway applies it");
  }
}

/** Removes a directory if it is empty. */
export function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Not empty, or it does not exist.
  }
}
