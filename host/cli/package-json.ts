/** Facts from the package.json of the CLI. */
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

/** Directory of the package. */
export const CLI_DIRECTORY = realpathSync(dirname(require.resolve("@svc/cli/package.json")));

/** Same as the version of the host: both are released together. */
export const VERSION = process.env["SVC_VERSION"]?.trim() || version;

/** Supported range of Node versions. */
export const NODE_RANGE = engines.node;

/** Names of the optional peer packages that add verbs to `svc` when installed. */
export const COMPANIONS = Object.keys(peerDependencies);
