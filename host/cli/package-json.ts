/** What the package of the command line says of itself. */
import { createRequire } from "node:module";

interface CliPackage {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly peerDependencies: object;
}

const { version, engines, peerDependencies } = createRequire(import.meta.url)("@svc/cli/package.json") as CliPackage;

/** The host has the same: both are released together. */
export const VERSION = process.env["SVC_VERSION"]?.trim() || version;

/** Range of Node versions it runs on. */
export const NODE_RANGE = engines.node;

/** Names of the packages that bring further verbs of `svc` where they are installed: its optional peers. */
export const COMPANIONS = Object.keys(peerDependencies);
