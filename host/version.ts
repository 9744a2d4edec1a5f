/** The gateway's own package: its version, and where it lies. */
import { createRequire } from "node:module";
import { dirname } from "node:path";

interface HostPackage {
  readonly directory: string;
  readonly version: string;
}

/** `host/package.json` lies one directory above the bundle (`dist/`) and above nothing else that imports this. */
function readPackage(): HostPackage | undefined {
  const require = createRequire(import.meta.url);
  for (const candidate of ["../package.json", "./package.json", "../../host/package.json"]) {
    try {
      const { name, version } = require(candidate) as { name?: string; version?: string };
      if (name !== "@svc/host" || !version) continue;
      return { directory: dirname(require.resolve(candidate)), version };
    } catch {
      // next
    }
  }
  return undefined;
}

/** Absent when the code was taken out of its package. */
export const HOST_PACKAGE = readPackage();

export const VERSION = process.env["SVC_VERSION"]?.trim() || (HOST_PACKAGE?.version ?? "0.0.0");
