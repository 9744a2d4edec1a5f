/** Finds problems of the installation and their remedies. Read-only; imports no plugin. */
import { messageOf } from "@svc/sdk/errors";
import type { PlannedPlugins, PluginFinding } from "@svc/sdk/plugins";
import { lstatSync } from "node:fs";
import { join } from "node:path";
import {
  apiMismatch,
  extensionsOf,
  type InstalledPlugin,
  readRecord,
  recordPath,
  verifyInstalled,
} from "@svc/host/local";
import { leftovers } from "./generations.ts";

export interface DoctorOptions {
  readonly stateDir: string;
  readonly planned: Pick<PlannedPlugins, "missing" | "disabled" | "configured">;
  /** Ids of all available plugins, in use or not. */
  readonly ids: ReadonlySet<string>;
}

/** Errors first. */
export async function findings(options: DoctorOptions): Promise<PluginFinding[]> {
  const found = [...(await installedFindings(options.stateDir)), ...planFindings(options)];
  return [
    ...found.filter(({ severity }) => severity === "error"),
    ...found.filter(({ severity }) => severity !== "error"),
  ];
}

/** Problems of the files. */
async function installedFindings(stateDir: string): Promise<PluginFinding[]> {
  const extensions = extensionsOf(stateDir);
  const installed = readRecord(extensions);
  if ("problem" in installed) {
    const path = recordPath(extensions);
    const next = `mv ${path} ${path}.broken, then install the plugins again; the directories in ${extensions} show which ones`;
    return [error("installed.json", `no installed plugin can be loaded: ${installed.problem}`, next)];
  }
  const each = await Promise.all([...installed].map(([id, plugin]) => pluginFindings(id, plugin, extensions)));
  const left = leftovers(extensions, installed).map((path) =>
    warning(join(extensions, path), "unused leftover of an interrupted install", "svc plugins doctor --fix"),
  );
  return [...accessFindings(extensions), ...each.flat(), ...left];
}

function accessFindings(extensions: string): PluginFinding[] {
  const stats = lstatSync(extensions, { throwIfNoEntry: false });
  const user = process.getuid?.();
  if (!stats || user === undefined) return [];
  if (stats.uid !== user && stats.uid !== 0)
    return [error(extensions, "belongs to another user", `chown it if its content is trusted`)];
  if ((stats.mode & 0o077) === 0) return [];
  return [warning(extensions, "other users can read or change it", `chmod 700 ${extensions}`)];
}

async function pluginFindings(id: string, plugin: InstalledPlugin, extensions: string): Promise<PluginFinding[]> {
  const { previous } = plugin;
  const gone = previous && previous.source !== "link" && !isThere(join(extensions, previous.directory));
  const lost = gone
    ? [
        warning(
          id,
          `the previous version ${previous.version} is missing on disk`,
          `no action needed; to restore it: svc plugins install ${previous.name}@${previous.version}`,
        ),
      ]
    : [];
  try {
    const { api } = await verifyInstalled(id, plugin, extensions);
    const mismatch = apiMismatch(api);
    return mismatch === undefined ? lost : [error(id, mismatch, `svc plugins update ${id}`), ...lost];
  } catch (thrown) {
    const [message, next = `svc plugins update ${id}`] = parted(messageOf(thrown));
    return [error(id, message, next), ...lost];
  }
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Problems of the configuration. */
function planFindings({ planned: { missing, disabled, configured }, ids }: DoctorOptions): PluginFinding[] {
  const lost = missing.flatMap(({ origin, reason }): PluginFinding[] => {
    if (origin.endsWith("installed.json")) return []; // the record is reported separately
    const [message, next = "svc plugins list"] = parted(reason);
    return [error(origin, message, next)];
  });
  const off = disabled
    .filter((id) => ids.has(id))
    .map((id) =>
      warning(id, `disabled by plugins.entries.${id}.enabled`, `svc plugins enable ${id}, if it should run`),
    );
  const unknown = configured
    .filter((id) => !ids.has(id))
    .map((id) =>
      warning(
        `plugins.entries.${id}`,
        "there is no plugin with this id",
        `svc plugins install <its package>, or svc config unset plugins.entries.${id}`,
      ),
    );
  return [...lost, ...off, ...unknown];
}

/** Splits a message into the problem and the next step, if the message has a next step. */
function parted(text: string): [what: string, next?: string] {
  const [what = "", ...next] = text.split(/\nNext: |[;,] next: /);
  return next.length === 0 ? [what] : [what, next.join(" ")];
}

function error(about: string, message: string, next: string): PluginFinding {
  return { severity: "error", about, message, next };
}

function warning(about: string, message: string, next: string): PluginFinding {
  return { severity: "warning", about, message, next };
}
