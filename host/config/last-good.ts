/**
 * Stores the last configuration that worked, for a start that refuses the file (`svc gateway run --last-good`). It contains the
 * included files but unresolved variables, so that no secret of the environment is written.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "@svc/sdk/files";
import { type ConfigFile, interpretConfig } from "./file.ts";
import type { Environment, Paths } from "./paths.ts";
import { isObject, own, type PlainObject, sameData } from "./plain-data.ts";

type Place = Pick<Paths, "stateDir" | "configPath">;

/** Path in the state directory; the file has mode 0600. */
function placeOf({ stateDir }: Place): string {
  return join(stateDir, "last-good-config.json");
}

async function kept(place: Place): Promise<PlainObject | undefined> {
  try {
    const config = own(JSON.parse(await readFile(placeOf(place), "utf8")), "config");
    return isObject(config) ? config : undefined;
  } catch {
    return undefined; // none stored, or unusable
  }
}

/** Atomically replaces the stored configuration; an unchanged one is not written again. @throws Error of the file system */
export async function keepLastGood(place: Place, { expanded }: ConfigFile): Promise<void> {
  const known = await kept(place);
  if (known && sameData(known, expanded)) return;
  await replaceFile(placeOf(place), `${JSON.stringify({ config: expanded }, null, 2)}\n`);
}

/** The stored configuration, as if it were the configuration file; `undefined` if none is stored or it is unreadable. */
export async function readLastGood(place: Place, env: Environment): Promise<ConfigFile | undefined> {
  const config = await kept(place);
  return config && interpretConfig(place.configPath, JSON.stringify(config), env);
}
