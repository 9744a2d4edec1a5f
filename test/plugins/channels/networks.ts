/** Every channel of the checkout that has a network for tests: `test/plugins/<plugin>/network.ts`. */
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { StartNetwork } from "./test-network.ts";

const plugins = new URL("../", import.meta.url);
const names = readdirSync(fileURLToPath(plugins))
  .filter((name) => existsSync(new URL(`${name}/network.js`, plugins)))
  .sort();

/** By the id of the plugin. */
export const NETWORKS: Readonly<Record<string, StartNetwork>> = Object.fromEntries(
  await Promise.all(
    names.map(async (name) => {
      const { network } = (await import(new URL(`${name}/network.js`, plugins).href)) as { network: StartNetwork };
      return [name, network] as const;
    }),
  ),
);
