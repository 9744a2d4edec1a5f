/** Checks of files: modes, owners, and directories that other users could change. Reads only. */
import { isAbsolute, join } from "node:path";
import { commandText, configAt, textsOf } from "@svc/sdk/cli";
import { sharedPlace } from "@svc/sdk/files";
import { octal } from "../doctor/finding.ts";
import { permissionFindings } from "../doctor/state-checks.ts";
import { listState, lookAt } from "../doctor/state-files.ts";
import type { HostCheck, HostHit, HostView } from "./view.ts";

export const FILE_CHECKS: readonly HostCheck[] = [
  {
    id: "files.open",
    severity: "critical",
    why: "Other users of this machine can read secrets and conversations, or change what the gateway does.",
    find: async (view) => (await permissions(view)).filter(({ repair }) => repair !== undefined),
  },
  {
    id: "files.foreign",
    severity: "critical",
    why: "Its owner can read and change it regardless of its mode.",
    find: async (view) => (await permissions(view)).filter(({ repair }) => repair === undefined),
  },
  {
    id: "files.shared-parent",
    severity: "critical",
    why: "A user who can change a directory can replace the files in it, including the configuration.",
    async find({ paths: { stateDir, configPath } }) {
      const found = await Promise.all([stateDir, configPath].map((path) => sharedHit(join(path, ".."), true)));
      return found.flat().filter((hit, at, all) => all.findIndex(({ about }) => about === hit.about) === at);
    },
  },
  {
    id: "plugins.shared",
    severity: "critical",
    why: "A user who can change the code of a plugin can run code in the gateway.",
    async find({ config, paths }) {
      const named = ["plugins.use", "plugins.load.paths"].flatMap((key) => textsOf(configAt(config, key)));
      const places = named.filter((spec) => /^[./~]/.test(spec)).map((spec) => placeOf(spec, paths));
      return (await Promise.all(places.map((place) => sharedHit(place)))).flat();
    },
  },
];

function placeOf(spec: string, { home, configDir }: HostView["paths"]): string {
  const path = spec.replace(/^~(?=\/|$)/, () => home);
  return isAbsolute(path) ? path : join(configDir, path);
}

async function sharedHit(path: string, isDirectoryOf = false): Promise<HostHit[]> {
  const shared = await sharedPlace(path, isDirectoryOf);
  if (!shared) return [];
  const { path: about, fault } = shared;
  return [
    fault === "writable"
      ? { about, message: "Other users can write to it.", fix: commandText(["chmod", "go-w", about]) }
      : { about, message: "It belongs to another user.", fix: `chown "$(id -un)" ${commandText([about])}` },
  ];
}

/** The permission findings of `svc doctor`. */
async function permissions({ stateDir, paths: { configPath } }: HostView): Promise<HostHit[]> {
  const files = await listState(stateDir);
  const config = files.some(({ path }) => path === configPath) ? undefined : await lookAt(configPath);
  const all = config ? [...files, config] : files;
  return permissionFindings({ stateDir, configPath, files: all, uid: process.getuid?.() }).map(
    ({ about, message, repair }) =>
      repair?.kind === "mode"
        ? {
            about,
            message: `Its mode gives other users access: ${octal(all.find(({ path }) => path === about)?.mode ?? 0)}.`,
            fix: commandText(["chmod", octal(repair.mode), about]),
            repair,
          }
        : {
            about,
            message: `${message[0]?.toUpperCase()}${message.slice(1)}.`,
            fix: `chown "$(id -un)" ${commandText([about])}`,
          },
  );
}
