/** Reads the facts about the installation that `place.ts` needs for its decision. Writes nothing. */
import { constants } from "node:fs";
import { access, lstat, readdir, readFile, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type Installation, installationOf, isOwnPackage, type OwnPackage, type Place, placeOf } from "./place.ts";

/** @param hostDirectory directory of the host's package; `undefined`: the code runs outside of its package */
export async function readInstallation(hostDirectory: string | undefined): Promise<Installation> {
  if (hostDirectory === undefined) {
    const why = "the code of this gateway runs outside of its package";
    return {
      mode: "unknown",
      refusal: { reason: "unknown-install", why, byHand: ["reinstall it from its original source"] },
    };
  }
  const place = placeOf(hostDirectory);
  const { root } = place;
  return installationOf(place, {
    entries: await readdir(root).catch(() => []),
    packageJson: await readPackage(root),
    isOwn: await belongsToMe(root),
    isWritable: await isWritable(place),
    own: place.kind === "modules" ? await ownPackages(join(root, "node_modules")) : [],
    platform: process.platform,
  });
}

/** The content of package.json; `undefined`: the file is missing or cannot be read. */
export async function readPackage(directory: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    return Object(JSON.parse(await readFile(join(directory, "package.json"), "utf8"))) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** Version in a package's package.json. */
export async function versionIn(directory: string): Promise<string | undefined> {
  const version = (await readPackage(directory))?.["version"];
  return typeof version === "string" ? version : undefined;
}

/** Directory of the host's package as the running script resolves it, for commands without a gateway. */
export function hostDirectoryOf(script: string): string | undefined {
  try {
    return dirname(createRequire(script).resolve("@svc/host/package.json"));
  } catch {
    return undefined;
  }
}

async function belongsToMe(root: string): Promise<boolean> {
  const me = process.getuid?.();
  if (me === undefined) return true;
  const found = await stat(root).catch(() => undefined);
  return found !== undefined && found.uid === me;
}

async function isWritable({ root, kind }: Place): Promise<boolean> {
  const places = kind === "modules" ? [root, join(root, "node_modules")] : [root, join(root, "host")];
  const asked = places.map((path) =>
    access(path, constants.W_OK).then(
      () => true,
      () => false,
    ),
  );
  return (await Promise.all(asked)).every(Boolean);
}

async function ownPackages(modules: string): Promise<OwnPackage[]> {
  const scoped = (await readdir(join(modules, "@svc")).catch(() => [])).map((name) => `@svc/${name}`);
  const names = [...(await readdir(modules).catch(() => [])), ...scoped].filter(isOwnPackage);
  const found = names.map(async (name): Promise<OwnPackage> => {
    const stats = await lstat(join(modules, name)).catch(() => undefined);
    return { name, isLink: stats?.isSymbolicLink() ?? false };
  });
  return Promise.all(found);
}
