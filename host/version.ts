/** The gateway's own package: its version and directory. */
import { createRequire } from "node:module";
import { dirname } from "node:path";

interface HostPackage {
  readonly directory: string;
  readonly version: string;
}

/** Tries the paths of `host/package.json` relative to the bundle (`dist/`), to this source file and to other builds. */
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

/** Absent if the code runs outside its package. */
export const HOST_PACKAGE = readPackage();

export const VERSION = process.env["SVC_VERSION"]?.trim() || (HOST_PACKAGE?.version ?? "0.0.0");
