/** What the package of the command line says of itself. */
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";

interface CliPackage {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly peerDependencies: object;
}

const require = createRequire(import.meta.url);
const { version, engines, peerDependencies } = require("@svc/cli/package.json") as CliPackage;

/** Where the package lies. */
export const CLI_DIRECTORY = realpathSync(dirname(require.resolve("@svc/cli/package.json")));

/** The host has the same: both are released together. */
export const VERSION = process.env["SVC_VERSION"]?.trim() || version;

/** Range of Node versions it runs on. */
export const NODE_RANGE = engines.node;

/** Names of the packages that bring further verbs of `svc` where they are installed: its optional peers. */
export const COMPANIONS = Object.keys(peerDependencies);
