/**
 * The last configuration that worked, for a start that refuses the file (`svc gateway run --last-good`). Included files are in
 * place in it, variables are not resolved: no secret of the environment is written.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "@svc/sdk/files";
import { type ConfigFile, interpretConfig } from "./file.ts";
import type { Environment, Paths } from "./paths.ts";
import { isObject, own, type PlainObject, sameData } from "./plain-data.ts";

type Place = Pick<Paths, "stateDir" | "configPath">;

/** In the state directory, mode 0600. */
function placeOf({ stateDir }: Place): string {
  return join(stateDir, "last-good-config.json");
}

async function kept(place: Place): Promise<PlainObject | undefined> {
  try {
    const config = own(JSON.parse(await readFile(placeOf(place), "utf8")), "config");
    return isObject(config) ? config : undefined;
  } catch {
    return undefined; // there is none, or nobody can use it
  }
}

/** Replaces what is kept, whole or not at all; the same configuration is not written again. @throws Error of the file system */
export async function keepLastGood(place: Place, { expanded }: ConfigFile): Promise<void> {
  const known = await kept(place);
  if (known && sameData(known, expanded)) return;
  await replaceFile(placeOf(place), `${JSON.stringify({ config: expanded }, null, 2)}\n`);
}

/** What is kept, as if it stood in the configuration file; `undefined`: nothing, or nothing that can be read. */
export async function readLastGood(place: Place, env: Environment): Promise<ConfigFile | undefined> {
  const config = await kept(place);
  return config && interpretConfig(place.configPath, JSON.stringify(config), env);
}
