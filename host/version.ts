/** The gateway's own package: its version, and where it lies. */
import { createRequire } from "node:module";
import { dirname } from "node:path";

interface HostPackage {
  readonly directory: string;
  readonly version: string;
  /** Names of the packages that bring further verbs of `svc` where they are installed: its optional peers. */
  readonly companions: readonly string[];
  /** Range of Node versions it runs on. */
  readonly engines: string;
}

/** `host/package.json` lies one directory above the bundle (`dist/`) and above nothing else that imports this. */
function readPackage(): HostPackage | undefined {
  const require = createRequire(import.meta.url);
  for (const candidate of ["../package.json", "./package.json", "../../host/package.json"]) {
    try {
      const {
        name,
        version,
        engines,
        peerDependencies = {},
      } = require(candidate) as {
        name?: string;
        version?: string;
        engines?: { readonly node?: string };
        peerDependencies?: object;
      };
      if (name !== "@svc/host" || !version) continue;
      const directory = dirname(require.resolve(candidate));
      return { directory, version, companions: Object.keys(peerDependencies), engines: engines?.node ?? "*" };
    } catch {
      // next
    }
  }
  return undefined;
}

/** Absent when the code was taken out of its package. */
export const HOST_PACKAGE = readPackage();

export const VERSION = process.env["SVC_VERSION"]?.trim() || (HOST_PACKAGE?.version ?? "0.0.0");
