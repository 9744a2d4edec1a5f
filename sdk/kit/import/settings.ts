/** The new `svc.json`: the converted settings, below those that are here; and what the gateway says about it. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import JSON5 from "json5";
import { unavailable } from "@svc/sdk";
import type { CheckedConfig } from "./source.ts";

type Values = Readonly<Record<string, unknown>>;

export interface StagedConfig {
  /** Validates converted settings with the code and the plugins of this machine. */
  check(config: Values): Promise<CheckedConfig>;
  /**
   * Writes the new file.
   * @returns its values, and the places where a setting that is here stays although the converted one differs
   * @throws GatewayError `UNAVAILABLE` when it is not valid
   */
  write(config: Values): Promise<{ readonly config: Values; readonly stayed: readonly string[] }>;
  /** The file as it was before; `undefined`: none. */
  readonly former: string | undefined;
}

/** The configuration in a staged state directory. */
export async function stagedConfig(staging: string): Promise<StagedConfig> {
  const path = join(staging, "svc.json");
  const former = await readFile(path, "utf8").catch(() => undefined);
  const here = former === undefined ? {} : JSON5.parse<Values>(former);
  const validated = async (config: Values) => {
    await writeFile(path, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
    return validate(path, staging);
  };
  return {
    former,
    check: (config) => validated("plugins" in here ? { ...config, plugins: here["plugins"] } : config),
    async write(converted) {
      const stayed: string[] = [];
      const config = filled(here, converted, [], stayed);
      const { issues } = await validated(config);
      if (issues[0]) unavailable(`the new configuration is refused: ${issues[0].path}: ${issues[0].message}`);
      return { config, stayed };
    },
  };
}

/** `here` with what only `config` has. An array is one value. */
function filled(here: Values, config: Values, path: readonly string[], stayed: string[]): Values {
  const entries = Object.entries(config).map(([key, value]) => {
    const own = here[key];
    const place = [...path, key];
    if (isValues(own) && isValues(value)) return [key, filled(own, value, place, stayed)] as const;
    if (own !== undefined && !isDeepStrictEqual(own, value)) stayed.push(place.join("."));
    return [key, own ?? value] as const;
  });
  return { ...here, ...Object.fromEntries(entries) };
}

function isValues(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function validate(path: string, stateDir: string): Promise<CheckedConfig> {
  const words = [...process.execArgv, process.argv[1] ?? "", "config", "validate", path, "--json"];
  const env = { ...process.env, SVC_STATE_DIR: stateDir, SVC_CONFIG_PATH: path };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, words, { env, maxBuffer: 64 * 1_024 * 1_024 }, (_error, stdout, stderr) => {
      try {
        const checked = JSON.parse(stdout) as CheckedConfig; // printed by `svc`
        resolve(checked);
      } catch {
        reject(refused(stderr || stdout));
      }
    });
  });
}

function refused(output: string): Error {
  try {
    return unavailable(`the new configuration cannot be checked: ${output.trim()}\nNext: svc doctor`);
  } catch (error) {
    return error as Error; // `unavailable` throws a GatewayError
  }
}
